"""The search index: one SQLite file, made from the plain files, that may be deleted at any time.

The search that comes next brings it up to date: of each log it is known how far it was read, and
what was appended since is read in batches, a transaction each. So several processes may search and
index at once, and whoever archives something never waits for an index.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from context_compression.conversation.messages import Message
from context_compression.errors import ContextCompressionError, StoreUnwritable
from context_compression.store import files, rows
from context_compression.store.documents import (
    BATCH_BYTES,
    NO_CALL,
    Call,
    Document,
    Reading,
    Said,
    answers_in,
    calls_of,
    documents,
    glimpse_of,
    speaker,
    spoken,
)
from context_compression.store.lines import Line
from context_compression.store.location import BESIDE_INDEX
from context_compression.store.location import INDEX as NAME
from context_compression.store.log import SessionLog
from context_compression.store.spans import (
    Place,
    Spelled,
    Written,
    checksum,
    lacks,
    message_from,
    parsed,
)

FEW_BYTES = 2**16
"""Of a log, in which was nothing for the index: rather read again than written down."""
CHUNK = 512
"""Messages of which a row tells."""
BUSY_SECONDS = 10.0
BESIDE = ("", *BESIDE_INDEX)
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

QUOTE = ord('"')
KNOWN = "SELECT 1 FROM documents WHERE log = ? AND ref = ?"
"""Whether something was taken in before."""
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


def forget(folder: Path, names: Sequence[str]) -> None:
    """Remove what the index knows of sessions, while they are there; the room is given back.

    Where that cannot be done the index is removed.
    """
    if not (folder / NAME).exists():
        return
    try:
        with _opened(folder) as index:
            index.forget([SessionLog(folder, name) for name in names])
    except (*DAMAGED, OSError):
        remove(folder)


def shares(folder: Path) -> dict[str, int]:
    """About how many bytes of the index each session takes, by how much of it was read."""
    size = (folder / NAME).stat().st_size
    query = (
        "SELECT name, coalesce(sum(length), 0) + 1 FROM logs"
        " LEFT JOIN documents ON documents.log = logs.id GROUP BY name"
    )
    try:
        with _opened(folder) as index:
            read = dict(index.rows(query))
    except (*DAMAGED, OSError):
        return {}
    return {name: round(size * length / sum(read.values())) for name, length in read.items()}


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
        index = Index(database, folder)
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

    def __init__(self, database: sqlite3.Connection, root: Path) -> None:
        self._do = database.execute
        self._root = root
        self._logs: dict[str, SessionLog] = {}

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
        self._do(f"PRAGMA page_size = {rows.PAGE_BYTES}")  # of a new file
        self._do("PRAGMA secure_delete = ON")
        self._do("PRAGMA trusted_schema = OFF")  # the folder may have come with a repository
        if not self._is_made():
            with self.transaction("IMMEDIATE"):
                for statement in () if self._is_made() else rows.TABLES:  # perhaps by another
                    self._do(statement)

    def catch_up(self, logs: Sequence[SessionLog]) -> None:
        """Read what is new in these logs, of which there is one at least.

        Where one is gone that is known, it is a `LookupError`: what the index has of it could only
        be removed while it was there.
        """
        self._logs = {log.id: log for log in logs}
        known = {name: stamp for name, *stamp in self.rows("SELECT name, size, time FROM logs")}
        for name in known.keys() - self._logs.keys():
            if _is_gone(self._root, name):  # else it is newer than the list of logs
                raise LookupError(f"session {name} is gone")
        for log in reversed(logs):
            with suppress(ContextCompressionError):  # what cannot be read keeps no other from us
                while [*(log.stamp or ())] != known.get(log.id):
                    known[log.id] = self._read_on(log)

    def forget(self, logs: Iterable[SessionLog]) -> None:
        """Remove all of these sessions, also from the bytes of the file."""
        with self.transaction("IMMEDIATE"):
            for log in logs:
                for (id,) in self.rows("SELECT id FROM logs WHERE name = ?", log.id):
                    self._clear(id, log)
                    self._do("DELETE FROM logs WHERE id = ?", (id,))
            self._do("DELETE FROM kinds WHERE id NOT IN (SELECT kind FROM documents)")
            self._do("INSERT INTO words (words) VALUES ('optimize')")
        with suppress(sqlite3.OperationalError):  # somebody reads, or there is no room
            self._do("VACUUM")

    def conversation(self, log: int) -> "Conversation":
        """What is known of the messages of a log."""
        [(name,)] = self.rows("SELECT name FROM logs WHERE id = ?", log)
        return Conversation(self, log, self._logs.get(name) or SessionLog(self._root, name))

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
                raise LookupError(f"the log of {log.id} is another")
            lines, ahead = log.onward(mark, BATCH_BYTES)
            added = self._add(id, log, lines, reading)
            if ahead != mark and ahead.offset < stamp[0]:
                stamp = []
            if added or not stamp or ahead.offset - mark.offset > FEW_BYTES:
                self._do(
                    "UPDATE logs SET size = ?, time = ?, offset = ?, ending = ?, reading = ?"
                    " WHERE id = ?",
                    (*(stamp or (None, None)), *rows.place_to_row(ahead, reading), id),
                )
        return stamp

    def _add(self, id: int, log: SessionLog, lines: Iterable[Line], reading: Reading) -> bool:
        """Take events in; whether there was anything for the index in them."""
        lexicon = rows.lexicon()
        written = lru_cache(1)(partial(Written, log))
        file = cache(partial(self._file, id, log))
        length, added = reading.length, False
        conversation = Conversation(self, id, log)
        fresh: list[rows.Recorded] = []
        for line in lines:
            for event, place in spoken(line, written):
                number = reading.number
                if said := reading.said(event):
                    back = number - reading.asked if said.answers else 0
                    whole = -1 if place.position is None else place.position
                    where = (file(place.file), place.start, place.length, whole)
                    fresh.append(rows.Recorded(said.ref, said.at, back, *where))
                    conversation.add(fresh[-1], said)
            for document in documents(line, written, conversation.said):
                if self.rows(KNOWN, id, bytes.fromhex(document.ref)):
                    continue
                place, words = document.place, rows.words_of(document, lexicon)
                data = log.part(place.file, place.start, place.length)
                sums = (checksum(document.ref, data), rows.sum_of(words))
                kind, number = self._kind(document)
                row = rows.document_to_row(document, kind, number, file(place.file), sums)
                new = self._do(rows.ADD_DOCUMENT, (id, *row))
                self._do(rows.ADD_WORDS, (new.lastrowid, *words))
                added = True
        for at in range(0, len(fresh), CHUNK):
            add = "INSERT INTO messages (log, refs, packed) VALUES (?, ?, ?)"
            self._do(add, (id, *rows.packed(fresh[at : at + CHUNK])))
        return added or reading.length != length

    def _kind(self, document: Document) -> tuple[int, int | None]:
        about, tool, number = rows.kind_to_row(document)
        self._do("INSERT OR IGNORE INTO kinds (about, tool) VALUES (?, ?)", (about, tool))
        [(kind,)] = self.rows("SELECT id FROM kinds WHERE about = ?", about)
        return kind, number

    def _file(self, id: int, log: SessionLog, name: str) -> int:
        query = "SELECT id, stamp FROM files WHERE log = ? AND name = ?"
        for found, stamp in self.rows(query, id, name):
            if stamp != stamp_of(log, name):
                raise LookupError(f"{name} was changed")
            return found
        add = "INSERT INTO files (log, name, stamp) VALUES (?, ?, ?)"
        return self._do(add, (id, name, stamp_of(log, name))).lastrowid or 0

    def _clear(self, id: int, log: SessionLog) -> None:
        lexicon = rows.lexicon()
        conversation = Conversation(self, id, log)
        for columns in self.rows(f"{rows.ROW} WHERE documents.log = ?", id):
            row = rows.Row(*columns)
            document = conversation.documents([row])[row.id]
            call = conversation.call(row) or document.call
            words = rows.words_of(replace(document, call=call), lexicon)
            if rows.sum_of(words) != row.words:
                raise ValueError(f"the words of {document.ref} are not known any more")
            self._do(rows.REMOVE_WORDS, (row.id, *words))
        for table in ("documents", "messages", "files"):
            self._do(f"DELETE FROM {table} WHERE log = ?", (id,))


def stamp_of(log: SessionLog, file: str) -> str:
    """By this it is known whether a file of originals was changed; of the log itself, nothing."""
    return str(log.stamp_of(file)) if file else ""


class Conversation:
    """The messages of one session, as the index knows them: where each stands in the files."""

    def __init__(self, index: Index, id: int, log: SessionLog) -> None:
        self.log = log
        self._index, self._id = index, id
        self._fresh: list[rows.Recorded] = []
        self._said: dict[str, Said] = {}

    def add(self, message: rows.Recorded, said: Said) -> None:
        """One more, not written down yet."""
        self._fresh.append(message)
        self._said.setdefault(said.ref, said)

    @cached_property
    def _written(self) -> list[rows.Recorded]:
        query = "SELECT refs, packed FROM messages WHERE log = ? ORDER BY id"
        chunks = self._index.rows(query, self._id)
        return [message for refs, data in chunks for message in rows.unpacked(refs, data)]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Of those written down, by ref: of several the first."""
        numbered = reversed([*enumerate(self._written)])
        return {message.ref: number for number, message in numbered}

    def said(self, ref: str) -> Said | None:
        """The recorded message that has this ref, the first of several."""
        number = self._numbers.get(ref)
        if number is None:
            return self._said.get(ref)
        message, read = self._written[number], self.message(number)
        answers = answers_in(read, self._asked(number))
        return Said(message.at, ref, speaker(read), glimpse_of(read), answers)

    def _asked(self, number: int) -> dict[str, Call]:
        """The calls that were made before a message with results."""
        back = self._written[number].back
        return calls_of(self.message(number - back)) if back else {}

    def message(self, number: int) -> Message:
        """A message that was written down."""
        message = self._written[number]
        place = rows.place_of(message, self._names)
        return parsed(self._read(place, message_from))

    @cached_property
    def _names(self) -> dict[int, str]:
        return dict(self._index.rows("SELECT id, name FROM files WHERE log = ?", self._id))

    def beside(self, ref: str) -> tuple[Said | None, Said | None]:
        """What was said right before a message, and right after it."""
        number, all_of_them = self._numbers.get(ref), self._written
        if number is None:
            return None, None
        at = all_of_them[number].at
        before = (i for i in range(number - 1, -1, -1) if all_of_them[i].at == at - 1)
        after = (i for i in range(number + 1, len(all_of_them)) if all_of_them[i].at == at + 1)
        return self._told(next(before, None)), self._told(next(after, None))

    def _told(self, number: int | None) -> Said | None:
        if number is None:
            return None
        message, read = self._written[number], self.message(number)
        return Said(message.at, message.ref, speaker(read), glimpse_of(read), {})

    def call(self, row: rows.Row) -> Call | None:
        """The call that a text is the result of; `None` for what is none."""
        if not row.message or row.block is None:
            return None
        number = self._numbers.get(row.message.hex())
        if number is None:
            return NO_CALL
        return answers_in(self.message(number), self._asked(number)).get(row.block, NO_CALL)

    def documents(
        self, found: Sequence[rows.Row], spelled: Spelled | None = None
    ) -> dict[int, Document]:
        """What stands in rows, all of one file, by id.

        Args:
            found: the rows.
            spelled: what certainly does not hold it may be left out.

        Raises:
            ValueError: it is not what it was.
        """
        file, stamp = found[0].file, found[0].stamp
        if self._stamp(file) != stamp:
            raise ValueError(f"{file} was changed")
        with _as_damage():
            parts = self.log.parts(file, [(row.start, row.length) for row in found])
        return {
            row.id: row.document(data)
            for row, data in zip(found, parts, strict=True)
            if not (spelled and lacks(data, spelled, in_parts=bool(row.parts)))
        }

    def may_hold(
        self, file: str, spelled: Spelled, documents: Iterable[tuple[int, int, int, int]]
    ) -> set[int]:
        """Of the documents in a file all but those that certainly do not hold a text.

        Args:
            file: of originals; empty for the log.
            spelled: the text.
            documents: of each its id, where it stands and how long it is, whether in parts.
        """
        with _as_damage():
            data = self.log.part(file)
        if spelled.may_be_in(data, in_parts=False):
            return {
                id
                for id, start, length, parts in documents
                if not lacks(data[start : start + length], spelled, in_parts=bool(parts))
            }
        if not spelled.in_one:  # it may be put together of several strings
            return {id for id, start, _, parts in documents if parts or data[start] != QUOTE}
        return {id for id, start, _, parts in documents if not parts and data[start] != QUOTE}

    @cached_property
    def _stamp(self) -> Callable[[str], str]:
        return cache(partial(stamp_of, self.log))

    def _read(self, place: Place, read: Callable[[bytes, Place], T]) -> T:
        with _as_damage():
            return read(self.log.part(place.file, place.start, place.length), place)


@contextmanager
def _as_damage() -> Generator[None]:
    """What is not in the files any more as the index knows it makes a new index necessary."""
    try:
        yield
    except ContextCompressionError as error:
        raise ValueError(str(error)) from error
