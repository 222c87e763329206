"""The summaries of a session's compactions in opencode's database, without the whole session."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from context_compression.hosts.opencode.cells import object_in, text_of
from context_compression.hosts.opencode.live import Object, StoredMessage

if TYPE_CHECKING:
    import sqlite3  # loaded when it is used: few sessions need it

IS_SUMMARY = """(data LIKE '%"summary":true%' OR data LIKE '%"summary": true%')"""
IS_REQUEST = """(data LIKE '%"type":"compaction"%' OR data LIKE '%"type": "compaction"%')"""
NEAR = 6  # messages that are looked at on each side of a summary


@dataclass
class Summaries:
    """The compactions' summaries of one session; later readings look only at newer messages."""

    _found: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """By id: when it was created, in milliseconds."""
    _until: int = 0  # the newest change that was seen

    def around(self, db: "sqlite3.Connection", session: str) -> list[StoredMessage]:
        """The summaries, their requests, and the answers next to them; the newest first."""
        condition = "session_id = ? AND time_updated >= ?"
        newer = db.execute(
            f"SELECT id, time_created FROM message WHERE {condition} AND {IS_SUMMARY}",
            (session, self._until),
        )
        self._found |= {row["id"]: row["time_created"] for row in newer}
        newest = "SELECT max(time_updated) AS newest FROM message WHERE session_id = ?"
        self._until = db.execute(newest, (session,)).fetchone()["newest"] or 0
        near: dict[Any, tuple[Any, StoredMessage]] = {}
        for time in self._found.values():
            for order, sign in (("DESC", "<="), ("ASC", ">")):
                rows = db.execute(
                    f"SELECT id, time_created, data FROM message WHERE session_id = ? "
                    f"AND time_created {sign} ? ORDER BY time_created {order}, id {order} LIMIT ?",
                    (session, time, NEAR),
                )
                for row in rows:
                    near[row["id"]] = (row["time_created"], _stored(db, row))
        return [message for _, message in sorted(near.values(), key=_age, reverse=True)]


def _stored(db: "sqlite3.Connection", row: "sqlite3.Row") -> StoredMessage:
    """A message of which only the part that may request a compaction is loaded."""
    about = object_in(row["data"])
    parts: list[Object] = []
    if about.get("role") == "user":
        query = f"SELECT data FROM part WHERE message_id = ? AND {IS_REQUEST}"
        found = db.execute(query, (row["id"],))
        parts = [object_in(part["data"]) for part in found]
    return StoredMessage(text_of(row["id"]), about, parts)


def _age(placed: tuple[Any, StoredMessage]) -> tuple[float, str]:
    created, message = placed
    return created if isinstance(created, int | float) else 0, message.id
