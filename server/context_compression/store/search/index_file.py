"""The file of the search index, `search.sqlite`: opened, rebuilt if damaged, removed.

The index is made from the plain files and may be deleted at any time. The next search creates it
again, or updates it.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from context_compression.errors import StoreUnwritable
from context_compression.store import files
from context_compression.store.location import INDEX, JOURNAL_ENDINGS
from context_compression.store.search.index import Index
from context_compression.store.search.sources import Stamps
from context_compression.store.session_files import SessionFiles

BUSY_SECONDS = 10.0
"""How long SQLite waits for other processes."""
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
        work: called with the index, and once more with a new index if the first was damaged.

    Raises:
        StoreUnwritable: there can be no index: the folder is read-only, or there is no room, or
            SQLite has no FTS5.
    """
    try:
        try:
            return _using(folder, stamps, log_of, work)
        except DAMAGED as error:
            if getattr(error, "sqlite_errorcode", 1) & 0xFF in SOUND or "fts5" in str(error):
                raise
            remove(folder)
            return _using(folder, stamps, log_of, work)
    except (*DAMAGED, OSError) as error:
        raise StoreUnwritable(f"{folder / INDEX} cannot be used: {error}") from error


def forget(folder: Path, names: Sequence[str]) -> None:
    """Remove sessions from the index while their files still exist; the file gets smaller.

    If that fails, the index is removed.
    """
    if not (folder / INDEX).exists():
        return
    try:
        with _opened(folder) as index:
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
        with _opened(folder) as index:
            lengths = dict(index.rows(query))
    except (*DAMAGED, OSError):
        return {}
    return {name: round(size * length / sum(lengths.values())) for name, length in lengths.items()}


def remove(folder: Path) -> None:
    """Delete the index of a store; `StoreUnwritable` if the disk refuses."""
    with files.writing(folder / INDEX):
        for ending in ("", *JOURNAL_ENDINGS):
            (folder / f"{INDEX}{ending}").unlink(missing_ok=True)


def _using(
    folder: Path,
    stamps: Stamps,
    log_of: Callable[[str], SessionFiles],
    work: Callable[[Index], T],
) -> T:
    with _opened(folder) as index:
        index.catch_up(stamps, log_of)
        return work(index)


@contextmanager
def _opened(folder: Path) -> Generator[Index]:
    """The index; created if it does not exist, and read-only if it cannot be written."""
    path = (folder / INDEX).absolute()
    mode = "rw"
    if not os.path.lexists(path):
        remove(folder)  # SQLite would replay an old journal into the new file
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        mode = "ro"
    uri = f"{path.as_uri()}?mode={mode}"
    with closing(sqlite3.connect(uri, BUSY_SECONDS, isolation_level=None, uri=True)) as database:
        index = Index(database, folder)
        index.prepare()
        yield index
