"""Pieces: parts of texts, smaller than a message, among which `extract` chooses by evidence.

The choice is budgeted maximum coverage: the worth of a piece is the evidence that it adds to the
view, so no evidence is paid for twice. The choice is greedy by worth per token and evaluated
lazily. Of pieces with equal worth the newest is taken, so the same input gives the same choice.

    table.py    `Source`, a text that competes; `PieceTable`, the pieces of all sources
    pool.py     `Pool`: cuts sources into pieces and marks their signs
    weights.py  the worth of words
    ranking.py  the rank of a piece: its worth for its tokens
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
