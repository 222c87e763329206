"""Append-only files of JSON lines: one append is one write, and what a crash tore stays readable.

The first line is a header, `{"type": kind, "version": 1, ...}`. The next append closes a torn line,
so that it stays in the file as a line of its own: reported, never lost.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from context_compression.display.plurals import how_many
from context_compression.store import files
from context_compression.store.checksums import parsed, was_changed, with_sum

HEAD_BYTES = 4096
"""More than any header has."""
CHUNK_BYTES = 2**20
"""Looked through at once for a text."""
ENDING_BYTES = 64
"""By so many last bytes it is known again how far a file was read."""


@dataclass(frozen=True)
class Events:
    """What a file of lines holds, oldest first. The dicts are the cache's own: read only."""

    items: list[dict[str, Any]]
    warnings: list[str] = field(default_factory=list[str])
    """what could not be read, in plain words"""


NOTHING = Events([])


@dataclass(frozen=True)
class _Seen:
    """How far a file was read. A torn end does not count: it is read again when the file grows."""

    stamp: tuple[int, int] = (0, 0)
    """size and mtime_ns of the file"""
    offset: int = 0
    """bytes of whole lines"""
    number: int = 0
    """how many lines these are"""
    ending: bytes = b""
    """the last bytes before `offset`; others found there mean that the file did not just grow"""
    whole: Events = NOTHING
    """the whole lines"""
    lines: Events = NOTHING
    """the whole lines, and the torn end where there is one"""


@dataclass(frozen=True)
class Mark:
    """A place between two lines of a file, for those who read on from it later.

    Attributes:
        offset: bytes before it.
        ending: the last of them; others found there mean that the file did not just grow.
    """

    offset: int = 0
    ending: bytes = b""


class Line(NamedTuple):
    """A line that was read, and where it stands: the offset of its first byte."""

    item: dict[str, Any]
    start: int
    data: bytes


class LineFile:
    """One such file. Who appends holds a lock; reading needs none."""

    def __init__(self, path: Path, kind: str) -> None:
        """The file at `path`, whose header has the type `kind`. Nothing is touched."""
        self.path = path
        self.kind = kind
        self._seen = _Seen()

    @property
    def torn(self) -> bool:
        """Whether the last `read` met an end without newline: torn, or just then being written."""
        return self._seen.lines is not self._seen.whole

    def read(self) -> Events:
        """All lines but the header. Where the file only grew, only what is new is read."""
        with files.reading(self.path):
            try:
                with open(files.ordinary(self.path), "rb") as file:
                    self._seen = self._read_on(self._seen, file)
            except FileNotFoundError:
                self._seen = _Seen()
        return self._seen.lines

    def having(self, key: str) -> Iterator[dict[str, Any]]:
        """The lines in which `key` stands, nothing kept in memory, unreadable ones passed over."""
        mark = files.to_json(key)
        with (
            files.reading(self.path),
            suppress(FileNotFoundError),
            open(files.ordinary(self.path), "rb") as file,
        ):
            for line in file:
                if mark in line and (item := parsed(line)) is not None:
                    yield item

    def data(self) -> bytes:
        """The file as it is; nothing where there is none."""
        with files.reading(self.path), suppress(FileNotFoundError):
            return files.ordinary(self.path).read_bytes()
        return b""

    def holds(self, text: str) -> bool:
        """Whether a text stands in a string of the file, in any of the ways we write it."""
        spelled = {files.to_json(text)[1:-1], json.dumps(text)[1:-1].encode()}
        longest = max(map(len, spelled))
        with (
            files.reading(self.path),
            suppress(FileNotFoundError),
            open(files.ordinary(self.path), "rb") as file,
        ):
            data = b""
            while read := file.read(CHUNK_BYTES):
                data = data[-longest:] + read
                if any(part in data for part in spelled):
                    return True
        return False

    def has(self, mark: Mark) -> bool:
        """Whether the file still is what it was up to the mark."""
        with files.reading(self.path), suppress(FileNotFoundError), open(self.path, "rb") as file:
            file.seek(mark.offset - len(mark.ending))
            return file.read(len(mark.ending)) == mark.ending
        return not mark.offset

    def onward(self, mark: Mark, at_least: int) -> tuple[list[Line], Mark]:
        """The whole lines of about `at_least` bytes behind a mark, and the mark behind them.

        Unreadable lines are passed over, a torn end is left for the next time. Nothing is kept in
        memory.
        """
        with files.reading(self.path), open(files.ordinary(self.path), "rb") as file:
            file.seek(mark.offset)
            data = file.read(at_least) + file.readline()
        whole = data[: data.rfind(b"\n") + 1]
        found: list[Line] = []
        start = mark.offset
        for line in whole.split(b"\n"):
            item = parsed(line)
            if item is not None and not self._is_header(item):
                found.append(Line(item, start, line))
            start += len(line) + 1
        ending = (mark.ending + whole)[-ENDING_BYTES:]
        return found, Mark(mark.offset + len(whole), ending)

    def append(self, values: Iterable[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
        """Writes whole lines and waits until the disk has them; `about` completes a new header.

        Where the disk refuses, the file is cut back to what it was; where it refuses only to keep
        the name of a new file (`StoreNotDurable`), the lines stay.
        """
        added = b"".join(map(_line, values))
        header = files.to_json({"type": self.kind, "version": files.FORMAT, **about}) + b"\n"
        with (
            files.writing(self.path),
            open(self.path, "a+b", buffering=0, opener=_private) as file,
        ):
            file.seek(0)
            head = file.read(HEAD_BYTES)
            self._is_header(parsed(head.partition(b"\n")[0]))
            size = file.seek(0, os.SEEK_END)
            if b"\n" not in head and size <= HEAD_BYTES:  # new, or its very header was torn
                added = header + added
            file.seek(max(size - 1, 0))
            if file.read(1) not in {b"", b"\n"}:
                added = b"\n" + added
            try:
                left = memoryview(added)
                while left:  # once; again where the system took less, and then says why
                    left = left[file.write(left) or 0 :]
                os.fsync(file.fileno())
            except BaseException:
                with suppress(OSError):
                    file.truncate(size)
                raise
            if not size:
                files.sync_name(self.path)

    def _read_on(self, seen: _Seen, file: BinaryIO) -> _Seen:
        status = os.fstat(file.fileno())
        stamp = (status.st_size, status.st_mtime_ns)
        if stamp == seen.stamp:
            return seen
        file.seek(seen.offset - len(seen.ending))
        data = file.read()
        if not data.startswith(seen.ending):
            seen = _Seen()
            file.seek(0)
            data = file.read()
        complete, newline, tail = data[len(seen.ending) :].rpartition(b"\n")
        items, warnings = list(seen.whole.items), list(seen.whole.warnings)
        lines = complete.split(b"\n") if newline else []
        for number, line in enumerate(lines, seen.number + 1):
            item = parsed(line)
            if item is None and line.strip():
                wrong = "was changed" if was_changed(line) else "cannot be read"
                warnings.append(f"{self.path.name}: line {number} {wrong} {_shown(line)}")
            if item is not None and not self._is_header(item):
                items.append(item)
                if number == 1:
                    warnings.append(f"{self.path.name}: the first line is not its header")
        whole = Events(items, warnings)
        return _Seen(
            stamp=stamp,
            offset=seen.offset + len(complete + newline),
            number=seen.number + len(lines),
            ending=(seen.ending + complete + newline)[-ENDING_BYTES:],
            whole=whole,
            lines=self._with_torn(whole, tail) if tail else whole,
        )

    def _with_torn(self, whole: Events, tail: bytes) -> Events:
        """An end that lacks only its newline is read, as it will be when a newline follows."""
        item = parsed(tail)
        found = [] if item is None or self._is_header(item) else [item]
        warning = f"{self.path.name}: the last line is torn {_shown(tail)}"
        return Events(whole.items + found, [*whole.warnings, warning])

    def _is_header(self, item: dict[str, Any] | None) -> bool:
        """Whether `item` is a header; that of a newer version is an error."""
        if item is None or item.get("type") != self.kind:
            return False
        files.check_version(item, self.path)
        return True


def _line(value: Mapping[str, Any]) -> bytes:
    return with_sum(files.to_json(dict(value))) + b"\n"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return f"({how_many(len(line), 'byte')}), it was not lost: {text[:60]!r}" + (
        "…" if len(text) > 60 else ""
    )


def _private(path: str, flags: int) -> int:
    """Opens 0600. A link is not followed: it could lead the conversation out of the folder."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
