"""Files as lines, read one after the other, and the errors for those that cannot be read.

A transcript may be larger than we like to hold, may be written to while we read, and may have been
cut off by a crash. So it is streamed.
"""

import codecs
import gzip
import json
import re
import stat
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from context_compression.display.plurals import how_many
from context_compression.errors import TranscriptError

GZIP = b"\x1f\x8b"
LOOKED_INTO = 4096  # bytes at the start of a file, by which it is known as binary
WIDE = re.compile(rb"(?:[^\0]\0{1,3}){4}|(?:\0{1,3}[^\0]){4}")  # UTF-16 or UTF-32
CONTROLS = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")  # none a terminal is told
LONGEST = 256 * 1024 * 1024
"""Bytes of one line, or of a file that is one JSON value: it has to be held as a whole."""
EXPECTED = (
    "Pass a transcript of Claude Code, Codex, Gemini CLI, opencode, Pi or Copilot CLI, or messages "
    'as JSON: a list of messages, an object with "messages", "contents" or "input", or one message '
    "per line."
)


class At(NamedTuple):
    """Where a line stands in its file, unpacked: its first byte, and how many it has."""

    offset: int
    length: int


class Line(NamedTuple):
    """A line, its number from 1, and the byte behind it."""

    data: bytes
    number: int
    end: int

    @property
    def at(self) -> At:
        """Where it stands."""
        return At(self.end - len(self.data), len(self.data))

    def part(self, start: int, stop: int) -> "Line":
        """Some bytes of it; the stop is exclusive."""
        return Line(self.data[start:stop], self.number, self.end - len(self.data) + stop)


UTF8 = re.compile(rb"\{[^\0]")
DECODE = json.JSONDecoder().decode
NOTHING_READ = Line(b"", 0, 0)
"""Before the first line."""


@contextmanager
def translated(path: Path) -> Generator[None]:
    """What goes wrong with a file, in words that say what to do.

    Raises:
        TranscriptError: in place of what the operating system says.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TranscriptError(f"There is no file {path}. {EXPECTED}") from error
    except PermissionError as error:
        raise TranscriptError(
            f"{path} may not be read by this user. Give read permission, or pass a copy."
        ) from error
    except (OSError, EOFError, zlib.error) as error:  # the latter two: damaged gzip
        raise TranscriptError(f"{path} cannot be read: {error}. Pass another file.") from error


def check_file(path: Path, max_bytes: int) -> None:
    """Whether there is an ordinary file that is not too large; nothing of it is read.

    Raises:
        TranscriptError: there is not.
    """
    if "\0" in str(path):
        raise TranscriptError(f"{str(path)!r} is not a path. {EXPECTED}")
    with translated(path):
        about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise TranscriptError(f"{path} is a folder. Pass the path of one file in it.")
    if not stat.S_ISREG(about.st_mode):
        raise TranscriptError(f"{path} is a device or a pipe. Only ordinary files are read.")
    if about.st_size > max_bytes:
        raise too_large(path, how_many(about.st_size, "byte"), max_bytes)


@contextmanager
def opened(path: Path, max_bytes: int) -> Generator[BinaryIO]:
    """The bytes of a file, unpacked where it is gzip.

    Raises:
        TranscriptError: no such file, not a file, over `max_bytes` (before anything is read),
            unreadable, or binary.
    """
    check_file(path, max_bytes)
    with translated(path), path.open("rb") as file:
        start = file.peek(LOOKED_INTO)[:LOOKED_INTO]
        packed = start.startswith(GZIP)
        if not packed and is_binary(start):
            raise TranscriptError(f"{path} is binary, or not UTF-8 text. {EXPECTED}")
        yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file


def is_binary(start: bytes) -> bool:
    """Whether a file that begins so is no text: NULs alone may also be what a crash left in one."""
    if b"\0" not in start:
        return False
    text = start.replace(b"\0", b"")
    strange = text.decode("utf-8", "replace").count("\ufffd")  # a crash may halve a character, too
    return bool(WIDE.search(start) or CONTROLS.search(text)) or strange > len(text) // 50


@dataclass
class Lines:
    r"""The lines of a stream that hold something; split on `\n` and nothing else.

    `str.splitlines` would also split at U+2028, which stands unescaped in JSON strings.
    """

    stream: BinaryIO
    path: Path
    max_bytes: int
    end: int = 0
    """The byte behind the line read last."""
    number: int = 0
    """Its number."""
    cut_off: bool = False
    """Whether a packed file ended before its end."""

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        while data := self._read():
            self.number += 1
            self.end += len(data)
            if self.number == 1:
                data = data.removeprefix(codecs.BOM_UTF8)
            if data and not data.isspace():
                return Line(data, self.number, self.end)
        raise StopIteration

    def _read(self) -> bytes:
        try:
            data = self.stream.readline(LONGEST + 1)
        except EOFError:
            self.cut_off = True
            return b""
        if len(data) > LONGEST:
            raise too_large(self.path, "a line longer than is allowed", LONGEST)
        if self.end + len(data) > self.max_bytes:  # unpacked, or grown since we looked
            raise too_large(self.path, "more than is allowed", self.max_bytes)
        return data


def parse(data: bytes) -> Any:
    """The JSON value in UTF-8 bytes; `None` if there is none."""
    try:
        if UTF8.match(data):  # as `json.loads` has it, which first finds out about the encoding
            return DECODE(data.decode("utf-8", "surrogatepass"))
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def string(value: Mapping[str, Any], key: str) -> str:
    """What stands under a key where it is a string, else an empty one."""
    text = value.get(key)
    return text if isinstance(text, str) else ""


def too_large(path: Path, size: str, max_bytes: int) -> TranscriptError:
    """The error for a file, or a part of one, that is not read for its size."""
    return TranscriptError(
        f"{path} is too large: {size}; at most {max_bytes:,} bytes are read. Pass a smaller part."
    )
