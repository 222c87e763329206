"""Files as streams of lines and rows: the complete ones, and those in damaged lines.

A transcript is streamed because it may be too large to hold in memory. The host may write to it
while we read, and a crash may have cut it off.

The complete rows in damaged lines. A crash leaves NUL bytes in place of a row, or a row that is cut
off and directly followed by the next. Two programs that write at once leave rows without a line
break between them. (Seen in transcripts of Claude Code, Codex and Copilot CLI.) Complete rows are
read, incomplete rows are left out, and a part of a row is never read as a row.
"""

import codecs
import json
import os
import re
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from pydantic_core import from_json

from context_compression.errors import TranscriptError
from context_compression.listening import READING, advance, is_reported
from context_compression.plurals import how_many
from context_compression.transcripts.opening import damages, opened_once, unpacked

LOOKED_INTO = 4096  # bytes at the start of a file that show whether it is binary
WIDE = re.compile(rb"(?:[^\0]\0{1,3}){4}|(?:\0{1,3}[^\0]){4}")  # UTF-16 or UTF-32
CONTROLS = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")  # not tab, LF, CR, escape
LONGEST = 256 * 1024 * 1024
"""The most bytes of one line, or of a file that is one JSON value: both are held in memory."""
EXPECTED = (
    "Pass a transcript of Claude Code, Codex, Gemini CLI, opencode, Pi or Copilot CLI, or messages "
    'as JSON: a list of messages, an object with "messages", "contents" or "input", or one message '
    "per line."
)


class At(NamedTuple):
    """The place of a line in its unpacked file: its first byte, and its length in bytes."""

    offset: int
    length: int


class Line(NamedTuple):
    """A line, its number from 1, and the place of the byte after it."""

    data: bytes
    number: int
    end: int

    @property
    def at(self) -> At:
        """The place of the line in its file."""
        return At(self.end - len(self.data), len(self.data))

    def part(self, start: int, stop: int) -> "Line":
        """A part of the line, from byte `start` of it to before `stop`."""
        return Line(self.data[start:stop], self.number, self.end - len(self.data) + stop)


NOTHING_READ = Line(b"", 0, 0)
"""Before the first line."""


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Turn errors of reading a file into errors that tell the user what to do.

    Raises:
        TranscriptError: in place of an `OSError`, or of an error about damaged packed data.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TranscriptError(f"There is no file {path}. {EXPECTED}") from error
    except PermissionError as error:
        raise TranscriptError(
            f"{path} may not be read by this user. Give read permission, or pass a copy."
        ) from error
    except (OSError, EOFError, *damages()) as error:  # all but the first: damaged packing
        raise TranscriptError(f"{path} cannot be read: {error}. Pass another file.") from error


@contextmanager
def opened(path: Path, max_bytes: int) -> Generator[BinaryIO]:
    """The stream of a file's bytes, unpacked if the file is gzip or Zstandard.

    Raises:
        TranscriptError: there is no such file, it is not an ordinary file, has more than
            `max_bytes` (checked before anything is read), cannot be read, or is binary.
    """
    if "\0" in str(path):
        raise TranscriptError(f"{str(path)!r} is not a path. {EXPECTED}")
    with translated(path), opened_once(path) as (file, size):
        if size > max_bytes:
            raise too_large(path, how_many(size, "byte"), max_bytes)
        start = file.peek(LOOKED_INTO)[:LOOKED_INTO]
        stream = unpacked(file, start, path)
        if stream is None and is_binary(start):
            raise TranscriptError(f"{path} is binary, or not UTF-8 text. {EXPECTED}")
        yield stream or file


def is_binary(start: bytes) -> bool:
    """Whether a file with this beginning is binary.

    NUL bytes alone do not make it binary: a crash may leave them in a text file.
    """
    if b"\0" not in start:
        return False
    text = start.replace(b"\0", b"")
    strange = text.decode("utf-8", "replace").count("\ufffd")  # a crash may also cut a character
    return bool(WIDE.search(start) or CONTROLS.search(text)) or strange > len(text) // 50


@dataclass
class Lines:
    r"""The lines of a stream that are not blank, split on `\n` only.

    `str.splitlines` would also split at U+2028, which JSON strings may hold unescaped.
    """

    stream: BinaryIO
    path: Path
    max_bytes: int
    end: int = 0
    """The place of the byte after the line read last."""
    number: int = 0
    """The number of the line read last."""
    cut_off: bool = False
    """Whether a packed file is cut off."""

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        while data := self._read():
            self.number += 1
            self.end += len(data)
            if is_reported():
                self._report()
            if self.number == 1:
                data = data.removeprefix(codecs.BOM_UTF8)
            if data and not data.isspace():
                return Line(data, self.number, self.end)
        raise StopIteration

    def _report(self) -> None:
        """Report how much of the file is read, in bytes as they are on the disk."""
        file = self.stream.fileno()
        advance(READING, os.lseek(file, 0, os.SEEK_CUR), os.fstat(file).st_size)

    def _read(self) -> bytes:
        try:
            data = self.stream.readline(LONGEST + 1)
        except EOFError:
            self.cut_off = True
            return b""
        if len(data) > LONGEST:
            raise too_large(self.path, "a line longer than is allowed", LONGEST)
        if self.end + len(data) > self.max_bytes:  # unpacked, or grown since
            raise too_large(self.path, "more than is allowed", self.max_bytes)
        return data


def parsed_json(data: bytes) -> Any:
    """The JSON value in UTF-8 bytes; `None` if there is none."""
    try:
        return from_json(data, cache_strings="keys")  # twice as fast as `json.loads`
    except ValueError:
        pass  # it knows no half of a character, no deep nesting, and no other encoding
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def string(value: Mapping[str, Any], key: str) -> str:
    """The value of a key if it is a string, else an empty string."""
    text = value.get(key)
    return text if isinstance(text, str) else ""


def too_large(path: Path, size: str, max_bytes: int) -> TranscriptError:
    """The error for a file, or a part of one, that is too large to be read."""
    return TranscriptError(
        f"{path} is too large: {size}; at most {max_bytes:,} bytes are read. Pass a smaller part."
    )


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
    value = parsed_json(data)
    if value is None and NUL in data:
        value = parsed_json(data.replace(NUL, b""))
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
    value = parsed_json(line)
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


NAMED = 5  # line numbers listed in a warning
SAMPLE = 50  # rows whose keys are sampled for `Likeness`


@dataclass
class LineNotes:
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
        seen: LineNotes | None = None,
        last: Line = NOTHING_READ,
    ) -> None:
        self.seen = seen or LineNotes()
        self.last = last
        self._lines = lines
        self._torn = 0
        self._rows = self._parsed(first)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], At]]:
        return self._rows

    def _parsed(self, first: Iterable[Line]) -> Iterator[tuple[dict[str, Any], At]]:
        for line in chain(first, self._lines):
            value = parsed_json(line.data)
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
