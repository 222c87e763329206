"""The messages that a compression archived: files `compact-<time>-<n>.json`, each a JSON list.

The log names each file with its SHA-256. The entry of a ref in the log names the file and the
message, and says whether the ref stands for the message or for the text of one of its blocks.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Text, ToolResult
from context_compression.display.strings import one_line
from context_compression.errors import InvalidConversation, StoreDamaged, StoreError
from context_compression.store import files

PATTERN = "compact-*.json"
"""Matches these files in a session's folder."""
MESSAGE_START, MESSAGE_END = b"\n  {", b"\n  }"
"""How each message begins and ends in a file, which is JSON with an indent of 2."""
_LIST_START, _LIST_END = b"[\n  {\n", b"\n  }\n]"


def file_name(created_at: str, n: int) -> str:
    """`file_name("2026-11-21T09:18:02.4Z", 3)` -> `"compact-2026-11-21T09-18-02Z-3.json"`.

    The time is in UTC. It has no colons, because Windows does not allow them in file names.

    Raises:
        StoreError: `created_at` is not an ISO 8601 time.
    """
    try:
        time = datetime.fromisoformat(created_at)
    except ValueError as error:
        raise StoreError(f"{created_at!r} is not an ISO 8601 time.") from error
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return f"compact-{time.strftime('%Y-%m-%dT%H-%M-%SZ')}-{n}.json"


def read_messages(path: Path) -> list[Any]:
    """The messages in a file.

    Raises:
        StoreDamaged: the file is missing, or is not a JSON list.
    """
    return _messages_in(path, files.bytes_or_none(path))


def _messages_in(path: Path, data: bytes | None) -> list[Any]:
    value = None if data is None else files.json_in(data, path)
    if not isinstance(value, list):
        problem = "is missing" if value is None else "is not a list of messages"
        raise files.damaged(path, problem)
    return cast("list[Any]", value)


def read_unchanged(path: Path, digest: str | None) -> list[Any]:
    """The messages in a file, after checking that its SHA-256 is `digest`; `None` skips the check.

    Raises:
        StoreDamaged: the file is missing, is not a JSON list, or has another hash.
    """
    data = files.bytes_or_none(path)
    messages = _messages_in(path, data)
    if digest not in (None, hashlib.sha256(data or b"").hexdigest()):
        raise StoreDamaged(
            f"{path} was changed: its hash does not match the log's. Put back a copy of it; "
            "messages in it that are intact can still be restored. Nothing was written."
        )
    return messages


def read_message(path: Path, position: int) -> Any:
    """One message in a file, by its position from 0; usually without parsing the others.

    Raises:
        StoreDamaged: the file is missing or damaged, or has no such message.
    """
    with files.reading(path):
        message = message_at(files.bytes_of(path), position)
    if message is not None:
        return message
    messages = read_messages(path)
    if not 0 <= position < len(messages):
        raise files.damaged(path, f"has no message {position}")
    return messages[position]


def message_at(data: bytes, position: int) -> Any:
    """A message in the bytes of a file; `None` if the file does not have the layout we write."""
    if position < 0 or not (data.startswith(_LIST_START) and data.endswith(_LIST_END)):
        return None
    at = -1
    for _ in range(position + 1):
        at = data.find(MESSAGE_START, at + 1)
        if at < 0:
            return None
    return files.leading_json(data[at : data.find(MESSAGE_END, at) + len(MESSAGE_END)].lstrip())


def original_of(entry: Mapping[str, Any], read: Callable[[str, int], Any]) -> Any:
    """The original that a ref stands for: a text, or a message as it was recorded.

    Args:
        entry: the entry of the ref, with the `file` of its originals.
        read: returns a message of a file of originals, by the file's name and the position.

    Raises:
        StoreDamaged: the original is not where the entry says.
    """
    if entry.get("text") is not None:
        return entry["text"]
    try:
        message = read(entry["file"], entry["message"])
        return message if entry["block"] is None else text_in(message, entry["block"])
    except (InvalidConversation, IndexError, KeyError, TypeError) as error:
        raise StoreDamaged(
            f"The log names an original that is not there: {one_line(error)}."
        ) from error


def text_in(message: Mapping[str, Any], block: int) -> str:
    """The text of one block of a message, by its index; "" if the block is of another kind."""
    content = parse([message]).messages[0].blocks[block]
    return content.text if isinstance(content, Text | ToolResult) else ""
