"""Files as streams of lines, and the errors for files that cannot be read.

A transcript is streamed because it may be too large to hold in memory. The host may write to it
while we read, and a crash may have cut it off.
"""

import codecs
import json
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic_core import from_json

from context_compression.display.plurals import how_many
from context_compression.errors import TranscriptError
from context_compression.progress import READING, advance, is_reported
from context_compression.transcripts.access import opened_once
from context_compression.transcripts.unpacking import damages, unpacked

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


def parse(data: bytes) -> Any:
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
