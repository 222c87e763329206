"""The list of all refs of a store: which session archived which ref, in one file.

A ref is named without its session, and reading the logs of thousands of sessions to find it takes
seconds. So each session notes in this list what it archived. The list also tells which logs have
grown, so that a search need not look at each of them.

The list may be deleted at any time. A line `=id ref ref ...` has all refs of a session so far, and
later lines `id ref ...` add to it. Sessions without a line of the first kind were written by hand,
or before the list existed: the next reader adds them.
"""

import os
import re
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from context_compression import opening
from context_compression.store.root_folder import LOCKS

NAME = "refs"
"""The name of the list in the folder for data of this machine."""
ENDING_BYTES = 160
"""More than the longest id of a session, with which a line begins."""
_COMPLETE = re.compile(rb"^=(\S+)", re.MULTILINE)
_FIRST_WORD = re.compile(rb"^=?(\S+)", re.MULTILINE)


Mark: TypeAlias = tuple[int, int]
"""A place in the list: the inode of its file, and an offset in bytes."""


class RefList:
    """The list of one store, as far as this process has read it."""

    def __init__(self, root: Path) -> None:
        """The list of the store at `root`. Nothing is read yet."""
        self._path = root / LOCKS / NAME
        self._file = 0
        self._data = bytearray()
        self._complete: set[str] = set()

    def read(self) -> Mark:
        """Read what was added since the last call, and return where the list ends now."""
        try:
            opened = opening.opened(self._path, follows=False)
        except OSError:
            self._begin(0)
            return 0, 0
        with opened:
            status = os.fstat(opened.fileno())
            if status.st_ino != self._file or status.st_size < len(self._data):
                self._begin(status.st_ino)
            opened.seek(len(self._data))
            added = opened.read()
        added = added[: added.rfind(b"\n") + 1]
        self._data += added
        self._complete.update(map(_decoded, _COMPLETE.findall(added)))
        return self._file, len(self._data)

    def grown_since(self, mark: Mark) -> set[str] | None:
        """The sessions whose logs may have grown since a mark; `None` if the list was made anew."""
        file, offset = mark
        if not file or file != self._file or offset > len(self._data):
            return None
        last_line = self._data.rfind(b"\n", 0, max(0, offset - 1)) + 1
        return {*map(_decoded, _FIRST_WORD.findall(self._data, last_line))}

    def add_missing(
        self, sessions: Iterable[str], refs_of: Callable[[str], Iterable[str] | None]
    ) -> None:
        """Add the sessions that the list does not have.

        Args:
            sessions: the ids of all sessions.
            refs_of: returns all refs of a session; `None` if it cannot be read.
        """
        missing = [id for id in sessions if id not in self._complete]
        found = {id: refs for id in missing if (refs := refs_of(id)) is not None}
        if found:
            lines = "".join(_line(f"={id}", refs) for id, refs in found.items())
            with suppress(OSError):
                _append(self._path, lines)
                self.read()
            if not found.keys() <= self._complete:  # the folder is read-only
                self._data += lines.encode()
                self._file = 0  # so that the next call reads the file from its beginning

    def sessions_with(self, ref: str) -> set[str]:
        """The ids of the sessions that may have archived a ref.

        Args:
            ref: lower-case hex digits, with which the ref begins.
        """
        key, found = f" {ref}".encode(), set[str]()
        at = self._data.find(key)
        while at >= 0:
            start, stop = self._data.rfind(b"\n", 0, at) + 1, self._data.find(b"\n", at)
            if word := _FIRST_WORD.match(self._data, start, at):
                found.add(_decoded(word[1]))
            at = self._data.find(key, stop)
        return found

    def _begin(self, file: int) -> None:
        self._file = file
        self._data.clear()
        self._complete.clear()


@contextmanager
def noting(root: Path, id: str, refs: Collection[str], *, is_new: bool) -> Generator[None]:
    """Notes what is added to the log of a session meanwhile.

    Refs are noted before, so that a crash leaves no ref that is archived but not listed; a listed
    ref that is not archived does no harm. That the log has grown is noted after.

    Args:
        root: of the store.
        id: of the session.
        refs: that are archived.
        is_new: whether the log had no events before.
    """
    path = root / LOCKS / NAME
    file = None
    with suppress(OSError):
        _append(path, _line(f"={id}" if is_new else id, refs), None if refs or is_new else id)
        file = os.stat(path).st_ino
    yield
    with suppress(OSError):
        again = refs if os.stat(path).st_ino != file else ()
        _append(path, _line(id, again), None if again else id)


def remove(root: Path) -> None:
    """Remove the list, because a session was deleted; the next reader makes it again."""
    with suppress(OSError):
        (root / LOCKS / NAME).unlink(missing_ok=True)


def _line(first: str, refs: Iterable[str]) -> str:
    return f"{' '.join([first, *refs])}\n"


def _append(path: Path, lines: str, unless_last: str | None = None) -> None:
    """Add lines in one write; not if the last line is already about session `unless_last`.

    Readers look at the session of the last line in any case.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    file = os.open(path, flags, 0o600)
    try:
        size = os.fstat(file).st_size
        start = max(0, size - ENDING_BYTES)
        os.lseek(file, start, os.SEEK_SET)
        ending = os.read(file, ENDING_BYTES)
        if unless_last and _last_session(ending, complete=not start) == unless_last.encode():
            return
        data = (b"" if ending.endswith(b"\n") or not size else b"\n") + lines.encode()
        try:
            complete = os.write(file, data) == len(data)
            if b" " in data:
                os.fsync(file)
        except OSError:
            complete = False
        if not complete:  # a part of the refs would be taken for all
            path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _last_session(ending: bytes, *, complete: bool) -> bytes | None:
    """The session of the last line; `None` if its beginning is not in the ending of the list.

    Args:
        ending: the last bytes of the list.
        complete: whether these are all its bytes.
    """
    _, newline, last = ending.removesuffix(b"\n").rpartition(b"\n")
    found = _FIRST_WORD.match(last) if ending.endswith(b"\n") and (newline or complete) else None
    return found[1] if found else None


def _decoded(id: bytes) -> str:
    return id.decode("ascii", "replace")
