"""A database in opencode's format, made of the sessions among the fixtures."""

import json
import sqlite3
from pathlib import Path

from transcripts import FIXTURES, Row

FOLDER = FIXTURES / "opencode"
TABLES = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, revert text,
    time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
    time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
    time_updated integer, data text);
"""  # what is asked for of the host's own tables
SECOND_TABLES = """
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
    fork_session_id text, fork_boundary text, directory text NOT NULL, title text,
    version text NOT NULL, revert text, time_created integer NOT NULL,
    time_updated integer NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
    seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
"""  # the same of opencode 2


def export(name: str) -> Row:
    """One of the fixtures."""
    return json.loads((FOLDER / f"{name}.json").read_bytes())


class Host:
    """The host's database, open and written to in WAL mode as the host does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(TABLES)

    def keep(self, name: str, session: str = "ses_cafe", **about: object) -> Path:
        """Write a session; returns the path that names it."""
        document = export(name)
        revert = document["info"].get("revert")
        row = {"parent_id": None, "title": "Two folders", "time_updated": 9_000, **about}
        self.db.execute(
            "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session, row["parent_id"], "/work/app", row["title"], revert and json.dumps(revert),
             1_000, row["time_updated"]),
        )  # fmt: skip
        for message in document["messages"]:
            self.write(message, session)
        return self.path / session

    def write(self, message: Row, session: str = "ses_cafe", updated: int = 1) -> None:
        """Write a message with its parts, or replace it."""
        info = message["info"]
        id, created = f"{info['id']}", info["time"]["created"]
        data = {key: value for key, value in info.items() if key not in ("id", "sessionID")}
        self.db.execute(
            "INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)",
            (id, session, created, updated, json.dumps(data)),
        )
        for part in message["parts"]:
            beside = ("id", "sessionID", "messageID")
            data = {key: value for key, value in part.items() if key not in beside}
            self.db.execute(
                "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)",
                (part["id"], id, session, created, updated, json.dumps(data)),
            )
        self.db.commit()


class SecondHost:
    """The database of opencode 2; the tables of 1 may be there as well."""

    def __init__(self, path: Path, *, tables: bool = True) -> None:
        self.path = path
        self.db = sqlite3.connect(path)
        self.db.executescript(SECOND_TABLES * tables)

    def keep(
        self, session: str, rows: list[tuple[str, Row]], start: int = 0, **about: object
    ) -> Path:
        """Write a session whose rows are numbered from `start`; returns the path that names it."""
        row = {
            "parent_id": None, "fork_session_id": None, "fork_boundary": None,
            "title": "Two folders", "version": "2.0.26", "revert": None,
            "time_updated": 9_000, "directory": "/work/app",
            **about,
        }  # fmt: skip
        values = {"id": session, "project_id": "global", "time_created": 1_000, **row}
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO session_v2 ({names}) VALUES ({marks})", [*values.values()])
        for seq, (kind, data) in enumerate(rows, start):
            self.write(session, seq, kind, data)
        return self.path / session

    def write(
        self, session: str, seq: int, kind: str, data: Row, *, id: str = "", updated: int = 1
    ) -> None:
        """Write a message, or replace it."""
        held = {"time": {"created": 1_000 * (seq + 1), "completed": 1_000 * (seq + 1)}, **data}
        self.db.execute(
            "INSERT OR REPLACE INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)",
            (id or message_id(session, seq), session, kind, seq, 1_000 * (seq + 1), updated,
             json.dumps(held)),
        )  # fmt: skip
        self.db.commit()

    def fork(self, base: str, session: str, kind: str, seq: int) -> Path:
        """Fork a session as the host does: with copies of its rows, whose ids are new."""
        boundary = {"type": kind, "messageID": message_id(base, seq)}
        path = self.keep(session, [], fork_session_id=base, fork_boundary=json.dumps(boundary))
        last = seq - (kind == "before")
        self.db.execute(
            "INSERT INTO session_message SELECT 'msg_' || ? || '_' || seq, ?, type, seq, "
            "time_created, time_updated, data FROM session_message "
            "WHERE session_id = ? AND seq <= ?",
            (f"{session[4:]:0<24}", session, base, last),
        )
        self.db.commit()
        return path


def message_id(session: str, seq: int) -> str:
    """The id of the row of a session with a number."""
    return f"msg_{session[4:]}{seq:04d}"


def user(said: str, **more: object) -> tuple[str, Row]:
    """A message of the user."""
    return "user", {"text": said, "files": [], **more}


def answer(*content: Row | str, tokens: int = 100, **more: object) -> tuple[str, Row]:
    """An answer; a string is a text in it."""
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    used = {"input": tokens, "output": 10, "reasoning": 5, "cache": {"read": 0, "write": 0}}
    model = {"id": "claude-sonnet-4-5", "providerID": "anthropic"}
    return "assistant", {
        "agent": "build", "model": model, "content": parts, "tokens": used, "finish": "stop",
        **more,
    }  # fmt: skip


def tool(id: str, name: str, **state: object) -> Row:
    """A call in an answer, with its state."""
    held = {"status": "completed", "input": {"command": "ls"}, **state}
    return {"type": "tool", "id": id, "name": name, "state": held, "time": {"created": 1}}


def checkpoint(summary: str, recent: str = "", **more: object) -> tuple[str, Row]:
    """A completed compaction."""
    held = {"status": "completed", "reason": "auto", "summary": summary, "recent": recent}
    return "compaction", held | more
