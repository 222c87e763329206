"""The programs that run agents, a folder for each. Only these folders know anything of a host.

A folder has a module for each thing that we do with the host, and none for what we do not do:

    about.py           its name, its environment variables, where it keeps its files
    transcript.py      `recognises` and `reader`: its transcripts as conversations
    current.py         `HOST`: which transcript is the conversation that calls us
    hooks.py           `answer`: its events, and our answers
    export.py          a view as a new session that it resumes
    configuration.py   its configuration, and what we add to it
    plugin/            the files that `install` copies or registers

To add a host, add a folder, list its modules in the registries below, and add the folder to the
contract "No host knows another" in pyproject.toml. What several hosts need is in `transcripts`,
`hooks` and `setup`.

    reading.py          transcripts of all hosts: which host wrote a file is seen by its content
    current.py          the live transcript of the host that started us
    events.py           the answers to hosts' hooks
    exporting.py        new sessions of hosts
    configurations.py   the hosts that our server can be installed in
"""

from context_compression.hosts.reading import MAX_BYTES, Readings, read
from context_compression.transcripts.access import Access
from context_compression.transcripts.transcript import Transcript

__all__ = ["MAX_BYTES", "Access", "Readings", "Transcript", "read"]
