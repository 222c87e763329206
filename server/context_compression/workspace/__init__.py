"""One run of the program: its store, its settings, what it may read, and which model it may ask.

Here live the things that every door and every host needs in order to begin. Which conversation is
meant is found in `doors`; what agent hosts ask is answered in `hosts`.

    workspace.py        store, settings and access, made once from environment and options
    summary_models.py   which model may write summaries
    opened.py           an open conversation: session and transcript
    own_sessions.py     sessions of this package, which hold no conversation
    folders.py          working directory and home folder
    guard.py            an unforeseen error becomes a sentence
"""

from context_compression.moved import held_elsewhere
from context_compression.workspace.opened import Opened
from context_compression.workspace.workspace import Workspace

__all__ = ["Opened", "Workspace"]

__getattr__ = held_elsewhere(__name__)
