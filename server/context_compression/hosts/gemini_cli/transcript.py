"""Gemini CLI: `~/.gemini/tmp/<name of the project>/chats/session-<minute>-<id>.jsonl`.

{"sessionId": …, "projectHash": …, "kind": "main"}       first, and again where it is resumed
{"id": …, "type": "user", "content": [parts]}
{"id": …, "type": "gemini", "content": text or parts, "tokens": {input, output, …}, "model": …,
 "toolCalls": [{"id", "name", "args", "result": [{"functionResponse": …}]}]}
{"$set": {"messages": […]}}       the history from now on: a compression, or a session resumed
{"$rewindTo": id}                 that message and all behind it are gone

A row with a known id replaces the earlier one, in its place. Results stand in `toolCalls` once they
are there, and again in the user's row behind. Rows of other types (info, error, warning) are not
sent, nor are thoughts. Until 2026 the same stood in one JSON object, written anew each time:
`{"sessionId", "projectHash", "messages"}`. Seen in versions of January 2026 and in 0.61.

    context.py   the messages that rows make
    current.py   which session belongs to the host that started us
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.gemini_cli.about import NAME
from context_compression.hosts.gemini_cli.context import Context
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.transcript import (
    Load,
    Row,
    Transcript,
    counted,
    folder_name,
    id_from_name,
)

CHARGED = ("input", "output")


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Gemini CLI's."""
    if "projectHash" in row or row.keys() <= {"$set", "$rewindTo"}:
        return bool(row)
    return row.get("type") == "gemini" and "id" in row


def is_session(document: Any) -> bool:
    """Whether a JSON value is a session as it was written until 2026."""
    about = as_object(document)
    return "projectHash" in about and is_array(about.get("messages"))


def read_document(path: Path, document: Any) -> Transcript:
    """A session that is one JSON value."""
    session = reader()
    session.add({**as_object(document)}, At(0, 0))
    return session.transcript(path, lambda _: {})


def reader() -> "GeminiReader":
    """For one session."""
    return GeminiReader()


@dataclass
class GeminiReader:
    """The messages as they are now, by id."""

    _messages: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    _before: dict[str, int] = field(default_factory=dict[str, int])
    """By message: a hash of the ids of those before it."""
    _charged_at: dict[str, int] = field(default_factory=dict[str, int])
    """By answer: the same, when its usage was first told."""
    _session: str = ""
    _unknown: Counter[str] = field(default_factory=Counter[str])

    def add(self, row: Row, at: At) -> None:
        """Take a row into account."""
        update = as_object(row.get("$set"))
        if "$rewindTo" in row:
            self._rewind(string(row, "$rewindTo"))
        elif string(row, "id"):
            self._put(row)
        elif is_array(update.get("messages")):
            self._messages, self._before = {}, {}
            self._put_all(update)
        elif "projectHash" in row:
            self._session = string(row, "sessionId") or self._session
            self._put_all(row)
        elif not update:
            self._unknown[string(row, "type") or "none"] += 1

    def _put_all(self, about: Mapping[str, Any]) -> None:
        for message in _objects(about.get("messages")):
            if string(message, "id"):
                self._put(message)

    def _put(self, message: Mapping[str, Any]) -> None:
        id = string(message, "id")
        if id not in self._messages:
            newest = next(reversed(self._messages), "")
            self._before[id] = hash((self._before.get(newest), newest))
        self._messages[id] = message
        if message.get("tokens"):
            self._charged_at.setdefault(id, self._before[id])

    def _rewind(self, id: str) -> None:
        while self._messages:
            gone, _ = self._messages.popitem()
            del self._before[gone]
            if gone == id:
                return

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live context now."""
        context = Context()
        rows = list(self._messages.values())
        answered = [row.get("type") == "gemini" for row in rows[1:]]
        for row, is_answered in zip(rows, [*answered, False], strict=False):
            context.add(row, answered=is_answered)
        models = (string(row, "model") for row in reversed(rows))
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(self._session) if self._session else id_from_name(path),
            messages=context.messages,
            usage=self._usage(context),
            model=next(filter(None, models), None),
            warnings=[
                *counted("Rows of types we do not know were skipped", self._unknown),
                *counted("Messages of types we do not know were left out", context.unknown),
            ],
        )

    def _usage(self, context: "Context") -> tuple[int, int] | None:
        """What the newest answer cost, if it was the answer to what stands before it now."""
        for id, row in reversed(self._messages.items()):
            tokens = as_object(row.get("tokens"))
            total = sum(n for part in CHARGED if isinstance(n := tokens.get(part), int))
            if row.get("type") == "gemini" and total and id in context.ends:
                same = self._charged_at.get(id) == self._before[id]
                return (total, context.ends[id]) if same else None
        return None


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [part for part in value if is_object(part)] if is_array(value) else []
