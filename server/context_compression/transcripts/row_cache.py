"""A cache of rows up to a size; other rows are read from the file again when needed.

Only the end of a file shows which rows are live, because a rewind may bring back the oldest ones.
So a reader keeps an outline of each row, and the rows themselves as long as there is room.
"""

from collections.abc import Iterable

from context_compression.transcripts.lines import At
from context_compression.transcripts.transcript import Load, Row

ROOM = 64 * 1024 * 1024
"""The most bytes of rows in a cache, measured in the file."""


class RowCache:
    """Holds the newest rows; after `only`, just the rows that it names."""

    def __init__(self, room: int = ROOM) -> None:
        self._rows: dict[At, Row] = {}
        self._left = room

    def put(self, at: At, row: Row) -> None:
        """Add a row; the oldest rows are dropped if there is no room."""
        self._rows[at] = row
        self._left -= at.length
        while self._left < 0:
            oldest = next(iter(self._rows))
            del self._rows[oldest]
            self._left += oldest.length

    def row(self, at: At, load: Load) -> Row:
        """The row at a place: from memory, or through `load` from the file."""
        row = self._rows.get(at)
        if row is None:
            self.put(at, row := load(at))
        return row

    def only(self, places: Iterable[At]) -> None:
        """Drop all rows except those at `places`."""
        for at in self._rows.keys() - set(places):
            del self._rows[at]
            self._left += at.length
