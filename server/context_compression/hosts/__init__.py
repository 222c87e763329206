"""The hosts: programs that run agents. All code about a host is in its file, or in its folder.

A host is one value, a `Host`: its names, its configuration and our additions to it, the forms of
its transcripts, its sessions, the live one, our answers to its events, new sessions. To add a host,
make this value in a file of its own, and add it to `HOSTS` in `table.py`.

    host.py              `Host`, and what `install` adds to a host's files
    table.py             `HOSTS`: every host
    claude_code/ codex/ gemini_cli/ opencode/ pi/
                         a host each, with the reader of its transcripts and `plugin/`, the files
                         that `install` copies or registers
    asking.js            the part of JavaScript plugins that asks this package
    copilot_cli.py       Copilot CLI, whose sessions we read
    desktop.py           the hosts whose configuration is all we know
    reading.py           transcripts of all hosts; a file's content shows which host wrote it
    listing.py           the sessions on this machine
    projects.py          those of one project: of its repository and all worktrees
    earlier.py           their titles, and what a new session is told of them
    conversations.py     the conversation that a session id, a path or `current` names
    sentences.py         what people are told: the compactions that led to a conversation, and
                         whether the hooks in hosts are those of this package
    events.py            the answers to hosts' hooks; `HOSTS` there names their modules, so that a
                         hook's process imports one host alone
    serving.py           the answers of a process that a host keeps
    exporting.py         new sessions of hosts
    keeping.py           which sessions are kept past their deletion, when, and how they come back
    setup/               changes to hosts' configuration files, and their undoing
    doctor/              whether our server works in a host

Code that several hosts need is in `transcripts`, in `hooks`, and here in `setup`.
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.hosts.claude_code.status_line import status_line
    from context_compression.hosts.conversations import LIVE, Conversations
    from context_compression.hosts.doctor import examine
    from context_compression.hosts.doctor.checks import check_database
    from context_compression.hosts.events import NOTHING, answer, never_failing
    from context_compression.hosts.exporting import EXPORTERS
    from context_compression.hosts.host import Host
    from context_compression.hosts.listing import LONGEST_READ, list_sessions
    from context_compression.hosts.reading import (
        FORMATS,
        MAX_BYTES,
        Readings,
        glance,
        history,
        read,
    )
    from context_compression.hosts.setup.machine import Machine, Server
    from context_compression.hosts.table import BY_NAME, INSTALLABLE
    from context_compression.transcripts.opening import Access
    from context_compression.transcripts.transcript import Transcript

__all__ = [
    "BY_NAME", "EXPORTERS", "FORMATS", "INSTALLABLE", "LIVE", "LONGEST_READ", "MAX_BYTES",
    "NOTHING", "Access", "Conversations", "Host", "Machine", "Readings", "Server",
    "Transcript", "answer", "check_database", "examine", "glance", "history", "list_sessions",
    "never_failing", "read", "status_line",
]  # fmt: skip

__getattr__ = on_demand(  # a hook needs `events` and its own host alone
    __name__,
    {
        "hosts.claude_code.status_line": ("status_line",),
        "hosts.events": ("NOTHING", "answer", "never_failing"),
        "hosts.doctor.checks": ("check_database",),
        "hosts.doctor": ("examine",),
        "hosts.setup.machine": ("Machine", "Server"),
        "hosts.host": ("Host",),
        "hosts.table": ("BY_NAME", "INSTALLABLE"),
        "hosts.exporting": ("EXPORTERS",),
        "hosts.listing": ("LONGEST_READ", "list_sessions"),
        "hosts.conversations": ("Conversations", "LIVE"),
        "hosts.reading": ("FORMATS", "MAX_BYTES", "Readings", "glance", "history", "read"),
        "transcripts.opening": ("Access",),
        "transcripts.transcript": ("Transcript",),
    },
)
