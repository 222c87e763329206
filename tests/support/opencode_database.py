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
