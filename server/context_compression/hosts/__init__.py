"""The hosts: programs that run agents, each with a folder. All code about a host is in its folder.

A folder has a module for each feature that we support in the host:

    about.py            its name, its environment variables, the places of its files
    transcript.py       `recognises` and `reader`: its transcripts as conversations; `SHAPES`: the
                        forms of what its rows hold, so that others are told
    stored_sessions.py  `SESSIONS`: the sessions that it keeps on this machine
    current.py          `HOST`: finds the transcript of the conversation that calls us
    hooks.py            `answer`: our answers to its events
    export.py           a view as a new session that the host resumes
    configuration.py    its configuration, and our additions to it
    plugin/             the files that `install` copies or registers

To add a host, add a folder, list its modules in the registries below, and add the folder to the
contract "No host knows another" in pyproject.toml. Code that several hosts need is in
`transcripts`, `hooks` and `setup`.

    reading.py           transcripts of all hosts, and whole conversations with what compactions
                         took out; a file's content shows which host wrote it
    sessions.py          the sessions of all hosts
    compaction_words.py  the compactions that led to a conversation, in words
    titles.py            how people call the hosts
    current.py           the live transcript of the host that started us
    events.py            the answers to hosts' hooks
    serving.py           the answers of a process that a host keeps
    exporting.py         new sessions of hosts
    configurations.py    the hosts that our server can be installed in
    installed_hooks.py   whether the hooks in them are those of this package
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.hosts.reading import MAX_BYTES, Readings, history, read
    from context_compression.transcripts.opening import Access
    from context_compression.transcripts.transcript import Transcript

__all__ = ["MAX_BYTES", "Access", "Readings", "Transcript", "history", "read"]

__getattr__ = on_demand(  # a hook needs `events` and its own host alone
    __name__,
    {
        "MAX_BYTES": "hosts.reading",
        "Access": "transcripts.opening",
        "Readings": "hosts.reading",
        "Transcript": "transcripts.transcript",
        "history": "hosts.reading",
        "read": "hosts.reading",
    },
)
