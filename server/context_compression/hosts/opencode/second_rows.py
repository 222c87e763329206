"""The rows that make a session of opencode 2: its own, and those of a session it was forked from.

session_v2        id, parent_id (of a subagent), fork_session_id, fork_boundary {type, messageID},
                  directory, title, version, revert {messageID}, time_updated
session_message   id, session_id, type, seq, time_created, time_updated, data

The rows of a session are in the order of `seq`. A fork begins with copies of the rows before its
boundary (`before`), or up to it (`through`): `seq` and `data` stay, and the id becomes that of the
fork with `_seq` at its end. A fork that holds no copies goes on from the rows of the other session.
The tables of version 1 stay in the database as they were when a session was taken over.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from context_compression.conversation.messages import is_object
from context_compression.display.plurals import how_many
from context_compression.display.strings import one_line
from context_compression.hosts.opencode.cells import object_in, text_of
from context_compression.hosts.opencode.live import Object, StoredMessage
from context_compression.hosts.opencode.second_messages import as_stored, is_sealed
from context_compression.hosts.opencode.stored_summaries import NEAR
from context_compression.transcripts.lines import string

if TYPE_CHECKING:
    import sqlite3  # loaded when it is used: few sessions need it

SESSIONS, MESSAGES = "session_v2", "session_message"
COLUMNS = frozenset({"id", "session_id", "type", "seq", "time_updated", "data"})
LAST = 2**63 - 1  # no `seq` is larger
COPY = re.compile(r"msg_[0-9A-Za-z]{20,}_(\d+)")
"""The id of a row that a fork copied; the number is its `seq`."""
SEALED = (
    "A compaction was kept in a form that only its provider can read; the messages before it are "
    "given as they were written."
)


@dataclass(frozen=True)
class Span:
    """The rows of a session up to one of them, which is included, or before it."""

    session: str
    until: int = LAST
    included: bool = True

    def select(self, db: "sqlite3.Connection", what: str) -> "sqlite3.Cursor":
        """`SELECT {columns} FROM … {further conditions, order}` of these rows."""
        columns, _, rest = what.partition("|")
        upto = "<=" if self.included else "<"
        return db.execute(
            f"SELECT {columns} FROM {MESSAGES} WHERE session_id = ? AND seq {upto} ? {rest}",
            (self.session, self.until),
        )

    def near(self, db: "sqlite3.Connection", *, edges: bool) -> list[StoredMessage]:
        """The compactions and the answers next to them, and to the edges; the newest first."""
        about = "rowid AS place, type| AND type IN ('assistant', 'compaction') ORDER BY seq, rowid"
        rows = self.select(db, about).fetchall()
        places = [n for n, row in enumerate(rows, 1) if row["type"] == "compaction"]
        near = {
            n
            for place in [*places, *([0, len(rows)] if edges else [])]
            for n in range(max(place - NEAR, 0), min(place + NEAR, len(rows)))
        }
        load = f"SELECT id, type, data FROM {MESSAGES} WHERE rowid = ?"
        found = (db.execute(load, (rows[n]["place"],)).fetchone() for n in sorted(near)[::-1])
        read = (as_stored(text_of(r["id"]), r["type"], object_in(r["data"])) for r in found)
        return [message for message in read if message is not None]

    def unplaced(self, db: "sqlite3.Connection") -> list[str]:
        """What is missing because nothing says where it stood."""
        rows = db.execute(
            f"SELECT id FROM {MESSAGES} WHERE session_id = ? "
            "AND typeof(seq) NOT IN ('integer', 'real')",
            (self.session,),
        ).fetchall()
        if not rows:
            return []
        first = ", ".join(one_line(text_of(row["id"])) for row in rows[:3])
        return [
            f"{how_many(len(rows), 'row')} of {MESSAGES} ({first}{', …' * (len(rows) > 3)}) left "
            "out: `seq` is no number, so that nothing says where they belong."
        ]


@dataclass(frozen=True)
class Lineage:
    """The rows that make a session.

    Attributes:
        spans: the newest first.
        missing: what of the session is not in the database, in sentences for the user.
        warnings: what is not read as it was, in sentences for the user.
    """

    spans: list[Span]
    missing: list[str]
    warnings: list[str]

    def around(self, db: "sqlite3.Connection") -> list[StoredMessage]:
        """The compactions and the answers next to them; the newest first."""
        edges = len(self.spans) > 1
        return [message for span in self.spans for message in span.near(db, edges=edges)]


def is_known(db: "sqlite3.Connection") -> bool:
    """Whether the table of messages has the columns that are read."""
    return COLUMNS.issubset(row["name"] for row in db.execute(f"PRAGMA table_info({MESSAGES})"))


def written_in(db: "sqlite3.Connection", table: str) -> str:
    """The time when a session was written last, as an SQL expression over its table.

    opencode 2 writes answers without a change of the session's own time.
    """
    if table != SESSIONS or not is_known(db):
        return "time_updated"
    newest = (
        f"SELECT time_updated FROM {MESSAGES} WHERE session_id = {SESSIONS}.id "
        "ORDER BY seq DESC LIMIT 1"
    )
    return f"max(time_updated, coalesce(({newest}), 0))"


def lineage_of(db: "sqlite3.Connection", session: Object) -> Lineage:
    """The rows that make a session, without those that the user reverted."""
    lineage = Lineage([], [], [])
    span, seen = _not_reverted(db, session, lineage.warnings), set[str]()
    while True:
        lineage.spans.append(span)
        seen.add(span.session)
        base = session.get("fork_session_id")
        if base in (None, "") or (isinstance(base, str) and _is_copied(db, span.session, base)):
            break
        before = _boundary(db, session, lineage.warnings)
        if before is None or before.session in seen:
            lineage.missing.append(
                f"{span.session} was forked from {one_line(text_of(base))} at a message that is "
                "not in the database; what was said before the fork is missing."
            )
            break
        span = before
        found = db.execute(f"SELECT * FROM {SESSIONS} WHERE id = ?", (span.session,)).fetchone()
        session = dict(found) if found else {}
    for span in lineage.spans:
        lineage.missing.extend(span.unplaced(db))
    if any(_sealed(db, span) for span in lineage.spans):
        lineage.warnings.append(SEALED)
    return lineage


def reverted_in(session: Object) -> tuple[str, list[str]]:
    """The message from which on a session was reverted, and the warning if none can be read."""
    written = session.get("revert")
    about = written if is_object(written) else object_in(written)
    first = string(about, "messageID")
    is_odd = not first and text_of(written) not in ("", "null")
    return first, ["A revert is written in a form that is not known here; all is given."] * is_odd


def _not_reverted(db: "sqlite3.Connection", session: Object, warnings: list[str]) -> Span:
    span = Span(string(session, "id"))
    first, odd = reverted_in(session)
    warnings.extend(odd)
    if not first:
        return span
    query = f"SELECT seq FROM {MESSAGES} WHERE session_id = ? AND id = ?"
    row = db.execute(query, (span.session, first)).fetchone()
    if row is None or not isinstance(row["seq"], int | float):
        warnings.append(
            f"A revert names {one_line(first)}, which is no message of this session with a place "
            "in it; all is given."
        )
        return span
    return Span(span.session, row["seq"], included=False)


def _is_copied(db: "sqlite3.Connection", fork: str, base: str) -> bool:
    """Whether a fork holds copies of the rows before it; they come first."""
    query = f"SELECT * FROM {MESSAGES} WHERE session_id = ? ORDER BY seq LIMIT 1"
    own = db.execute(query, (fork,)).fetchone()
    if own is None:
        return False
    named = COPY.fullmatch(text_of(own["id"]))
    if named and named[1] == str(own["seq"]):
        return True
    query = f"SELECT 1 FROM {MESSAGES} WHERE session_id = ? AND seq = ? AND type = ? AND data = ?"
    return db.execute(query, (base, own["seq"], own["type"], own["data"])).fetchone() is not None


def _boundary(db: "sqlite3.Connection", fork: Object, warnings: list[str]) -> Span | None:
    """The rows that a fork goes on from; `None` if the row that ends them is not there."""
    written = text_of(fork.get("fork_boundary"))
    about = object_in(written)
    id, kind = string(about, "messageID") or written.strip('"'), about.get("type")
    query = f"SELECT session_id, seq FROM {MESSAGES} WHERE id = ? AND typeof(seq) = 'integer'"
    row = db.execute(query, (id,)).fetchone()
    if row is None or row["session_id"] not in _before(db, fork):
        return None
    if kind not in ("before", "through"):
        warnings.append(
            f"The boundary of the fork {string(fork, 'id')} is written in a form that is not known "
            f"here; the messages up to {one_line(id)} are given."
        )
    return Span(row["session_id"], row["seq"], included=kind != "before")


def _before(db: "sqlite3.Connection", fork: Object) -> Iterator[str]:
    """The sessions that a fork goes back to, the nearest first."""
    seen, base = set[str](), string(fork, "fork_session_id")
    while base and base not in seen:
        yield base
        seen.add(base)
        query = f"SELECT fork_session_id AS base FROM {SESSIONS} WHERE id = ?"
        row = db.execute(query, (base,)).fetchone()
        base = string(dict(row or {}), "base")


def _sealed(db: "sqlite3.Connection", span: Span) -> bool:
    rows = span.select(db, "data| AND type = 'compaction' AND data LIKE '%\"providerContext\"%'")
    return any(is_sealed(object_in(row["data"])) for row in rows)
