"""A cache of rows: as many as fit; the others are read from the file again when needed.

Only the end of a file shows which rows are live: a rewind may bring back the oldest. So a reader
keeps an outline of each row, and the rows themselves as long as there is room.
"""

from collections.abc import Iterable

from context_compression.transcripts.lines import At
from context_compression.transcripts.transcript import Load, Row

ROOM = 64 * 1024 * 1024
"""Bytes of rows, as they stand in the file."""


class RowCache:
    """Holds the newest rows; after `only`, the rows named there."""

    def __init__(self, room: int = ROOM) -> None:
        self._rows: dict[At, Row] = {}
        self._left = room

    def put(self, at: At, row: Row) -> None:
        """Hold a row; the oldest ones go where there is no room."""
        self._rows[at] = row
        self._left -= at.length
        while self._left < 0:
            oldest = next(iter(self._rows))
            del self._rows[oldest]
            self._left += oldest.length

    def row(self, at: At, load: Load) -> Row:
        """A row that was put here once, from memory or from the file."""
        row = self._rows.get(at)
        if row is None:
            self.put(at, row := load(at))
        return row

    def only(self, places: Iterable[At]) -> None:
        """Drop all other rows."""
        for at in self._rows.keys() - set(places):
            del self._rows[at]
            self._left += at.length
