"""The search index: one SQLite file, made from the plain files, that may be deleted at any time.

The search that comes next brings it up to date: of each log it is known how far it was read, and
what was appended since is read in batches, a transaction each. So several processes may search and
index at once, and whoever archives something never waits for an index.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from context_compression.errors import ContextCompressionError, StoreUnwritable
from context_compression.store import files, rows
from context_compression.store.documents import BATCH_BYTES, Reading, Said, documents
from context_compression.store.folder import INDEX as NAME
from context_compression.store.lines import Mark
from context_compression.store.log import SessionLog

FEW_BYTES = 2**16
"""Of a log, in which was nothing for the index: rather read again than written down."""
BUSY_SECONDS = 10.0
BESIDE = ("", "-journal", "-wal", "-shm")
"""Endings of the index and of what SQLite may leave next to it."""
SOUND = frozenset(
    {
        sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_AUTH,
    }
)  # fmt: skip
"""SQLite may not, cannot now, has no room. With any other error the file is taken to be damaged."""
DAMAGED = (sqlite3.Error, ValueError, LookupError, TypeError, AttributeError)
"""What a damaged file leads to: SQLite's errors; neither JSON nor UTF-8; rows that point nowhere;
values of another type."""

T = TypeVar("T")


def using(folder: Path, logs: Sequence[SessionLog], work: Callable[["Index"], T]) -> T:
    """What `work` makes of the index of the store at `folder`, brought up to date.

    Args:
        folder: of the store.
        logs: all there are, the newest first.
        work: is called with the index; a second time with a new one where the first was damaged.

    Raises:
        StoreUnwritable: there can be none: read only, no room, no FTS5.
    """
    try:
        try:
            return _using(folder, logs, work)
        except DAMAGED as error:
            if getattr(error, "sqlite_errorcode", 1) & 0xFF in SOUND or "fts5" in str(error):
                raise
            remove(folder)
            return _using(folder, logs, work)
    except (*DAMAGED, OSError) as error:
        raise StoreUnwritable(f"{folder / NAME} cannot be used: {error}") from error


def forget(folder: Path, name: str) -> None:
    """Remove what the index knows of a session, or the index where that cannot be done."""
    if not (folder / NAME).exists():
        return
    try:
        with _opened(folder) as index:
            index.forget(name)
    except (*DAMAGED, OSError):
        remove(folder)


def remove(folder: Path) -> None:
    """Delete the index."""
    with files.writing(folder / NAME):
        for ending in BESIDE:
            (folder / f"{NAME}{ending}").unlink(missing_ok=True)


def _using(folder: Path, logs: Sequence[SessionLog], work: Callable[["Index"], T]) -> T:
    with _opened(folder) as index:
        index.catch_up(logs)
        return work(index)


@contextmanager
def _opened(folder: Path) -> Generator["Index"]:
    """The index, made where there is none; read only where it may not be written."""
    path = (folder / NAME).absolute()
    mode = "rw"
    if not os.path.lexists(path):
        remove(folder)  # a journal left behind would be played into the new file
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        mode = "ro"
    uri = f"{path.as_uri()}?mode={mode}"
    with closing(sqlite3.connect(uri, BUSY_SECONDS, isolation_level=None, uri=True)) as database:
        index = Index(database)
        index.prepare()
        yield index


def _is_gone(root: Path, name: str) -> bool:
    """Whether a store has no such session, or could have none."""
    try:
        return not SessionLog(root, name).exists
    except ContextCompressionError:
        return True


class Index:
    """The open index of one store."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._do = database.execute
        database.create_function("holds", 2, rows.holds, deterministic=True)

    def rows(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        """What the database answers."""
        return self._do(query, given).fetchall()

    @contextmanager
    def transaction(self, kind: str = "") -> Generator[None]:
        """All of it or nothing, and nobody changes anything meanwhile."""
        self._do(f"BEGIN {kind}")
        try:
            yield
            self._do("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._do("ROLLBACK")
            raise

    def prepare(self) -> None:
        """Make the tables of a new file; those of another version are an error."""
        self._do("PRAGMA secure_delete = ON")
        self._do("PRAGMA trusted_schema = OFF")  # the folder may have come with a repository
        if not self._is_made():
            with self.transaction("IMMEDIATE"):
                for statement in () if self._is_made() else rows.TABLES:  # perhaps by another
                    self._do(statement)

    def catch_up(self, logs: Sequence[SessionLog]) -> None:
        """Read what is new in these logs, of which there is one at least; forget those gone."""
        known = {name: stamp for name, *stamp in self.rows("SELECT name, size, time FROM logs")}
        for name in known.keys() - {log.id for log in logs}:
            if _is_gone(logs[0].root, name):  # else it is newer than the list of logs
                self.forget(name)
        for log in reversed(logs):
            with suppress(ContextCompressionError):  # what cannot be read keeps no other from us
                while [*(log.stamp or ())] != known.get(log.id):
                    known[log.id] = self._read_on(log)

    def forget(self, name: str) -> None:
        """Remove all of a session, also from the bytes of the file."""
        with self.transaction("IMMEDIATE"):
            for (log,) in self.rows("SELECT id FROM logs WHERE name = ?", name):
                self._clear(log)
                self._do("DELETE FROM logs WHERE id = ?", (log,))
        self._do("INSERT INTO words (words) VALUES ('optimize')")

    def said(self, log: int, ref: str) -> Said | None:
        """The recorded message that has this ref, the first of several."""
        query = f"SELECT {rows.SAID} FROM messages WHERE log = ? AND ref = ? ORDER BY id LIMIT 1"
        return next((rows.said_from(*row) for row in self.rows(query, log, ref)), None)

    def _is_made(self) -> bool:
        [(version,)] = self.rows("PRAGMA user_version")
        if version != rows.VERSION and self.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
            raise sqlite3.DatabaseError("it is of another version")
        return version == rows.VERSION

    def _read_on(self, log: SessionLog) -> list[int]:
        """Read one batch; returns the log's stamp if that was all."""
        stamp = [*(log.stamp or ())]
        with self.transaction("IMMEDIATE"):
            self._do("INSERT OR IGNORE INTO logs (name) VALUES (?)", (log.id,))
            query = "SELECT id, offset, ending, reading FROM logs WHERE name = ?"
            [(id, *place)] = self.rows(query, log.id)
            mark, reading = rows.place_from(*place)
            if not log.has(mark):
                self._clear(id)
                mark, reading = Mark(), Reading()
            events, ahead = log.onward(mark, BATCH_BYTES)
            added = self._add(id, log, events, reading)
            if ahead != mark and ahead.offset < stamp[0]:
                stamp = []
            if added or not stamp or ahead.offset - mark.offset > FEW_BYTES:
                self._do(
                    "UPDATE logs SET size = ?, time = ?, offset = ?, ending = ?, reading = ?"
                    " WHERE id = ?",
                    (*(stamp or (None, None)), *rows.place_to_row(ahead, reading), id),
                )
        return stamp

    def _add(
        self, id: int, log: SessionLog, events: Iterable[Mapping[str, Any]], reading: Reading
    ) -> bool:
        """Take events in; whether there was anything for the index in them."""
        lexicon = rows.lexicon()
        length, added = reading.length, False
        for event in events:
            if said := reading.said(event):
                self._do(rows.ADD_MESSAGE, (id, *rows.said_to_row(said)))
            for document in documents(log, event, lambda ref: self.said(id, ref)):
                stamp = rows.stamp_of(log, document.file)
                new = self._do(rows.ADD_DOCUMENT, (id, *rows.document_to_row(document, stamp)))
                if new.rowcount:
                    added = True
                    self._do(rows.ADD_WORDS, (new.lastrowid, *rows.words_of(document, lexicon)))
        return added or reading.length != length

    def _clear(self, log: int) -> None:
        lexicon = rows.lexicon()
        for row in self.rows(f"SELECT {rows.DOCUMENT} FROM documents WHERE log = ?", log):
            words = rows.words_of(rows.document_from(row), lexicon)
            self._do(rows.REMOVE_WORDS, (row[0], *words))
        for table in ("documents", "messages"):
            self._do(f"DELETE FROM {table} WHERE log = ?", (log,))
