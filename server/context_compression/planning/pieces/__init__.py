"""Pieces: the parts of a text, below the message, among which `extract` chooses by evidence.

The choice is budgeted maximum coverage: each piece is worth the evidence it adds to what is in view
already, so the same evidence is not paid for twice. Greedy by worth per token, evaluated lazily;
of pieces worth the same the newest is taken, so the same input gives the same choice.

    table.py    `Source`, a text that competes; `PieceTable`, the pieces of all sources
    pool.py     `Pool`: cuts sources into pieces and marks what each speaks of
    weights.py  what a word is worth
    ranking.py  what a piece is worth for its tokens, as a rank
    choice.py   `Choice`: takes the best pieces that fit
"""

from context_compression.planning.pieces.choice import Choice
from context_compression.planning.pieces.pool import Pool
from context_compression.planning.pieces.table import (
    DUE,
    FAILED,
    FAILURE,
    OUTDATED,
    REASON,
    Place,
    Source,
)
from context_compression.planning.pieces.weights import Weights

__all__ = [
    "DUE",
    "FAILED",
    "FAILURE",
    "OUTDATED",
    "REASON",
    "Choice",
    "Place",
    "Pool",
    "Source",
    "Weights",
]
