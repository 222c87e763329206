"""One run of the program: its store, its settings, and the files and models it may use.

This package holds what every door and every host needs to start. `hosts.conversations` finds the
conversation that a caller means; `hosts.events` answers the calls of agent hosts.

    workspace.py   store, settings and access, made once from environment and options
    loading.py     where a program starts: its folders, and the same settings for the library
    doubts.py      settings and variables that hardly do what is meant, and who may write summaries
    kept.py        what the user keeps of hosts' sessions, and the processes that look after it
    opened.py      an open conversation: session and transcript; sessions without a conversation
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.workspace.doubts import OTHERS, unknown_variables
    from context_compression.workspace.kept import kept_in
    from context_compression.workspace.opened import Opened
    from context_compression.workspace.workspace import Workspace

__all__ = ["OTHERS", "Opened", "Workspace", "kept_in", "unknown_variables"]

__getattr__ = on_demand(  # a server that starts has no conversation yet
    __name__,
    {
        "workspace.doubts": ("OTHERS", "unknown_variables"),
        "workspace.kept": ("kept_in",),
        "workspace.opened": ("Opened",),
        "workspace.workspace": ("Workspace",),
    },
)
