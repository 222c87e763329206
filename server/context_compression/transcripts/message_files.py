"""Plain message files: a list of messages, the body of a request, or one message per line.

[{"role": "user", "content": "hello"}]
{"messages": [...], "system": "be brief", "tools": [...], "model": "...", "id": "..."}
{"contents": [...], "systemInstruction": {...}}  a request to Gemini
{"input": [...], "instructions": "be brief"}     a request to OpenAI Responses
{"role": "user", "content": "hello"}             one per line, bare or as {"message": {...}}
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from context_compression.conversation.formats import Conversation, parse, responses
from context_compression.conversation.formats.reading import refusal
from context_compression.conversation.messages import as_object, is_array
from context_compression.errors import InvalidConversation, TranscriptError
from context_compression.transcripts.lines import EXPECTED, At, string
from context_compression.transcripts.transcript import (
    DocumentFormat,
    Load,
    Row,
    RowFormat,
    Transcript,
    folder_name,
    id_from_name,
)

NAME = "messages"
SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")


def is_document(value: Any) -> bool:
    """Whether a JSON value holds a conversation, rather than being a row of one."""
    return "messages" in as_object(value) or is_array(_held(as_object(value)))


def read_document(path: Path, document: Any) -> Transcript:
    """The conversation in a file that is one JSON value.

    Raises:
        TranscriptError: the value is not a conversation.
    """
    about = as_object(document)
    messages = _held(about) if about else document
    if not is_array(messages):
        content = _keys(about) if about else f"just {document!r:.40}"
        problem = f"is JSON, but no conversation: it holds {content}."
        raise TranscriptError(_by_name(path, document) or f"{path} {problem} {EXPECTED}")
    listed = _all_messages(path, messages, document)
    return Transcript(
        path=path,
        host=NAME,
        session_id=folder_name(string(about, "id")) if string(about, "id") else id_from_name(path),
        messages=listed,
        conversation=_checked(path, listed, document),
        model=string(about, "model") or string(about, "modelId") or None,
        system=_system(about),
        tools=about.get("tools") or as_object(about.get("toolConfig")).get("tools"),
        warnings=[] if messages else ["The file holds no messages."],
    )


class MessageRows:
    """Reads one message per row; rows without a message are skipped and counted."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._first_strange: Row = {}
        self._strange = 0

    def add(self, row: Row, at: At) -> None:
        """Add the next row of the file."""
        message = row if "role" in row or _is_item(row) else row.get("message")
        if _is_message(message):
            self._messages.append(message)
        else:
            self._first_strange = self._first_strange or row
            self._strange += 1

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """`None`: no row takes messages out."""
        return None

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The conversation so far.

        Raises:
            TranscriptError: no row holds a message, or the messages are in no known format.
        """
        if not self._messages:
            content = _keys(self._first_strange) if self._strange else "no JSON objects"
            problem = f"holds no messages: its lines hold {content}."
            raise TranscriptError(
                _by_name(path, self._first_strange) or f"{path} {problem} {EXPECTED}"
            )
        messages = list(self._messages)
        return Transcript(
            path=path,
            host=NAME,
            session_id=id_from_name(path),
            messages=messages,
            conversation=_checked(path, messages, None),
            warnings=[f"Rows without a message were skipped: {self._strange}."]
            * bool(self._strange),
        )


def _held(about: Mapping[str, Any]) -> Any:
    """The messages in the body of a request; the `input` of a message or an item does not count."""
    if "messages" in about or "role" in about or "type" in about:
        return about.get("messages")
    return about.get("contents", about.get("input"))


def _system(about: Mapping[str, Any]) -> Any:
    """The system prompt outside the messages: a text, or parts with texts."""
    prompt = next((about[key] for key in SYSTEM if about.get(key)), None)
    return as_object(prompt).get("parts", prompt)


def _all_messages(path: Path, items: Sequence[Any], document: Any) -> list[dict[str, Any]]:
    """The items of a list as messages.

    Raises:
        TranscriptError: an item is not a message.
    """
    strange = [index for index, item in enumerate(items) if not _is_message(item)]
    if not strange:
        return list(items)
    problem = (
        f"is JSON, but no conversation: {len(strange)} of {len(items)} items are no message with a "
        f"role, the first is item {strange[0]}."
    )
    refused = _by_name(path, items[strange[0]], document)
    raise TranscriptError(refused or f"{path} {problem} {EXPECTED}")


def _checked(path: Path, messages: list[dict[str, Any]], document: Any) -> Conversation:
    """The parsed messages.

    Raises:
        TranscriptError: they are in no known format, or in a host's own format.
    """
    if refused := _by_name(path, messages, document):
        raise TranscriptError(refused)
    try:
        return parse(messages)
    except InvalidConversation as error:
        raise TranscriptError(f"{path} cannot be read. {error} {EXPECTED}") from error


def _by_name(path: Path, value: Any, document: Any = None) -> str | None:
    """The error for a value in a known format that is not read; `None` for other values.

    If `document` is in such a format as well, the error names that one.
    """
    reason = refusal(value)
    return f"{path} cannot be read. {refusal(document) or reason}" if reason else None


def _is_message(value: Any) -> TypeGuard[dict[str, Any]]:
    return bool(string(as_object(value), "role")) or _is_item(as_object(value))


def _is_item(row: Mapping[str, Any]) -> bool:
    """Whether a row is an item of OpenAI Responses other than a message."""
    return bool(string(row, "type")) and responses.is_item(row)


def _keys(about: Mapping[str, Any]) -> str:
    """`{"a": 1, "b": 2}` -> `an object with "a", "b"`."""
    names = ", ".join(f'"{name[:40]}"' for name in list(about)[:6])
    return f"an object with {names}" if names else "an empty object"


ROWS = RowFormat(lambda row: True, MessageRows)
DOCUMENT = DocumentFormat(lambda value: True, read_document)
"""The forms of files that no host wrote."""
