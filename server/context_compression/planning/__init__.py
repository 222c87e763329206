"""Plans and edits: which parts of a conversation may change, and how a change is made.

The strategies in `strategies` read a plan and propose edits.

    plan.py        `Plan`: the structure of a conversation, which shows where it may be cut and what
                   must stay
    edits.py       `Edit(start, stop, becomes)`, and `apply`, which makes the view; `recorded`,
                   within which edits say what competed for their room
    pieces.py      texts cut into pieces, each with its evidence, and the choice among pieces that
                   `extract` makes by evidence
    selection.py   clips and receipts that strategies share
    digests.py     what was asked, answered and agreed, in a few lines
    measured.py    all numbers that were chosen or measured
"""

from context_compression.planning.digests import digest
from context_compression.planning.edits import Edit, View, apply, recorded
from context_compression.planning.pieces import Cutter, Pool, Source
from context_compression.planning.plan import Archive, Plan, is_talk_of_two
from context_compression.planning.selection import (
    RECEIPT,
    clip,
    clip_redacted,
    ending,
    receipt,
    receipt_of,
)

__all__ = [
    "RECEIPT", "Archive", "Cutter", "Edit", "Plan", "Pool", "Source", "View", "apply", "clip",
    "clip_redacted", "digest", "ending", "is_talk_of_two", "receipt", "receipt_of", "recorded",
]  # fmt: skip
