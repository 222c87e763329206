"""Sessions of opencode 2: their rows and messages as those of opencode 1.

Messages of opencode 2 as messages of opencode 1, which the reader knows. A message of opencode 2 is
one JSON object with its `type`:

user        text, files [{mime, data, source {type, uri}, name}], skills [{text}]
assistant   model {id}, content [text | reasoning | tool], tokens, error, time {created, completed}
compaction  status, reason, summary, recent; takes the place of all before it when it is completed
synthetic, system, skill   text that the host sends the model
shell       command, output {output}: a command that the user ran
agent-switched, model-switched, location-switched, idle, display, invocation

A tool {id, name, state {status, input, content [text | file {uri, mime}], error {type, message}}}
holds its call and its result. (From the host's own schema and its request of 2.0; not yet seen in
a session of ours.)

The rows that make a session of opencode 2: its own, and those of a session it was forked from.

session_v2        id, parent_id (of a subagent), fork_session_id, fork_boundary {type, messageID},
                  directory, title, version, revert {messageID}, time_updated
session_message   id, session_id, type, seq, time_created, time_updated, data

The rows of a session are in the order of `seq`. A fork begins with copies of the rows before its
boundary (`before`), or up to it (`through`): `seq` and `data` stay, and the id becomes that of the
fork with `_seq` at its end. A fork that holds no copies goes on from the rows of the other session.
The tables of version 1 stay in the database as they were when a session was taken over.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.opencode.context import (
    Object,
    StoredMessage,
    listed,
    object_in,
    text_of,
    unread,
)
from context_compression.plurals import how_many
from context_compression.strings import one_line
from context_compression.transcripts.lines import string

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


SILENT = frozenset({"agent-switched", "model-switched", "idle", "display", "invocation"})
"""Types that no request holds."""
RESULT = {"status", "input", "content", "error", "output", "result", "structured"}
UNFINISHED = ("running", "failed")
COMPLETED = ("completed", None)
SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
"""The media types of a user's files that the host sends as they are."""
WRITTEN = {"text/plain": "file", "application/x-directory": "directory"}
"""Those that it sends as text."""


def as_stored(id: str, kind: str, data: Object) -> StoredMessage | None:
    """A message of opencode 2 as one of opencode 1; `None` if no request holds it.

    A message of an unknown type, or of an unknown shape, becomes a part of an unknown type.
    """
    if kind in SILENT or (kind == "compaction" and _is_passed_over(data)):
        return None
    about: dict[str, Any] = {"role": "user", "time": data.get("time")}
    match kind, data:
        case "assistant", {"content": content} if is_array(content) or isinstance(content, str):
            about |= {"role": "assistant", "tokens": data.get("tokens")}
            about["modelID"] = string(as_object(data.get("model")), "id")
            items = [_text(content)] if isinstance(content, str) else content
            parts = [part for item in items for part in _spoken(item)]
        case "user", {"text": str(said)}:
            parts = [*_skills(data), *([_text(said)] if said else []), *_files(data)]
        case "synthetic" | "system", {"text": str(said)}:
            parts = [_noted(said), *_files(data)]
        case "skill", {"text": str(said)}:
            parts = [_skill(string(data, "name"), said)]
        case "location-switched", {"location": {"directory": str(folder)}}:
            parts = [_noted(f"The working directory is now {folder}.")]
        case "shell", {"command": str(command)}:
            parts = list(_shell(command, data))
        case "compaction", {"summary": str(summary)} if data.get("status") in COMPLETED:
            about["checkpoint"] = string(data, "reason")
            recent, strange = _said(data, "recent")
            parts = [_checkpoint(summary, recent), *strange]
        case _:
            parts = [unread(kind or "none", data)]
    return StoredMessage(id, about, parts)


def is_sealed(data: Object) -> bool:
    """Whether a compaction's result is kept in the form of a provider, which only it can read."""
    return bool(data.get("providerContext"))


def _said(data: Object, name: str, inner: str = "") -> tuple[str, list[Object]]:
    """A text, which may be that of `inner` in an object; and what stands there and is none."""
    match data.get(name):
        case str(said):
            return said, []
        case {**about} if isinstance(about.get(inner), str):
            return about[inner], []
        case None:
            return "", []
        case odd:
            return "", [unread(name, odd)]


def _is_passed_over(data: Object) -> bool:
    return data.get("status") in UNFINISHED or is_sealed(data)


def _text(said: str) -> Object:
    return {"type": "text", "text": said}


def _noted(said: str) -> Object:
    """A text of the host, marked as such; nobody takes it for the user's."""
    tag = "system-reminder"
    return _text(said if said.lstrip().startswith(f"<{tag}") else f"<{tag}>\n{said}\n</{tag}>")


def _skill(name: str, said: str) -> Object:
    return _text(f"<skill>\n<name>{name}</name>\n{said}\n</skill>")


def _skills(data: Object) -> Iterator[Object]:
    for skill in listed(data.get("skills")):
        match skill:
            case {"text": str(said)} if isinstance(skill.get("name"), str | None):
                yield _skill(string(skill, "name") or string(skill, "id"), said)
            case _:
                yield unread("skill", skill)


def _shell(command: str, data: Object) -> Iterator[Object]:
    if as_object(data.get("metadata")).get("background") is True:
        return  # its result comes as a message of its own
    output, strange = _said(data, "output", "output")
    tag = "user_shell_command"
    yield _text(
        f"<{tag}>\n<command>\n{command}\n</command>\n<result>\n{output}\n</result>\n</{tag}>"
    )
    yield from strange


def _checkpoint(summary: str, recent: str) -> Object:
    kept = f"\n<recent-context>\n{recent}\n</recent-context>" if recent else ""
    held = f"<summary>\n{summary}\n</summary>{kept}"
    return _text(f"<conversation-checkpoint>\n{held}\n</conversation-checkpoint>")


def _files(data: Object) -> Iterator[Object]:
    """The files that a user attached."""
    for file in listed(data.get("files")):
        about = as_object(file)
        mime, held = string(about, "mime"), string(about, "data")
        uri = string(as_object(about.get("source")), "uri") or string(about, "uri")
        name = string(about, "name") or uri or "without a name"
        if mime in WRITTEN and isinstance(about.get("data"), str | None):
            yield _noted(f"Attached {WRITTEN[mime]} {name}:\n{_decoded(held)}")
        elif mime in SHOWN and (held or uri):
            url = f"data:{mime};base64,{held}" if held else uri
            yield {"type": "file", "mime": mime, "url": url}
        else:
            yield unread(f"file of {mime or 'no type'}", file)


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return data


def _spoken(item: Any) -> Iterator[Object]:
    """A part of an assistant message."""
    match item:
        case {"type": "text", "text": str()}:
            yield item
        case {"type": "reasoning", "text": str(said)}:
            yield {"type": "reasoning", "text": said, "metadata": {"": item.get("state")}}
        case {"type": "tool", "id": str(id), "name": str(name), "state": state} if is_object(state):
            texts, files, strange = _contents(state)
            result: dict[str, Any] = {"input": state.get("input"), "attachments": files}
            result["status"] = string(state, "status")
            if result["status"] == "error":
                reason, odd = _said(state, "error", "message")
                result["error"] = "\n".join(filter(None, [reason, *texts]))
                strange += odd
            else:
                result["output"] = "\n".join(texts)
            if state and RESULT.isdisjoint(state):
                strange.append(unread("state of a call", state))
            yield {"type": "tool", "callID": id, "tool": name, "state": result}
            yield from strange
        case _:
            yield unread(string(as_object(item), "type") or "content", item)


def _contents(state: Object) -> tuple[list[str], list[Object], list[Object]]:
    """The texts of a result, its files, and what is of neither kind."""
    texts: list[str] = []
    files: list[Object] = []
    strange: list[Object] = []
    held = state.get("content")
    for item in [_text(held)] if isinstance(held, str) else listed(held):
        match item:
            case {"type": "text", "text": str(said)}:
                texts.append(said)
            case {"type": "file", "uri": str(uri)}:
                files.append({"url": uri, "mime": string(item, "mime")})
            case _:
                strange.append(unread(string(as_object(item), "type") or "content", item))
    if not (texts or files):  # early versions kept a value in place of content
        values = map(state.get, ("output", "result", "structured"))
        texts += [
            v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values if v
        ][:1]
    return texts, files, strange


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
class RowSpan:
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
class SessionRows:
    """The rows that make a session.

    Attributes:
        spans: the newest first.
        missing: what of the session is not in the database, in sentences for the user.
        warnings: what is not read as it was, in sentences for the user.
    """

    spans: list[RowSpan]
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


def lineage_of(db: "sqlite3.Connection", session: Object) -> SessionRows:
    """The rows that make a session, without those that the user reverted."""
    lineage = SessionRows([], [], [])
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


def _not_reverted(db: "sqlite3.Connection", session: Object, warnings: list[str]) -> RowSpan:
    span = RowSpan(string(session, "id"))
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
    return RowSpan(span.session, row["seq"], included=False)


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


def _boundary(db: "sqlite3.Connection", fork: Object, warnings: list[str]) -> RowSpan | None:
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
    return RowSpan(row["session_id"], row["seq"], included=kind != "before")


def _before(db: "sqlite3.Connection", fork: Object) -> Iterator[str]:
    """The sessions that a fork goes back to, the nearest first."""
    seen, base = set[str](), string(fork, "fork_session_id")
    while base and base not in seen:
        yield base
        seen.add(base)
        query = f"SELECT fork_session_id AS base FROM {SESSIONS} WHERE id = ?"
        row = db.execute(query, (base,)).fetchone()
        base = string(dict(row or {}), "base")


def _sealed(db: "sqlite3.Connection", span: RowSpan) -> bool:
    rows = span.select(db, "data| AND type = 'compaction' AND data LIKE '%\"providerContext\"%'")
    return any(is_sealed(object_in(row["data"])) for row in rows)
