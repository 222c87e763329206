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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from context_compression.conversation.messages import as_object
from context_compression.display.strings import one_line
from context_compression.hosts.opencode.live import Object, StoredMessage
from context_compression.hosts.opencode.second_messages import as_stored, is_sealed
from context_compression.hosts.opencode.stored_summaries import NEAR
from context_compression.transcripts.lines import parse, string

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
    """The rows of a session up to one of them, which is included."""

    session: str
    until: int

    def select(self, db: "sqlite3.Connection", what: str, *values: Any) -> "sqlite3.Cursor":
        """`SELECT {columns} FROM … {further conditions, order}` of these rows."""
        columns, _, rest = what.partition("|")
        return db.execute(
            f"SELECT {columns} FROM {MESSAGES} WHERE session_id = ? AND seq <= ? {rest}",
            (self.session, self.until, *values),
        )


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
        near: dict[tuple[int, int], StoredMessage] = {}
        for age, span in enumerate(self.spans):
            found = span.select(db, "seq| AND type = 'compaction'").fetchall()
            edges = [-1, span.until] * (len(self.spans) > 1)
            for place in [*(row["seq"] for row in found), *edges]:
                for order, sign in (("DESC", "<="), ("ASC", ">")):
                    rows = span.select(
                        db,
                        f"id, type, seq, data| AND seq {sign} ? AND type IN ('assistant', "
                        f"'compaction') ORDER BY seq {order} LIMIT {NEAR}",
                        place,
                    )
                    for row in rows:
                        data = as_object(parse(str(row["data"]).encode()))
                        if stored := as_stored(row["id"], row["type"], data):
                            near[-age, row["seq"]] = stored
        return [near[place] for place in sorted(near, reverse=True)]


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
    span = Span(string(session, "id"), LAST)
    spans, missing, warnings = list[Span](), list[str](), list[str]()
    if reverted := string(as_object(parse(str(session.get("revert")).encode())), "messageID"):
        if first := span.select(db, "seq| AND id = ?", reverted).fetchone():
            span = Span(span.session, first["seq"] - 1)
        else:
            warnings.append(
                f"A revert names {one_line(reverted)}, which is no message of this session."
            )
    while True:
        spans.append(span)
        base = string(session, "fork_session_id")
        if not base or _is_copied(db, span.session, base):
            break
        before = _boundary(db, session, warnings)
        if before is None or before.session in {each.session for each in spans}:
            missing.append(
                f"{span.session} was forked from {one_line(base)} at a message that is not in the "
                "database; what was said before the fork is missing."
            )
            break
        span = before
        found = db.execute(f"SELECT * FROM {SESSIONS} WHERE id = ?", (span.session,)).fetchone()
        session = dict(found) if found else {}
    if any(_sealed(db, span) for span in spans):
        warnings.append(SEALED)
    return Lineage(spans, missing, warnings)


def _is_copied(db: "sqlite3.Connection", fork: str, base: str) -> bool:
    """Whether a fork holds copies of the rows before it; they come first."""
    query = f"SELECT * FROM {MESSAGES} WHERE session_id = ? ORDER BY seq LIMIT 1"
    own = db.execute(query, (fork,)).fetchone()
    if own is None:
        return False
    named = COPY.fullmatch(str(own["id"]))
    if named and named[1] == str(own["seq"]):
        return True
    query = f"SELECT 1 FROM {MESSAGES} WHERE session_id = ? AND seq = ? AND type = ? AND data = ?"
    return db.execute(query, (base, own["seq"], own["type"], own["data"])).fetchone() is not None


def _boundary(db: "sqlite3.Connection", fork: Object, warnings: list[str]) -> Span | None:
    """The rows that a fork goes on from; `None` if the row that ends them is not there."""
    written = string(fork, "fork_boundary")
    about = as_object(parse(written.encode("utf-8", "replace")))
    id, kind = string(about, "messageID") or written.strip('"'), about.get("type")
    query = f"SELECT session_id, seq FROM {MESSAGES} WHERE id = ? AND typeof(seq) = 'integer'"
    row = db.execute(query, (id,)).fetchone()
    if row is None:
        return None
    if kind not in ("before", "through"):
        warnings.append(
            f"The boundary of the fork {string(fork, 'id')} is written in a form that is not known "
            f"here; the messages up to {one_line(id)} are given."
        )
    return Span(row["session_id"], row["seq"] - (kind == "before"))


def _sealed(db: "sqlite3.Connection", span: Span) -> bool:
    rows = span.select(db, "data| AND type = 'compaction' AND data LIKE '%\"providerContext\"%'")
    return any(is_sealed(as_object(parse(str(row["data"]).encode()))) for row in rows)
