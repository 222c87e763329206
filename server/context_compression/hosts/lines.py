"""Files as lines, lines as JSON objects: read one after the other, whatever shape they are in.

A transcript may be larger than we like to hold, may be written to while we read, and may have been
cut off by a crash. So it is streamed; what cannot be read is counted and reported, never fatal.
"""

import codecs
import gzip
import json
import stat
import zlib
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from context_compression.errors import TranscriptError
from context_compression.messages import is_object

GZIP = b"\x1f\x8b"
NAMED = 5  # line numbers listed in a warning
WANTED = (
    "Pass a transcript of Claude Code, or messages as JSON: a list of messages, an object with "
    '"messages", or one message per line.'
)


@contextmanager
def opened(path: Path, max_bytes: int) -> Generator["Lines"]:
    """The lines of a file, unpacked where it is gzip.

    Raises:
        TranscriptError: no such file, not a file, over `max_bytes` (before anything is read),
            unreadable, or binary.
    """
    if "\0" in str(path):
        raise TranscriptError(f"{str(path)!r} is not a path. {WANTED}")
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise TranscriptError(f"{path} is a folder. Pass the path of one file in it.")
        if not stat.S_ISREG(about.st_mode):
            raise TranscriptError(f"{path} is a device or a pipe. Only ordinary files are read.")
        if about.st_size > max_bytes:
            raise _too_large(path, f"{about.st_size:,} bytes", max_bytes)
        with path.open("rb") as file:
            start = file.peek(4096)
            packed = start.startswith(GZIP)
            if not packed and b"\0" in start:
                raise TranscriptError(f"{path} is binary, or not UTF-8 text. {WANTED}")
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
            yield Lines(stream, path, max_bytes)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TranscriptError(f"There is no file {path}. {WANTED}") from error
    except PermissionError as error:
        raise TranscriptError(
            f"{path} may not be read by this user. Give read permission, or pass a copy."
        ) from error
    except (OSError, zlib.error) as error:  # damaged gzip is one of the two
        raise TranscriptError(f"{path} cannot be read: {error}. Pass another file.") from error


class Lines:
    r"""The lines of a stream that hold something, as bytes; split on `\n` and nothing else.

    `str.splitlines` would also split at U+2028, which stands unescaped in JSON strings.
    """

    def __init__(self, stream: BinaryIO, path: Path, max_bytes: int) -> None:
        self.number = 0
        """The number of the line given last, from 1."""
        self.cut_off = False
        """Whether a packed file ended before its end."""
        self._stream, self._path, self._left, self._max = stream, path, max_bytes, max_bytes

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        while line := self._line():
            self.number += 1
            if self.number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line and not line.isspace():
                return line
        raise StopIteration

    def _line(self) -> bytes:
        try:
            line = self._stream.readline(self._left + 1)
        except EOFError:
            self.cut_off = True
            return b""
        self._left -= len(line)
        if self._left < 0:  # unpacked, or grown since we looked
            raise _too_large(self._path, "more than is allowed", self._max)
        return line


class Rows:
    """The JSON objects among lines; each can be had once.

    Lines that hold none are skipped; once all rows have been read, `warnings` tells of them.
    """

    def __init__(self, lines: Lines, first: list[bytes]) -> None:
        self._lines = lines
        self._ahead: deque[dict[str, Any]] = deque()
        self._malformed: list[int] = []
        self._torn = 0
        self._rest = self._parsed(first)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while self._ahead:
            yield self._ahead.popleft()
        yield from self._rest

    def ahead(self, count: int) -> list[dict[str, Any]]:
        """The first `count` rows; they will still be given."""
        self._ahead.extend(islice(self._rest, count - len(self._ahead)))
        return list(self._ahead)

    @property
    def warnings(self) -> list[str]:
        """What could not be read, in plain words."""
        warnings: list[str] = []
        if count := len(self._malformed):
            named = ", ".join(map(str, self._malformed[:NAMED])) + ", …" * (count > NAMED)
            warnings.append(f"Lines that are no JSON object were skipped: {count} (line {named}).")
        if self._torn:
            warnings.append(
                f"The last line is cut off after {self._torn:,} bytes (still being written, or a "
                "crash); it was left out."
            )
        if self._lines.cut_off:
            warnings.append("The packed file is cut off; what came after was left out.")
        return warnings

    def _parsed(self, first: list[bytes]) -> Iterator[dict[str, Any]]:
        """Every row; `first` are lines that were taken from the file already."""
        for number, line in self._numbered(first):
            value = parse(line)
            if isinstance(value, dict):
                yield cast(dict[str, Any], value)
            elif value is None and not line.endswith(b"\n"):
                self._torn = len(line)
            else:
                self._malformed.append(number)

    def _numbered(self, first: list[bytes]) -> Iterator[tuple[int, bytes]]:
        yield from enumerate(first, 1)
        for line in self._lines:
            yield self._lines.number, line


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


def _too_large(path: Path, size: str, max_bytes: int) -> TranscriptError:
    return TranscriptError(
        f"{path} is too large: {size}; at most {max_bytes:,} bytes are read. Pass a smaller part."
    )
