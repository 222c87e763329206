"""The search index of a store: its file, and its update from the logs.

The file of the search index, `search.sqlite`: opened, rebuilt if damaged, removed. The index is
made from the plain files and may be deleted at any time. The next search creates it again, or
updates it.

The index records how far it has read each log. Later events are read in batches, each in its own
transaction; a batch is a part of a large log, or many small logs. So several processes can search
and index at once, and archiving never waits for the index.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from context_compression.errors import ContextCompressionError, StoreUnwritable
from context_compression.store import files
from context_compression.store.location import INDEX, JOURNAL_ENDINGS
from context_compression.store.root_folder import holding
from context_compression.store.search import tables
from context_compression.store.search.candidates import CandidateDocument
from context_compression.store.search.documents import (
    BATCH_BYTES,
    IndexedDocument,
    documents,
    events_in,
)
from context_compression.store.search.excerpt import (
    ConversationReader,
    Event,
    Fits,
    RecordedMessage,
    Rows,
)
from context_compression.store.search.query import Query
from context_compression.store.session_files import SessionFiles

Stamps: TypeAlias = Mapping[str, tuple[int, int]]
"""The size in bytes of each session's log, and its modification time in ns; the newest first."""


class IndexedLog(Protocol):
    """A log that an index reads: that of a session of a store, or one that a host wrote."""

    @property
    def id(self) -> str:
        """The name under which the index knows it."""
        ...

    @property
    def title(self) -> str:
        """What people call it, once it was read; "" if that is not known."""
        ...

    def stamp(self) -> tuple[int, int] | None:
        """Its size in bytes and its time in ns, which change with it; `None` if it is gone."""
        ...

    def length(self) -> int:
        """The offset of its end."""
        ...

    def checksum(self, stop: int) -> int:
        """A checksum of what is before an offset."""
        ...

    def events_after(self, offset: int, at_least: int) -> tuple[Sequence[Event], int]:
        """The events in about `at_least` bytes after an offset, and the offset after them."""
        ...

    def read_originals(self, name: str) -> Sequence[Any]:
        """The messages that an event keeps under a name."""
        ...

    def stamp_of(self, name: str) -> object:
        """Changes with the messages under a name."""
        ...


ADD_MESSAGE = "INSERT INTO messages (log, ref, place, packed) VALUES (?, ?, ?, ?)"
SHORT_BATCH_BYTES = 2**18
"""Bytes of logs that are read at once if the time to read is limited."""
NOTHING_NEW = 0.0
"""The time to read until if nothing is to be read."""
LogOf: TypeAlias = Callable[[str], IndexedLog]
"""Returns the log of a session."""
BYTES_PER_SECOND = 8e6
"""A log for which there is less time is left for later. Some 2 to 10 MB/s are read."""
FEW_BYTES = 2**16
"""If fewer bytes of a log contain nothing to index, they are read again later, not noted as read.
"""


class Index:
    """The open index of one store.

    Attributes:
        unread: how many logs the last `catch_up` had no time to read.
        unreadable: the ids of those that it could not read.
    """

    def __init__(self, database: sqlite3.Connection, root: Path) -> None:
        """The index in a database, for the store at `root`."""
        self.do = database.execute
        self._log_of: LogOf = partial(SessionFiles, root)
        self.unread = 0
        self.unreadable: list[str] = []

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a query returns."""
        return self.do(query, values).fetchall()

    @contextmanager
    def transaction(self, kind: str = "") -> Generator[None]:
        """Makes all changes or none; other processes cannot change anything in between."""
        self.do(f"BEGIN {kind}")
        try:
            yield
            self.do("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self.do("ROLLBACK")
            raise

    def prepare(self) -> None:
        """Make the tables in a new file; tables of another version raise `DatabaseError`."""
        self.do(f"PRAGMA page_size = {tables.PAGE_BYTES}")  # of a new file
        self.do("PRAGMA secure_delete = ON")
        self.do("PRAGMA trusted_schema = OFF")  # the folder may have come with a repository
        if not self._is_made():
            with self.transaction("IMMEDIATE"):
                for statement in () if self._is_made() else tables.TABLES:  # perhaps made meanwhile
                    self.do(statement)

    def catch_up(self, stamps: Stamps, log_of: "LogOf", until: float | None = None) -> None:
        """Add the new events of all logs, and remove what is kept of those that are gone.

        Args:
            stamps: of all logs.
            log_of: returns the log of a session.
            until: the time, as `monotonic` tells it, after which nothing more is read. Then the
                newest are read first; otherwise the oldest are, so that their keys are the lowest.
                With `NOTHING_NEW`, the index stays as it is.
        """
        self._log_of = log_of
        rows = self.rows("SELECT name, size, time FROM logs")
        known = {name: (size, time) for name, size, time in rows}
        self.unread, self.unreadable = 0, []
        if known == stamps:
            return
        gone = [name for name in known.keys() - stamps.keys() if _is_gone(log_of, name)]
        if gone and until != NOTHING_NEW:  # others are newer than the list of logs
            self.forget(*gone)
        newest_first = reversed([*stamps]) if until is None else [*stamps]
        grown = [log_of(id) for id in newest_first if known.get(id) != stamps[id]]
        most = BATCH_BYTES if until is None else SHORT_BATCH_BYTES
        self.unread = len(grown)
        for batch in _batches(grown, stamps, most):
            if until is not None and monotonic() >= until:
                break
            size = sum(stamps[log.id][0] for log in batch)
            if until is not None and size > (until - monotonic()) * BYTES_PER_SECOND:
                continue  # a log is read as a whole
            if not self._read_together(batch, most):
                for log in batch:
                    try:  # it must not hide the others
                        self._read_all(log, [*known.get(log.id, ())], most, until)
                    except ContextCompressionError:
                        self.unreadable.append(log.id)
            self.unread -= len(batch)

    def let_others_read(self) -> None:
        """Let other processes search while one reads for a long time."""
        self.do("PRAGMA journal_mode = WAL")

    def forget(self, *sessions: str) -> None:
        """Remove all that is kept of some sessions, and its bytes from the file."""
        with self.transaction("IMMEDIATE"):
            for session in sessions:
                for (id,) in self.rows("SELECT id FROM logs WHERE name = ?", session):
                    self._clear(id)
            for table in ("words", "stems"):
                self.do(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        with suppress(sqlite3.OperationalError):  # another process reads, or there is no room
            self.do("VACUUM")

    def documents(self, where: str, *values: Any) -> dict[int, tuple[int, IndexedDocument]]:
        """The documents for which a condition holds, by key, each with the id of its log.

        Raises:
            ValueError: a file of originals was changed, or the index is damaged.
        """
        found: dict[int, tuple[int, IndexedDocument]] = {}
        stamp_of = cache(self._stamp)
        for key, log, file, stamp, *row in self.rows(
            f"{tables.SELECT_DOCUMENT} WHERE {where}", *values
        ):
            if stamp_of(log, file) != stamp:
                raise ValueError(f"{file} was changed")
            found[key] = log, tables.document_of(*row)
        return found

    def name_of(self, log: int) -> str:
        """The id of the session with an id in the table of logs."""
        [(name,)] = self.rows("SELECT name FROM logs WHERE id = ?", log)
        return name

    def _stamp(self, log: int, file: str) -> str:
        """The stamp of a file of originals, which changes with the file; "" for the log itself."""
        return str(self._log_of(self.name_of(log)).stamp_of(file)) if file else ""

    def _is_made(self) -> bool:
        [(version,)] = self.rows("PRAGMA user_version")
        if version != tables.VERSION and self.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
            raise sqlite3.DatabaseError("it is of another version")
        return version == tables.VERSION

    def _read_together(self, logs: Sequence[IndexedLog], most: int) -> bool:
        """Read small logs in one transaction; whether all of them were read to their ends."""
        if len(logs) < 2:
            return False
        try:
            with self.transaction("IMMEDIATE"):
                stamps = [self._read_on(log, most) for log in logs]
                return all(stamps)
        except ContextCompressionError:  # nothing was changed
            return False

    def _read_all(self, log: IndexedLog, stamp: list[int], most: int, until: float | None) -> None:
        """Read a log to its end, in batches, or until a time.

        Args:
            log: of a session.
            stamp: of the log when it was last read completely.
            most: bytes of a batch.
            until: see `catch_up`.
        """
        while [*(log.stamp() or ())] != stamp:
            if until is not None and monotonic() >= until:
                self.unread += 1
                return
            with self.transaction("IMMEDIATE"):
                stamp = self._read_on(log, most)

    def _read_on(self, log: IndexedLog, most: int) -> list[int]:
        """Add one batch; returns the log's stamp if it is read completely, else `[]`.

        What is kept of a log that was replaced is removed before.
        """
        stamp = [*(log.stamp() or ())]
        id, offset, checksum, reading = self._progress(log)
        if log.checksum(offset) != checksum:
            self._clear(id)
            id, offset, checksum, reading = self._progress(log)
        reader = tables.reader_of(reading)
        events, end = log.events_after(offset, most)
        added = self._add(id, log, events, reader)
        if offset < end < log.length():
            stamp = []
        if added or not stamp or not offset or end - offset > FEW_BYTES:
            progress = (log.checksum(end), tables.reading_of(reader))
            self.do(
                "UPDATE logs SET size = ?, time = ?, offset = ?, checksum = ?, reading = ?,"
                " title = ? WHERE id = ?",
                (*(stamp or (None, None)), end, *progress, log.title, id),
            )
        return stamp

    def _progress(self, log: IndexedLog) -> tuple[int, int, int, str]:
        """The id of a log, and how far it was read: offset, checksum, reading."""
        self.do("INSERT OR IGNORE INTO logs (name) VALUES (?)", (log.id,))
        [row] = self.rows("SELECT id, offset, checksum, reading FROM logs WHERE name = ?", log.id)
        return row

    def _add(
        self, id: int, log: IndexedLog, events: Iterable[Event], reader: ConversationReader
    ) -> bool:
        """Add the messages and documents of some events; returns whether there were any."""
        originals = lru_cache(1)(log.read_originals)
        lexicon = tables.lexicon()
        length, added = reader.length, False
        known = {ref.hex() for (ref,) in self.rows("SELECT ref FROM documents WHERE log = ?", id)}
        for event in events:
            for each in events_in(event, originals):
                if message := reader.read(each):
                    row = (id, bytes.fromhex(message.ref), message.at)
                    self.do(ADD_MESSAGE, (*row, tables.packed_message(message)))
            for document in documents(event, originals, partial(self._recorded, id)):
                if document.ref not in known:
                    known.add(document.ref)
                    file = self._file(id, event.get("originals", ""))
                    tables.add(self.do, id, file, document, lexicon)
                    added = True
        return added or reader.length != length

    def _recorded(self, id: int, ref: str) -> RecordedMessage | None:
        """The message of a session that was first recorded with a ref."""
        query = "SELECT place, packed FROM messages WHERE log = ? AND ref = ? ORDER BY id LIMIT 1"
        digits = bytes.fromhex(ref)
        for row in self.rows(query, id, digits):
            return tables.message_of(digits, *row)
        return None

    def _file(self, id: int, name: str) -> int:
        """The id of a file of originals; `LookupError` if the file was changed."""
        query = "SELECT id, stamp FROM files WHERE log = ? AND name = ?"
        now = self._stamp(id, name)
        for file, stamp in self.rows(query, id, name):
            if stamp != now:
                raise LookupError(f"{name} was changed")
            return file
        add = "INSERT INTO files (log, name, stamp) VALUES (?, ?, ?)"
        return self.do(add, (id, name, now)).lastrowid or 0

    def _clear(self, id: int) -> None:
        """Remove all that is kept of a session."""
        lexicon = tables.lexicon()
        sums = dict(self.rows("SELECT id, words FROM documents WHERE log = ?", id))
        for key, added in sums.items():
            [row] = self.rows(f"{tables.SELECT_DOCUMENT} WHERE documents.id = ?", key)
            document = tables.document_of(*row[4:])
            tables.remove_words(self.do, key, document, added, lexicon)
            self.do("DELETE FROM texts WHERE id = ?", (key,))
        for table in ("documents", "messages", "files"):
            self.do(f"DELETE FROM {table} WHERE log = ?", (id,))
        self.do("DELETE FROM logs WHERE id = ?", (id,))


def _batches(logs: Iterable[IndexedLog], stamps: Stamps, most: int) -> Iterator[list[IndexedLog]]:
    """The logs in groups that have at most `most` bytes together; a larger log is alone."""
    batch: list[IndexedLog] = []
    left = most
    for log in logs:
        size, _ = stamps[log.id]
        if batch and size > left:
            yield batch
            batch, left = [], most
        batch.append(log)
        left -= size
    if batch:
        yield batch


def _is_gone(log_of: "LogOf", name: str) -> bool:
    """Whether there is no log of this name, or the name is invalid."""
    try:
        return not log_of(name).stamp()
    except ContextCompressionError:
        return True


@contextmanager
def in_memory(candidates: Iterable[CandidateDocument]) -> Generator[Rows]:
    """An index in memory of candidates with different keys; it runs queries."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for statement in tables.TABLES:
            database.execute(statement)
        words, sessions = tables.lexicon(), dict[str, int]()
        database.execute("BEGIN")  # FTS5 writes what it gathered once, not for each text
        for each in candidates:
            log = sessions.setdefault(each.session, len(sessions))
            tables.add_words(database.execute, log, each.document, words, key=each.key)

        def rows(statement: str, *values: Any) -> list[tuple[Any, ...]]:
            return database.execute(statement, values).fetchall()

        yield rows


def fitting(
    candidates: Sequence[CandidateDocument], query: Query, scores: Fits
) -> list[CandidateDocument]:
    """Those of some candidates that fit a query, the best first.

    If no candidate holds its words, those that hold some as parts of others, the newest first.

    Args:
        candidates: of an index in memory.
        query: of words and limits.
        scores: of that index.
    """
    fits = scores.of(query)
    by_key = {each.key: each for each in candidates}
    if not fits:
        texts = {each.key: each.document.text for each in candidates}
        parts = scores.with_parts(query, lambda ids: ((id, texts[id]) for id in ids))
        return [by_key[key] for key in parts]
    ordered = sorted(fits, key=fits.__getitem__, reverse=True)
    return [replace(by_key[k], weight=fits[k][1], score=fits[k][2]) for k in ordered]


BUSY_SECONDS = 10.0
"""How long SQLite waits for other processes."""
SHORTLY_BUSY = 1.0
"""The same if the time to read is limited."""
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
    stamps: Stamps | None,
    log_of: LogOf,
    work: Callable[[Index], T],
    until: float | None = None,
) -> T:
    """Update the index of a store, and return the result of `work`.

    Args:
        folder: of the store.
        stamps: of all logs of the store; `None` if the index has all of them.
        log_of: returns the log of a session.
        work: called with the index, and again with a new index if the first was damaged or removed.
        until: see `Index.catch_up`.

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
                with _opened(file, BUSY_SECONDS if until is None else SHORTLY_BUSY) as index:
                    if until is not None:
                        index.let_others_read()
                    if stamps is not None:
                        index.catch_up(stamps, log_of, until)
                    return work(index)
            except DAMAGED as error:
                if not left or (file.is_in_place() and not _shows_damage(error)):
                    raise
                with _changing(folder):
                    if file.is_in_place():  # otherwise another process has removed it meanwhile
                        remove(folder)
    except (*DAMAGED, OSError) as error:
        raise StoreUnwritable(f"{folder / INDEX} cannot be used: {error}") from error


def forget(folder: Path, session: str) -> None:
    """Remove a session from the index; its file gets smaller.

    If that fails, the index is removed.
    """
    if not (folder / INDEX).exists():
        return
    try:
        with _opened(_file(folder)) as index:
            index.forget(session)
    except (*DAMAGED, OSError):
        remove(folder)


def shares(folder: Path) -> dict[str, int]:
    """The approximate bytes of the index for each session, by the length of its indexed texts."""
    size = (folder / INDEX).stat().st_size
    query = (
        "SELECT name, coalesce(sum(length(packed)), 0) + 1 FROM logs LEFT JOIN documents"
        " ON documents.log = logs.id LEFT JOIN texts ON texts.id = documents.id GROUP BY name"
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
def _opened(file: _File, patience: float = BUSY_SECONDS) -> Generator[Index]:
    uri = f"{file.path.as_uri()}?mode={file.mode}"
    with closing(sqlite3.connect(uri, patience, isolation_level=None, uri=True)) as database:
        index = Index(database, file.path.parent)
        index.prepare()
        yield index
