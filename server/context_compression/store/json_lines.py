"""Append-only files of JSON lines, each with a checksum. One append is one write.

The first line is a header, `{"type": kind, "version": 1, ...}`. After a crash the last line may be
torn. The next append ends it with a newline, so that it stays in the file as a separate line and is
reported. It is never lost, and leaves the others intact.

`{"type":"undo","n":1}` is written as `{"type":"undo","n":1,"crc32":"5f3a01bc"}`: the CRC-32 of the
line without the checksum, so that changed lines are recognized and not trusted. Lines of version 1
may have none and are read as they are; rows of a database always have one, which holds their place,
too, so that none can stand in for another.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast
from zlib import crc32

from context_compression.conversation.refs import DIGITS
from context_compression.plurals import how_many
from context_compression.store import files
from context_compression.store.backend import Events
from context_compression.store.files import to_json

KEY = "crc32"
_SUM = re.compile(rb'[{,]"crc32":"([0-9a-f]{8})"\}\s*\Z')
_TAIL_BYTES = 64
"""The checksum is within this many last bytes of a line."""


def with_checksum(line: bytes, place: str = "") -> bytes:
    """A JSON object in a line with the checksum of it, and of its place if it has one."""
    comma = b"" if line == b"{}" else b","
    return b'%b%b"%b":"%08x"}' % (line[:-1], comma, KEY.encode(), _sum(crc32(line), place))


def placed(line: bytes, place: str) -> bytes:
    """A line that has a checksum, with that of its place, too."""
    match = _SUM.search(line, max(0, len(line) - _TAIL_BYTES))
    if match is None:
        return line
    total = _sum(int(match[1], 16), place)
    return b"%b%08x%b" % (line[: match.start(1)], total, line[match.end(1) :])


def has_checksum(line: bytes) -> bool:
    """Whether a line ends with a checksum."""
    return _SUM.search(line, max(0, len(line) - _TAIL_BYTES)) is not None


def was_changed(line: bytes, place: str = "") -> bool:
    """Whether a line has a checksum that matches neither the rest of it, nor that and its place."""
    match = _SUM.search(line, max(0, len(line) - _TAIL_BYTES))
    if match is None:
        return False
    start = match.start() + (line[match.start()] == ord("{"))
    total = crc32(b"}", crc32(memoryview(line)[:start]))
    return int(match[1], 16) not in (total, _sum(total, place))


def _sum(total: int, place: str) -> int:
    return crc32(place.encode(), total)


def object_in_row(row: bytes, place: str) -> dict[str, Any] | None:
    """As `object_in_line`, for the row of a database; `None` also if it has no checksum."""
    return object_in_line(row, place) if has_checksum(row) else None


def object_in_line(line: bytes, place: str = "") -> dict[str, Any] | None:
    """The JSON object in a line, without its checksum.

    `None` if the line was changed, is not JSON, or is not a JSON object.
    """
    if was_changed(line, place):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    item = cast("dict[str, Any]", value)
    item.pop(KEY, None)
    return item


HEX = re.compile(rb"[0-9a-f]{12,}")


def spellings(text: str) -> set[bytes]:
    """The forms in which `to_json` writes a text inside a string."""
    return {to_json(text)[1:-1], json.dumps(text)[1:-1].encode()}


def digits_in(data: bytes) -> set[str]:
    """All digits in JSON that could be a ref, short or long."""
    found: set[str] = set()
    for run in HEX.findall(data):
        whole = run.decode()
        found.update(whole[at : at + DIGITS] for at in range(len(whole) - DIGITS + 1))
        found.add(whole)
    return found


HEAD_BYTES = 4096
"""Longer than any header."""
CHUNK_BYTES = 2**20
"""How many bytes are read at once when a file is searched for a text."""
ENDING_BYTES = 64
"""How many last bytes a later read compares to check that the file has only grown since."""
SHOWN_CHARS = 60
"""How many characters of an unreadable line its warning quotes."""


NOTHING = Events([])


@dataclass(frozen=True)
class _Progress:
    """How far a file was read. A torn end does not count: it is read again when the file grows."""

    stamp: tuple[int, int] = (0, 0)
    """size and mtime_ns of the file"""
    offset: int = 0
    """bytes of complete lines"""
    number: int = 0
    """how many lines these are"""
    ending: bytes = b""
    """the last bytes before `offset`; if the file has others there, it did not only grow"""
    complete: Events = NOTHING
    """the complete lines"""
    lines: Events = NOTHING
    """the complete lines, and the torn end if there is one"""


class LineFile:
    """One file of JSON lines. A caller of `append` must hold a lock; reading needs none."""

    def __init__(self, path: Path, kind: str) -> None:
        """The file at `path`, whose header has the type `kind`. Nothing is read or written yet."""
        self.path = path
        self.kind = kind
        self._progress = _Progress()

    @property
    def torn(self) -> bool:
        """Whether the last `read` found an end without newline: torn, or still being written."""
        return self._progress.lines is not self._progress.complete

    def read(self) -> Events:
        """All lines except the header. If the file has only grown, only the new lines are read."""
        with files.reading(self.path):
            try:
                with files.opened(self.path) as file:
                    self._progress = self._read_on(self._progress, file)
            except FileNotFoundError:
                self._progress = _Progress()
        return self._progress.lines

    def lines_with(self, key: str) -> Iterator[dict[str, Any]]:
        """The readable lines that contain `key` as a JSON string. Nothing is kept in memory."""
        literal = files.to_json(key)
        with files.reading(self.path), suppress(FileNotFoundError), files.opened(self.path) as file:
            for line in file:
                if literal in line and (item := object_in_line(line)) is not None:
                    yield item

    def data(self) -> bytes:
        """The bytes of the file; `b""` if it does not exist."""
        with files.reading(self.path), suppress(FileNotFoundError):
            return files.bytes_of(self.path)
        return b""

    def holds(self, text: str) -> bool:
        """Whether a string in the file contains a text, in either form that `to_json` writes."""
        forms = spellings(text)
        longest = max(map(len, forms))
        with files.reading(self.path), suppress(FileNotFoundError), files.opened(self.path) as file:
            data = b""
            while chunk := file.read(CHUNK_BYTES):
                data = data[-longest:] + chunk
                if any(form in data for form in forms):
                    return True
        return False

    def checksum(self, stop: int) -> int:
        """A CRC-32 of the first `stop` bytes. It tells whether the file only grew behind them."""
        return crc32(self.data()[:stop])

    def items_after(self, offset: int, at_least: int) -> tuple[list[dict[str, Any]], int]:
        """The lines in about `at_least` bytes after an offset, and the offset after them.

        Unreadable lines are omitted; a torn end is left for the next call. Nothing is kept in
        memory.
        """
        with files.reading(self.path), files.opened(self.path) as file:
            file.seek(offset)
            left = os.fstat(file.fileno()).st_size - offset
            data = file.read(min(at_least, max(left, 0)))  # room for more costs time
            data += file.readline()
        complete = data[: data.rfind(b"\n") + 1]
        items = filter(None, map(object_in_line, complete.split(b"\n")))
        return [item for item in items if not self._is_header(item)], offset + len(complete)

    def append(self, values: Iterable[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
        """Write a line for each value, and return when the lines are on disk.

        Raises:
            StoreUnwritable: the disk refused the write; the file is cut back to its old size.
            StoreNotDurable: the name of a new file could not be synced; the lines stay.
            StoreTooNew: a newer version wrote the file.
        """
        added = b"".join(map(_line, values))
        header = files.to_json({"type": self.kind, "version": files.FORMAT, **about}) + b"\n"
        with files.writing(self.path), open(self.path, "a+b", buffering=0, opener=_private) as file:
            file.seek(0)
            head = file.read(HEAD_BYTES)
            self._is_header(object_in_line(head.partition(b"\n")[0]))
            size = file.seek(0, os.SEEK_END)
            if b"\n" not in head and size <= HEAD_BYTES:  # new, or its header was torn
                added = header + added
            file.seek(max(size - 1, 0))
            if file.read(1) not in {b"", b"\n"}:
                added = b"\n" + added
            try:
                left = memoryview(added)
                while left:  # again if the system wrote only a part
                    left = left[file.write(left) or 0 :]
                os.fsync(file.fileno())
            except BaseException:
                with suppress(OSError):
                    file.truncate(size)
                raise
            if not size:
                files.sync_name(self.path)

    def _read_on(self, before: _Progress, file: BinaryIO) -> _Progress:
        status = os.fstat(file.fileno())
        stamp = (status.st_size, status.st_mtime_ns)
        if stamp == before.stamp:
            return before
        file.seek(before.offset - len(before.ending))
        data = file.read()
        if not data.startswith(before.ending):
            before = _Progress()
            file.seek(0)
            data = file.read()
        added, newline, tail = data[len(before.ending) :].rpartition(b"\n")
        items, warnings = list(before.complete.items), list(before.complete.warnings)
        lines = added.split(b"\n") if newline else []
        for number, line in enumerate(lines, before.number + 1):
            item = object_in_line(line)
            if item is None and line.strip():
                problem = "was changed" if was_changed(line) else "cannot be read"
                warnings.append(f"{self.path.name}: line {number} {problem} {_excerpt(line)}")
            if item is not None and not self._is_header(item):
                items.append(item)
                if number == 1:
                    warnings.append(f"{self.path.name}: the first line is not its header")
        complete = Events(items, warnings)
        return _Progress(
            stamp=stamp,
            offset=before.offset + len(added + newline),
            number=before.number + len(lines),
            ending=(before.ending + added + newline)[-ENDING_BYTES:],
            complete=complete,
            lines=self._with_torn(complete, tail) if tail else complete,
        )

    def _with_torn(self, complete: Events, tail: bytes) -> Events:
        """The complete lines, the torn end if only its newline is missing, and a warning."""
        item = object_in_line(tail)
        last = [] if item is None or self._is_header(item) else [item]
        warning = f"{self.path.name}: the last line is torn {_excerpt(tail)}"
        return Events(complete.items + last, [*complete.warnings, warning])

    def _is_header(self, item: dict[str, Any] | None) -> bool:
        """Whether `item` is a header; the header of a newer version raises `StoreTooNew`."""
        if item is None or item.get("type") != self.kind:
            return False
        files.check_version(item, self.path)
        return True


def _line(value: Mapping[str, Any]) -> bytes:
    return with_checksum(files.to_json(dict(value))) + b"\n"


def _excerpt(line: bytes) -> str:
    """The beginning of a line, for a warning: `(6 bytes), it was not lost: '{"a":1'`."""
    text = line.decode("utf-8", "replace")
    return f"({how_many(len(line), 'byte')}), it was not lost: {text[:SHOWN_CHARS]!r}" + (
        "…" if len(text) > SHOWN_CHARS else ""
    )


def _private(path: str, flags: int) -> int:
    """Opens with mode 0600 and follows no link, which could lead out of the folder."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
