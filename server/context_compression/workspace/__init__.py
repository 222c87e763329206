"""One run of the program: its store, its settings, and the files and models it may use.

This package holds what every door and every host needs to start. The package `doors` finds the
conversation that a caller means; `hosts` answers the calls of agent hosts.

    workspace.py        store, settings and access, made once from environment and options
    loading.py          the same settings for a program that uses the library
    summary_models.py   which model may write summaries
    doubts.py           warnings about settings that hardly do what is meant
    opened.py           an open conversation: session and transcript
    own_sessions.py     sessions of this package, which contain no conversation
    folders.py          working directory and home folder
"""

from context_compression.workspace.opened import Opened
from context_compression.workspace.workspace import Workspace

__all__ = ["Opened", "Workspace"]
