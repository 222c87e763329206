"""The complete rows in damaged lines.

A crash leaves NUL bytes in place of a row, or a row that is cut off and directly followed by the
next. Two programs that write at once leave rows without a line break between them. (Seen in
transcripts of Claude Code, Codex and Copilot CLI.) Complete rows are read, incomplete rows are left
out, and a part of a row is never read as a row.
"""

import json
import re
import sys
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from context_compression.errors import TranscriptError
from context_compression.transcripts.lines import opened, parse

NUL = b"\0"
BLANK = b"\0 \t\r\n"
OPENING = re.compile(r'\{\s*"(?=[^"\\]{0,200}"\s*:)')
"""The beginning of a JSON object. It cannot occur in a JSON string, where quotes are escaped."""
ESCAPE = 7
"""Characters of `\\u1234`, plus one: the error for a cut-off escape names the escape's start."""
START = re.compile(r"\s*\{$")  # nothing before the brace
FOLLOWED = re.compile(r"\s*(?:\{|$)")  # by another row, or by nothing
LONGEST_FIRST = 4 * 1024 * 1024
"""Bytes; a host's first line may hold its system prompt."""
EFFORT = 10  # how many times a line is parsed at most
COUNTING = 10  # a JSON error counts the lines before it, this many times faster than parsing
DECODER = json.JSONDecoder()


class FoundRow(NamedTuple):
    """A row, and its place in the line, in bytes."""

    row: dict[str, Any]
    start: int
    stop: int
    """The byte after its last one."""


@dataclass
class Likeness:
    """The common features of a file's first rows."""

    sampled: int = 0
    keys: Set[str] = frozenset()
    """The keys that every row has."""
    beginnings: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """The first two keys of each row, in order."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row to the sample."""
        self.keys = self.keys & row.keys() if self.sampled else frozenset(row)
        self.beginnings.add(_beginning(row))
        self.sampled += 1

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Whether an object looks like the sampled rows; parts of a row do not."""
        alike = len(self.keys) > 1 or _beginning(row) in self.beginnings
        return alike and bool(self.keys) and self.keys <= row.keys()


def _beginning(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(islice(row, 2))


def row_in(data: bytes) -> dict[str, Any]:
    """The row in some bytes, with NUL bytes removed if need be; empty if there is none."""
    value = parse(data)
    if value is None and NUL in data:
        value = parse(data.replace(NUL, b""))
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def first_row(path: Path) -> dict[str, Any]:
    """The row in the first line of a file; empty if there is none, or the file cannot be read."""
    try:
        with opened(path, sys.maxsize) as stream:
            return row_in(stream.readline(LONGEST_FIRST))
    except TranscriptError:
        return {}


def rows_of(line: bytes) -> list[dict[str, Any]]:
    """The rows in a line, damaged or not."""
    value = parse(line)
    if value is None:
        return [damaged.row for damaged in rows_in(line, Likeness())]
    return [cast(dict[str, Any], value)] if isinstance(value, dict) else []


def rows_in(line: bytes, likeness: Likeness) -> list[FoundRow]:
    """The complete rows in a line that is not one JSON value.

    `{"type": "us{"type": "user", "n": 1}` -> the second of the two.
    """
    start, stop = len(line) - len(line.lstrip(BLANK)), len(line.rstrip(BLANK))
    if NUL in line and (row := row_in(line[start:stop])):
        return [FoundRow(row, start, stop)]
    return _Search(line, likeness).rows()


@dataclass
class _Search:
    """Searches a line for rows from left to right."""

    line: bytes
    likeness: Likeness
    end: int = 0
    """The place after the last row."""
    broke: int = -1
    """The place of the last JSON error, from an earlier opening."""

    def rows(self) -> list[FoundRow]:
        """All rows."""
        text = self.line.replace(NUL, b" ").decode("latin-1")  # a character is a byte
        rows: list[FoundRow] = []
        looked, effort = 0, EFFORT * len(text)
        while effort > 0 and (opening := OPENING.search(text, looked)):
            start = opening.start()
            try:
                _, looked = DECODER.raw_decode(text, start)
            except json.JSONDecodeError as error:
                self.broke, looked = error.pos, start + 1
                effort -= self.broke - start + self.broke // COUNTING
                continue
            except RecursionError:  # it does not name a place
                self.broke, looked = start, start + 1
                effort -= len(text)
                continue
            if row := self._row_at(text, opening, looked):
                rows.append(FoundRow(row, start, looked))
                self.end = looked
        return rows

    def _row_at(self, text: str, opening: re.Match[str], stop: int) -> dict[str, Any]:
        """The object from an opening to `stop`; empty if it may be part of a cut-off row."""
        start = opening.start()
        is_first = START.match(text, self.end, start + 1) is not None  # or after a complete row
        if not is_first and not FOLLOWED.match(text, stop):
            return {}
        is_what_broke_it = start - ESCAPE <= self.broke <= opening.end()
        row = row_in(self.line[start:stop])
        certain = is_first or is_what_broke_it or self.broke < self.end  # no broken JSON before it
        return row if certain or self.likeness.fits(row) else {}
