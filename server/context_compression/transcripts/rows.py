"""Rows: the JSON objects among the lines of a file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

from context_compression.display.plurals import how_many
from context_compression.transcripts.damaged_lines import BLANK, Likeness, rows_in
from context_compression.transcripts.lines import NOTHING_READ, At, Line, Lines, parse

NAMED = 5  # line numbers listed in a warning
SAMPLE = 50  # rows whose keys are sampled for `Likeness`


@dataclass
class Seen:
    """Notes on the lines read so far; the next reading continues them."""

    malformed: list[int] = field(default_factory=list[int])
    """The numbers of lines without a row."""
    damaged: list[int] = field(default_factory=list[int])
    """The numbers of damaged lines that hold rows."""
    likeness: Likeness = field(default_factory=Likeness)
    """The common features of the first rows."""


class Rows:
    """The rows among lines, each with its place; can be iterated once.

    Lines without a row are skipped; after the iteration `warnings` lists them. A last line that is
    cut off does not count as read: a later reading that starts from `last` gets the complete line.

    Args:
        lines: the lines not read yet.
        first: lines that were taken from the stream before them.
        seen: the notes of earlier readings; this reading adds to them.
        last: the last line of the earlier readings.
    """

    def __init__(
        self,
        lines: Lines,
        first: Iterable[Line] = (),
        seen: Seen | None = None,
        last: Line = NOTHING_READ,
    ) -> None:
        self.seen = seen or Seen()
        self.last = last
        self._lines = lines
        self._torn = 0
        self._rows = self._parsed(first)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], At]]:
        return self._rows

    def _parsed(self, first: Iterable[Line]) -> Iterator[tuple[dict[str, Any], At]]:
        for line in chain(first, self._lines):
            value = parse(line.data)
            if isinstance(value, dict):
                row = cast(dict[str, Any], value)
                self.last = line
                if self.seen.likeness.sampled < SAMPLE:
                    self.seen.likeness.add(row)
                yield row, line.at
            elif value is None:
                yield from self._saved(line)
            else:
                self.last = line
                self.seen.malformed.append(line.number)

    def _saved(self, line: Line) -> Iterator[tuple[dict[str, Any], At]]:
        """The complete rows in a damaged line.

        A line without an end may still be written to, so it counts as read up to its last row.
        """
        ended = line.data.endswith(b"\n")
        rows = rows_in(line.data, self.seen.likeness)
        read = len(line.data) if ended else rows[-1].stop if rows else 0
        if read:
            self.last = line.part(0, read)
            numbers = self.seen.damaged if rows else self.seen.malformed
            numbers += [line.number] if line.number not in numbers[-1:] else []
        if line.data[read:].strip(BLANK) or not read:
            self._torn = len(line.data) - read
        for row, start, stop in rows:
            yield row, line.part(start, stop).at

    @property
    def warnings(self) -> list[str]:
        """The parts of the file that could not be read, in sentences for the user."""
        warnings: list[str] = []
        if numbers := self.seen.malformed:
            warnings.append(f"Lines that are no JSON object were skipped: {_listed(numbers)}.")
        if numbers := self.seen.damaged:
            warnings.append(f"Of damaged lines only the whole rows were read: {_listed(numbers)}.")
        if self._torn:
            warnings.append(
                f"The last line is cut off after {how_many(self._torn, 'byte')} (still being "
                "written, or a crash); it was left out."
            )
        if self._lines.cut_off:
            warnings.append("The packed file is cut off; what came after was left out.")
        return warnings


def _listed(numbers: list[int]) -> str:
    """`[3, 8]` -> `2 (line 3, 8)`."""
    named = ", ".join(map(str, numbers[:NAMED])) + ", …" * (len(numbers) > NAMED)
    return f"{len(numbers)} (line {named})"
