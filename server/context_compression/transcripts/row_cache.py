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
        self._rows: dict[At, tuple[Row, int]] = {}  # with the bytes that it takes
        self._left = room

    def put(self, at: At, row: Row, size: int | None = None) -> None:
        """Add a row; the oldest rows are dropped if there is no room.

        Args:
            at: its place.
            row: the row.
            size: its bytes, without those of parts that the reader took out; default: all.
        """
        size = at.length if size is None else size
        self._rows[at] = row, size
        self._left -= size
        while self._left < 0:
            self._drop(next(iter(self._rows)))

    def row(self, at: At, load: Load) -> Row:
        """The row at a place: from memory, or through `load` from the file."""
        known = self._rows.get(at)
        if known is None:
            self.put(at, row := load(at))
            return row
        return known[0]

    def only(self, places: Iterable[At]) -> None:
        """Drop all rows except those at `places`."""
        for at in self._rows.keys() - set(places):
            self._drop(at)

    def _drop(self, at: At) -> None:
        _, size = self._rows.pop(at)
        self._left += size
