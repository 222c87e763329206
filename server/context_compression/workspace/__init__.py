"""One run of the program: its store, its settings, what it may read, and which model it may ask.

Here live the things that every door and every host needs in order to begin. Which conversation is
meant is found in `doors`; what agent hosts ask is answered in `hosts`.

    workspace.py      store, settings and access, made once from environment and options
    opened.py         an open conversation: session and transcript
    own_sessions.py   sessions of ours, which hold no conversation
    folders.py        working directory and home folder
    guard.py          unforeseen errors become words
"""

from context_compression.moved import held_elsewhere
from context_compression.workspace.opened import Opened
from context_compression.workspace.workspace import Workspace

__all__ = ["Opened", "Workspace"]

__getattr__ = held_elsewhere(__name__)
