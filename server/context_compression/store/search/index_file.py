"""The file of the search index, `search.sqlite`: opened, rebuilt if damaged, removed.

The index is made from the plain files and may be deleted at any time. The next search creates it
again, or updates it.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from context_compression.errors import StoreUnwritable
from context_compression.store import files
from context_compression.store.location import INDEX, JOURNAL_ENDINGS
from context_compression.store.root_folder import holding
from context_compression.store.search.index import Index
from context_compression.store.search.sources import Stamps
from context_compression.store.session_files import SessionFiles

BUSY_SECONDS = 10.0
"""How long SQLite waits for other processes."""
TRIES = 4
"""How often the work is begun while the file is damaged or replaced by other processes."""
FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
SOUND = frozenset(
    {
        sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_AUTH,
    }
)  # fmt: skip
"""Errors that do not show damage: SQLite has no permission, no room, or must wait.

After any other error the file is treated as damaged.
"""
DAMAGED = (sqlite3.Error, ValueError, LookupError, TypeError, AttributeError)
"""Errors that a damaged file can raise: errors of SQLite; text that is not JSON or not UTF-8; rows
that point to missing rows; values of another type.
"""

T = TypeVar("T")


def using(
    folder: Path,
    stamps: Stamps,
    log_of: Callable[[str], SessionFiles],
    work: Callable[[Index], T],
) -> T:
    """Update the index of a store, and return the result of `work`.

    Args:
        folder: of the store.
        stamps: of all logs of the store.
        log_of: returns the log of a session.
        work: called with the index, and again with a new index if the first was damaged or removed.

    Raises:
        StoreUnwritable: there can be no index: the folder is read-only, or there is no room, or
            SQLite has no FTS5.
    """
    try:
        left = TRIES
        while True:
            left -= 1
            file = _file(folder)
            try:
                with _opened(file) as index:
                    index.catch_up(stamps, log_of)
                    return work(index)
            except DAMAGED as error:
                if not left or (file.is_in_place() and not _shows_damage(error)):
                    raise
                with _changing(folder):
                    if file.is_in_place():  # otherwise another process has removed it meanwhile
                        remove(folder)
    except (*DAMAGED, OSError) as error:
        raise StoreUnwritable(f"{folder / INDEX} cannot be used: {error}") from error


def forget(folder: Path, names: Sequence[str]) -> None:
    """Remove sessions from the index while their files still exist; the file gets smaller.

    If that fails, the index is removed.
    """
    if not (folder / INDEX).exists():
        return
    try:
        with _opened(_file(folder)) as index:
            index.forget([SessionFiles(folder, name) for name in names])
    except (*DAMAGED, OSError):
        remove(folder)


def shares(folder: Path) -> dict[str, int]:
    """The approximate bytes of the index for each session, by the length of its indexed texts."""
    size = (folder / INDEX).stat().st_size
    query = (
        "SELECT name, coalesce(sum(length), 0) + 1 FROM logs"
        " LEFT JOIN documents ON documents.log = logs.id GROUP BY name"
    )
    try:
        with _opened(_file(folder)) as index:
            lengths = dict(index.rows(query))
    except (*DAMAGED, OSError):
        return {}
    return {name: round(size * length / sum(lengths.values())) for name, length in lengths.items()}


def remove(folder: Path) -> None:
    """Delete the index of a store; `StoreUnwritable` if the disk refuses."""
    with files.writing(folder / INDEX):
        for ending in ("", *JOURNAL_ENDINGS):
            (folder / f"{INDEX}{ending}").unlink(missing_ok=True)


class _File(NamedTuple):
    """The file of an index, as it was found or made.

    Attributes:
        mode: "rw", or "ro" if it cannot be written.
        node: its device and inode.
    """

    path: Path
    mode: str
    node: tuple[int, int] | None

    def is_in_place(self) -> bool:
        """Whether the path still names this file."""
        return self.node == _node(self.path)


def _node(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = path.lstat()
        return found.st_dev, found.st_ino
    return None


def _file(folder: Path) -> _File:
    """The file of the index; created if it does not exist."""
    path = (folder / INDEX).absolute()
    try:
        if not os.path.lexists(path):
            with _changing(folder):
                if not os.path.lexists(path):
                    remove(folder)  # SQLite would replay an old journal into the new file
                    os.close(os.open(path, FLAGS | os.O_CREAT, 0o600))
        os.close(os.open(path, FLAGS))
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return _File(path, "ro", _node(path))
    return _File(path, "rw", _node(path))


def _changing(folder: Path) -> AbstractContextManager[None]:
    """Keeps other processes from removing or creating the file."""
    return holding(folder, "index", "another process is making the search index", BUSY_SECONDS)


def _shows_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code not in SOUND and "fts5" not in str(error)


@contextmanager
def _opened(file: _File) -> Generator[Index]:
    uri = f"{file.path.as_uri()}?mode={file.mode}"
    with closing(sqlite3.connect(uri, BUSY_SECONDS, isolation_level=None, uri=True)) as database:
        index = Index(database, file.path.parent)
        index.prepare()
        yield index
