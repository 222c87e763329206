"""Files as lines, lines as JSON objects: read one after the other, whatever shape they are in.

A transcript may be larger than we like to hold, may be written to while we read, and may have been
cut off by a crash. So it is streamed; what cannot be read is counted and reported, never fatal.
"""

import codecs
import gzip
import json
import stat
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from context_compression.errors import TranscriptError
from context_compression.messages import is_object
from context_compression.plurals import how_many

GZIP = b"\x1f\x8b"
NAMED = 5  # line numbers listed in a warning
LONGEST = 256 * 1024 * 1024
"""Bytes of one line, or of a file that is one JSON value: it has to be held as a whole."""
WANTED = (
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
        raise TranscriptError(f"There is no file {path}. {WANTED}") from error
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
        raise TranscriptError(f"{str(path)!r} is not a path. {WANTED}")
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
        start = file.peek(4096)
        packed = start.startswith(GZIP)
        if not packed and b"\0" in start:
            raise TranscriptError(f"{path} is binary, or not UTF-8 text. {WANTED}")
        yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file


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


class Rows:
    """The JSON objects among lines, each with its place; can be had once.

    Lines that hold none are skipped; once all rows have been read, `warnings` tells of them. A torn
    last line does not count as read: whoever goes on behind `last` later finds it whole.

    Args:
        lines: those not read yet.
        first: those before them.
        malformed: numbers of lines that hold no object, found earlier; new ones are added.
        last: the line read last.
    """

    def __init__(
        self,
        lines: Lines,
        first: Iterable[Line] = (),
        malformed: list[int] | None = None,
        last: Line = NOTHING_READ,
    ) -> None:
        self.malformed: list[int] = [] if malformed is None else malformed
        self.last = last
        self._lines = lines
        self._torn = 0
        self._rows = self._parsed(first)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], At]]:
        return self._rows

    def _parsed(self, first: Iterable[Line]) -> Iterator[tuple[dict[str, Any], At]]:
        for line in chain(first, self._lines):
            value = parse(line.data)
            if value is None and not line.data.endswith(b"\n"):
                self._torn = len(line.data)
                return
            self.last = line
            if isinstance(value, dict):
                yield cast(dict[str, Any], value), line.at
            else:
                self.malformed.append(line.number)

    @property
    def warnings(self) -> list[str]:
        """What could not be read, in plain words."""
        warnings: list[str] = []
        if count := len(self.malformed):
            named = ", ".join(map(str, self.malformed[:NAMED])) + ", …" * (count > NAMED)
            warnings.append(f"Lines that are no JSON object were skipped: {count} (line {named}).")
        if self._torn:
            warnings.append(
                f"The last line is cut off after {how_many(self._torn, 'byte')} (still being "
                "written, or a crash); it was left out."
            )
        if self._lines.cut_off:
            warnings.append("The packed file is cut off; what came after was left out.")
        return warnings


def parse(data: bytes) -> Any:
    """The JSON value in UTF-8 bytes; `None` if there is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def as_object(value: Any) -> Mapping[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def string(value: Mapping[str, Any], key: str) -> str:
    """What stands under a key where it is a string, else an empty one."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def too_large(path: Path, size: str, max_bytes: int) -> TranscriptError:
    """The error for a file, or a part of one, that is not read for its size."""
    return TranscriptError(
        f"{path} is too large: {size}; at most {max_bytes:,} bytes are read. Pass a smaller part."
    )
