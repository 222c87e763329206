"""Fills the room of a view with pieces of shortened or missing messages, chosen by evidence.

`extract` fills the room after its must-keep set; `auto` fills the room after shorter tool results.

    filling.py         `Filling`: a view of the kept messages, and the edits that fill its room
    attempt.py         `Attempt`: the content of one attempt, which takes more or gives back
    kept.py            the kept messages in their forms, with which each attempt begins
    competing.py       the texts that compete for the room, and their pieces
    worth.py           the worth of a piece in addition to its evidence, by its author
    rules.py           the user's standing constraints in texts
    standing.py        those that belong to the minimum size, and stand in each view
    quoted_rules.py    those that a view quotes, before all pieces
    outcome.py         how the last run ended, which a small view tells first
    shown_pictures.py  the pictures that a view shows
    assembling.py      the chosen pieces in their places, and notes for missing messages
    lines.py           the lines of files and names at the end of the last note
    explanation.py     how each message is shown: `quoted (2 of 9 parts, a failure)`
    refill.py          longer previews if shortened tool results leave room
"""

from context_compression.strategies.filling.filling import Filling
from context_compression.strategies.filling.kept import Beside
from context_compression.strategies.filling.refill import refilled

__all__ = ["Beside", "Filling", "refilled"]
