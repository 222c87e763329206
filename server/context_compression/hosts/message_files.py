"""Plain message files: a list of messages, an object with `messages`, or one message per line.

[{"role": "user", "content": "hello"}]
{"messages": [...], "system": "be brief", "tools": [...], "model": "...", "id": "..."}
{"role": "user", "content": "hello"}             one per line, bare or as {"message": {...}}
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from context_compression.errors import InvalidConversation, TranscriptError
from context_compression.formats import ROLES, check
from context_compression.hosts.base import Load, Row, Transcript, folder_name, name_of
from context_compression.hosts.lines import WANTED, At, as_object, string
from context_compression.messages import is_array

NAME = "messages"


def read_document(path: Path, document: Any) -> Transcript:
    """A conversation that is one JSON value.

    Raises:
        TranscriptError: the value is no conversation.
    """
    about = as_object(document)
    messages = about.get("messages") if about else document
    if not is_array(messages):
        found = _keys(about) if about else f"just {document!r:.40}"
        raise TranscriptError(f"{path} is JSON, but no conversation: it holds {found}. {WANTED}")
    strange = [index for index, message in enumerate(messages) if not _is_message(message)]
    if strange:
        raise TranscriptError(
            f"{path} is JSON, but no conversation: {len(strange)} of {len(messages)} items are no "
            f"message with a role, the first is item {strange[0]}. {WANTED}"
        )
    return Transcript(
        path=path,
        host=NAME,
        session_id=folder_name(string(about, "id")) if string(about, "id") else name_of(path),
        messages=_checked(path, list(messages)),
        model=string(about, "model") or None,
        system=about.get("system"),
        tools=about.get("tools"),
        warnings=[] if messages else ["The file holds no messages."],
    )


def reader() -> "MessageRows":
    """For a file with one message per line."""
    return MessageRows()


class MessageRows:
    """One message per row; rows that are no message are skipped and counted."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._first_strange: Row = {}
        self._strange = 0

    def add(self, row: Row, at: At) -> None:
        """Take a row into account."""
        message = row if "role" in row else row.get("message")
        if _is_message(message):
            self._messages.append(message)
        else:
            self._first_strange = self._first_strange or row
            self._strange += 1

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The conversation so far.

        Raises:
            TranscriptError: there is no message in any row.
        """
        if not self._messages:
            found = _keys(self._first_strange) if self._strange else "no JSON objects"
            raise TranscriptError(f"{path} holds no messages: its lines hold {found}. {WANTED}")
        messages = _checked(path, list(self._messages))
        skipped = [f"Rows without a message were skipped: {self._strange}."] * bool(self._strange)
        return Transcript(path, NAME, name_of(path), messages, warnings=skipped)


def _checked(path: Path, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages; another role is the mark of a host's own format, not to be guessed at."""
    for index, message in enumerate(messages):
        if message["role"] not in ROLES:
            raise TranscriptError(
                f"{path} is in a format we do not know: message {index} has the role "
                f'"{message["role"]:.40}"; known are {", ".join(sorted(ROLES))}. {WANTED}'
            )
        try:
            check(index, message)
        except InvalidConversation as error:
            raise TranscriptError(f"{path} cannot be read. {error} {WANTED}") from error
    return messages


def _is_message(value: Any) -> TypeGuard[dict[str, Any]]:
    return bool(string(as_object(value), "role"))


def _keys(about: Mapping[str, Any]) -> str:
    """`{"a": 1, "b": 2}` -> `an object with "a", "b"`."""
    names = ", ".join(f'"{name[:40]}"' for name in list(about)[:6])
    return f"an object with {names}" if names else "an empty object"
