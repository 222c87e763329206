"""Reader for opencode's database. The host may write to the database meanwhile; we never do.

Later readings of a session load only the messages and parts that changed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from context_compression.conversation.messages import as_object
from context_compression.errors import ConversationNotFound, TranscriptError
from context_compression.hosts.opencode.context import (
    TITLE,
    Object,
    StoredMessage,
    compactions_among,
    not_reverted,
    object_in,
    strange_parts,
    text_of,
)
from context_compression.hosts.opencode.second import (
    MESSAGES,
    SESSIONS,
    SessionRows,
    Summaries,
    as_stored,
    is_known,
    lineage_of,
    written_in,
)
from context_compression.hosts.opencode.transcript import before_each, transcript_of
from context_compression.opening import is_open_twice
from context_compression.store.files import to_json
from context_compression.transcripts.lines import LONGEST, string, too_large
from context_compression.transcripts.opening import opened_once
from context_compression.transcripts.reading import MAX_BYTES
from context_compression.transcripts.sessions import (
    LISTED,
    CandidateConversation,
    newest_first,
    seconds,
)
from context_compression.transcripts.transcript import Generations, Transcript, major

if TYPE_CHECKING:
    import sqlite3  # loaded when it is used: few sessions need it


T = TypeVar("T")


def looking(database: Path, look: Callable[["sqlite3.Connection"], T]) -> T:
    """The result of `look`, which gets a read-only connection to the database.

    Nothing is written, even if the host writes meanwhile.

    Raises:
        TranscriptError: the database cannot be read.
    """
    import sqlite3

    # SQLite creates files next to a database in WAL mode that no process has open, even if it is
    # opened read-only. Such a database does not change, so `immutable` avoids these files.
    unused = not database.with_name(f"{database.name}-wal").exists()
    problem: sqlite3.Error | OSError | None = None
    for options in ["mode=ro&immutable=1"] * unused + ["mode=ro"]:
        try:
            address = f"{database.resolve().as_uri()}?{options}"
            with (
                opened_once(database) as (checked, _),
                closing(sqlite3.connect(address, uri=True)) as db,
            ):
                db.row_factory = sqlite3.Row
                db.text_factory = text_of  # which replaces what is not UTF-8
                db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
                db.execute("BEGIN")  # all reads see the same state
                _refuse_views(database, db)
                if not is_open_twice(checked.fileno()):
                    raise TranscriptError(f"{database} was replaced meanwhile. Try again.")
                return look(db)
        except (sqlite3.Error, OSError) as error:
            problem = error  # `immutable` also fails if the host has just opened it
    raise TranscriptError(
        f"{database} cannot be read as a database of opencode: {problem}. Pass another file."
    )


def _refuse_views(database: Path, db: "sqlite3.Connection") -> None:
    """Refuse a database with SQL views, which may produce endless rows; the host's has none."""
    views = db.execute("SELECT name FROM sqlite_master WHERE type = 'view' LIMIT 1").fetchone()
    if views is not None:
        raise TranscriptError(
            f"{database} is no database of opencode: {views['name']!r} in it is a view, and those "
            "are not read. Pass another file."
        )


SQLITE = b"SQLite format 3\0"
ALL = -1
"""No limit of an SQL query."""
FIRST = "session"  # opencode 1's table of sessions
PAGE = 50  # messages loaded together, the newest first

GENERATIONS = Generations(
    TITLE, "version", frozenset({"0", "1", "2"}), lambda row: major(row.get("version"))
)


class Held(NamedTuple):
    """A session in the database.

    Attributes:
        info: its record.
        newest_first: its messages without reverted ones.
        lineage: the rows that make it, if opencode 2 keeps it.
    """

    info: dict[str, Any]
    newest_first: Iterator[StoredMessage]
    lineage: SessionRows | None


class KnownRow(NamedTuple):
    """A row that was read: its id and time, its data, and their characters."""

    id: str
    updated: Any
    data: Object
    size: int


Rows: TypeAlias = dict[tuple[str, int], KnownRow]
"""By table and number of the row: an id may be NULL, or that of several rows."""


def database_of(path: Path) -> tuple[Path, str | None] | None:
    """The database in a path, and the session that the path names; `None` for other files.

    The session is `None` if the path is that of the database.
    """
    for file, session in ((path, None), (path.parent, path.name)):
        try:
            if file.is_file():
                with opened_once(file) as (opened, _):
                    return (file, session) if opened.read(16) == SQLITE else None
        except (OSError, TranscriptError):
            return None
    return None


@dataclass
class SessionReading:
    """One session in a database; unchanged messages and parts are not read again.

    Attributes:
        database: the database.
        session: the id of the session; `None` for the only one.
        max_bytes: the most bytes of messages and parts that are read.
    """

    database: Path
    session: str | None
    max_bytes: int = MAX_BYTES
    _known: Rows = field(default_factory=dict[tuple[str, int], KnownRow], repr=False)
    _summaries: Summaries = field(default_factory=Summaries, repr=False)

    def look(self) -> Transcript:
        """The live conversation; the host may write to the database meanwhile.

        Raises:
            ConversationNotFound: there is no such session, or the path names none of several.
            TranscriptError: the database cannot be read.
        """
        return looking(self.database, self._look)

    def before_compactions(self) -> dict[int | None, Transcript]:
        """The conversation before each compaction, by the compaction's place; all is read.

        Raises:
            ConversationNotFound: as `look`.
            TranscriptError: as `look`.
        """
        return looking(self.database, self._before_each)

    def _before_each(self, db: "sqlite3.Connection") -> dict[int | None, Transcript]:
        info, newest_first, _ = self._session(db, {})
        return before_each(self.database / info["id"], info, [*newest_first][::-1])

    def _look(self, db: "sqlite3.Connection") -> Transcript:
        used: Rows = {}
        info, newest_first, lineage = self._session(db, used)
        if lineage is not None:
            around = lineage.around(db)
        else:
            summaries = self._summaries.around(db, info["id"])
            around = [*not_reverted(summaries, as_object(info["revert"]))]
        path = self.database / info["id"]
        taken: list[StoredMessage] = []
        messages = _noted(newest_first, taken)
        transcript = transcript_of(path, info, messages, compactions_among(around[::-1]))
        newer = GENERATIONS.warnings([info]) or newer_tables(db)
        missing = [*newer, *(lineage.missing if lineage else ()), *strange_parts(taken)]
        warnings = [*missing, *(lineage.warnings if lineage else ()), *transcript.warnings]
        self._known = used
        missing += transcript.missing
        return replace(transcript, warnings=warnings, missing=missing)

    def _session(self, db: "sqlite3.Connection", used: Rows) -> Held:
        id = self.session or _only_session(self.database, db)
        for table, live in _tables(db):
            query = f"SELECT * FROM {table} WHERE id = ? AND {live}"
            if (session := db.execute(query, (id,)).fetchone()) is None:
                continue
            info = {**dict(session), "id": id}
            if table == SESSIONS:
                _refuse_unknown(self.database / id, db)
                lineage = lineage_of(db, info)
                return Held(info, self._second(db, lineage, used), lineage)
            info["revert"] = object_in(info.get("revert"))
            messages = self._first(db, id, used)
            return Held(info, not_reverted(messages, as_object(info["revert"])), None)
        raise _which(f"There is no session {id!r} in {self.database}.", self.database, db)

    def exported(self) -> list[bytes]:
        """All that the database has of the session, as opencode exports it: a message in a line.

        Raises:
            ConversationNotFound: as `look`.
            TranscriptError: as `look`.
        """
        return looking(self.database, self._exported)

    def _exported(self, db: "sqlite3.Connection") -> list[bytes]:
        info, _, lineage = self._session(db, {})
        id, held = info["id"], list[Any]()
        if lineage is not None:
            rows = self._second_rows(db, lineage, {})
            held = [{**known.data, "type": kind} for known, kind in rows]
        else:
            for message in self._first(db, id, {}):
                of = {"sessionID": id}
                parts = [{**part, **of, "messageID": message.id} for part in message.parts]
                held.append({"info": {**message.about, **of}, "parts": parts})
        times = {name: info.get(f"time_{name}") for name in ("created", "updated")}
        named = {re.sub("_id$", "ID", name): info[name] for name in info if info[name] is not None}
        about = to_json({**named, "revert": object_in(info.get("revert")) or None, "time": times})
        lines = [b'{"info":' + about + b',"messages":[\n']
        lines += [to_json(each) + b",\n" for each in reversed(held)]
        return [*lines[:-1], lines[-1].removesuffix(b",\n") + b"\n" * bool(held), b"]}\n"]

    def _second(
        self, db: "sqlite3.Connection", lineage: SessionRows, used: Rows
    ) -> Iterator[StoredMessage]:
        """The messages of a session of opencode 2, the newest first."""
        for known, kind in self._second_rows(db, lineage, used):
            if stored := as_stored(known.id, kind, known.data):
                yield stored

    def _second_rows(
        self, db: "sqlite3.Connection", lineage: SessionRows, used: Rows
    ) -> Iterator[tuple[KnownRow, str]]:
        """Their rows with their types."""
        for span in lineage.spans:
            columns = "rowid AS place, id, type, time_updated"
            about = span.select(db, f"{columns}| ORDER BY seq DESC, rowid DESC")
            while page := about.fetchmany(PAGE):
                learnt = self._learn(db, MESSAGES, page, used)
                self._refuse_large(span.session, used)
                for row, known in zip(page, learnt, strict=True):
                    yield known, text_of(row["type"])

    def _first(self, db: "sqlite3.Connection", session: str, used: Rows) -> Iterator[StoredMessage]:
        """The messages of a session of opencode 1, the newest first."""
        about = db.execute(
            "SELECT rowid AS place, id, time_updated FROM message WHERE session_id = ? "
            "ORDER BY time_created DESC, id DESC",
            (session,),
        )
        while page := about.fetchmany(PAGE):
            ids = [row["id"] for row in page]
            marks = ", ".join("?" * len(ids))
            parts = db.execute(
                "SELECT rowid AS place, id, message_id, time_updated FROM part "
                f"WHERE message_id IN ({marks}) ORDER BY id",
                ids,
            ).fetchall()
            learnt = self._learn(db, "message", page, used)
            own: dict[Any, list[Object]] = {}
            for part, known in zip(parts, self._learn(db, "part", parts, used), strict=True):
                own.setdefault(part["message_id"], []).append(known.data)
            self._refuse_large(session, used)
            for row, known in zip(page, learnt, strict=True):
                yield StoredMessage(known.id, known.data, own.get(row["id"], []))

    def _refuse_large(self, session: str, used: Rows) -> None:
        if sum(known.size for known in used.values()) > self.max_bytes:
            raise too_large(self.database / session, "more than is allowed", self.max_bytes)

    def _learn(
        self, db: "sqlite3.Connection", table: str, rows: Sequence["sqlite3.Row"], used: Rows
    ) -> list[KnownRow]:
        """The data of rows; those that changed since the last reading are loaded."""
        learnt: list[KnownRow] = []
        for row in rows:
            place, id, updated = (table, row["place"]), text_of(row["id"]), row["time_updated"]
            known = self._known.get(place)
            if known is None or (known.id, known.updated) != (id, updated):
                load = f"SELECT data FROM {table} WHERE rowid = ?"
                written = text_of(db.execute(load, (row["place"],)).fetchone()["data"])
                known = KnownRow(id, updated, {**object_in(written), "id": id}, len(written))
            used[place] = known
            learnt.append(known)
        return learnt


def _refuse_unknown(session: Path, db: "sqlite3.Connection") -> None:
    """Refuse a session whose messages are in a table of a shape that is not known."""
    if not is_known(db):
        raise TranscriptError(
            f"{session} goes on in the tables of opencode 2 ({SESSIONS}, {MESSAGES}), which have a "
            "shape that is not known here; what version 1 kept of it is outdated. Pass an export "
            "of it as messages."
        )


def _tables(db: "sqlite3.Connection") -> list[tuple[str, str]]:
    """The tables of sessions, the newer first, and the condition for rows that are not outdated."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)"
    names = {row["name"] for row in db.execute(query, (SESSIONS, FIRST))}
    if SESSIONS not in names:
        return [(FIRST, "1")]
    taken_over = f"id NOT IN (SELECT id FROM {SESSIONS} WHERE id IS NOT NULL)"
    return [(SESSIONS, "1"), *([(FIRST, taken_over)] if FIRST in names else [])]


def newer_tables(db: "sqlite3.Connection") -> list[str]:
    """The warning, if there is a table of sessions as a newer generation has it."""
    tables = db.execute("SELECT name FROM sqlite_master WHERE name GLOB 'session_v[0-9]*'")
    versions = (row["name"].removeprefix("session_v") for row in tables)
    newer = sorted(v for v in versions if v.isdecimal() and v not in GENERATIONS.known)
    return [GENERATIONS.unknown(version) for version in newer][-1:]


def exported(session: CandidateConversation) -> list[bytes]:
    """A session as a document that opencode imports, in lines."""
    return SessionReading(session.path.parent, session.path.name).exported()


def title_of(database: Path, session: str | None) -> str:
    """The title of a session; empty if there is none.

    Raises:
        TranscriptError: the database cannot be read.
    """
    found = looking(database, lambda db: _rows(db, "title", "id = ?", (session,), 1))
    return string(found[0], "title") if found else ""


def _rows(
    db: "sqlite3.Connection", columns: str, where: str, values: Sequence[str | None], most: int
) -> list[dict[str, Any]]:
    """The newest sessions of each table that meet an SQL condition; `written` is their time."""
    return [
        dict(row)
        for table, live in _tables(db)
        for row in db.execute(
            f"SELECT {columns}, {written_in(db, table)} AS written FROM {table} "  # our words
            f"WHERE ({where}) AND {live} ORDER BY written DESC LIMIT {most}",
            values,
        )
    ]


def _only_session(database: Path, db: "sqlite3.Connection") -> str:
    ids = _rows(db, "id", "parent_id IS NULL", (), 2)
    if len(ids) == 1 and is_file_name(ids[0]["id"]):
        return ids[0]["id"]
    raise _which(f"{database} holds many sessions, or none that can be named.", database, db)


def _which(why: str, database: Path, db: "sqlite3.Connection") -> ConversationNotFound:
    newest = sessions_where(database, db, "1", ())
    return ConversationNotFound(f"{why} Pass the path of one of them.", list(map(str, newest)))


def sessions_where(
    database: Path,
    db: "sqlite3.Connection",
    where: str,
    values: Sequence[str],
    *,
    most: int = LISTED,
) -> list[CandidateConversation]:
    """The newest sessions that meet an SQL condition; `most` of them at most, or `ALL`.

    SQLite keeps values of any type in any column. A session whose id could not be the last part of
    a path, or that has no time, is left out.
    """
    candidates = [
        CandidateConversation(
            database / row["id"],
            written_at,
            string(row, "title"),
            id=row["id"],
            project=string(row, "directory"),
        )
        for row in _rows(db, "id, title, directory", where, values, most)
        if is_file_name(row["id"]) and (written_at := seconds(row["written"])) is not None
    ]
    return newest_first(candidates)[: None if most == ALL else most]


def is_file_name(id: object) -> bool:
    """Whether an id names an entry of a folder, and nothing outside of it."""
    return isinstance(id, str) and id not in ("", "..") and Path(id).name == id and "\0" not in id


def _noted(
    messages: Iterable[StoredMessage], taken: list[StoredMessage]
) -> Iterator[StoredMessage]:
    """The same messages, each added to `taken` when it is asked for."""
    for message in messages:
        taken.append(message)
        yield message
