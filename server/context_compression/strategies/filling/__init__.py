"""Fills the room of a view with pieces of what is shortened or left out, chosen by evidence.

`extract` fills what its must-keep set leaves; `auto` fills what shorter tool results leave.

    filling.py       `Filling`: a view of the kept messages, and the edits that fill its room
    attempt.py       what one attempt at the view shows: it takes more, or gives something back
    kept.py          the kept messages in their forms, with which each attempt begins
    competing.py     the texts that compete for the room, and their pieces
    worth.py         what a piece is worth besides its evidence, by who says it
    rules.py         the user's standing constraints, quoted before all else
    shown_pictures.py  the pictures that a view shows, and those it brings back
    assembling.py    the chosen pieces in their places, and the notes of what is left out
    lines.py         the lines of files and names behind the last note
    explanation.py   how each message is shown: `quoted (2 of 9 parts, a failure)`
    refill.py        longer previews where shortened tool results leave room
"""

from context_compression.strategies.filling.filling import Filling
from context_compression.strategies.filling.refill import refilled

__all__ = ["Filling", "refilled"]
