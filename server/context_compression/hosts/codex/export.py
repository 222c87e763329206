"""New sessions for Codex: `codex exec resume <id>` finds a rollout by its name, in any folder.

Seen in version 0.169.0: the model needs a `session_meta` and `response_item` rows only. Codex shows
the `event_msg` rows to the user, and names the session in a list by the first of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_object,
)
from context_compression.hosts.codex.about import NAME, SEEN, sessions_folder
from context_compression.hosts.codex.messages import FROM_CODEX
from context_compression.transcripts.exporter import NewSession, Row
from context_compression.transcripts.lines import string
from context_compression.transcripts.portable_messages import arguments, url_of

__all__ = ["DOCUMENTS", "NAME", "THINKING", "command", "place", "rows"]

DOCUMENTS, THINKING = False, True
SHOWN = {"user": "user_message", "assistant": "agent_message"}


def place(session: NewSession, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.codex/sessions/2026/11/21/rollout-2026-11-21T12-33-33-<session>.jsonl`."""
    day, time = session.time()[:10], session.time()[:19].replace(":", "-")
    name = f"rollout-{time}-{session.session_id}.jsonl"
    return sessions_folder(environ, home).joinpath(*day.split("-"), name)


def command(session: NewSession, path: Path) -> Sequence[str]:
    """The command that resumes it in a terminal; `codex exec resume <id> <prompt>` needs none."""
    return "codex", "resume", session.session_id


def rows(messages: Sequence[Message], session: NewSession) -> Iterator[Row]:
    """A `session_meta` row, then the rows of each message."""
    about = {
        "id": session.session_id,
        "timestamp": session.time(),
        "cwd": str(session.project),
        "originator": "context-compression",
        "cli_version": SEEN,
        "source": "cli",
    }
    yield {"timestamp": session.time(), "type": "session_meta", "payload": about}
    for number, message in enumerate(messages):
        for kind, payload in _items(message):
            yield {"timestamp": session.time(number), "type": kind, "payload": payload}


def _items(message: Message) -> Iterator[tuple[str, Row]]:
    """The text that Codex shows to the user, and the message as items of the Responses API."""
    shown = message.text
    if message.role in SHOWN and shown and not shown.startswith((COMPRESSED, *FROM_CODEX)):
        yield "event_msg", {"type": SHOWN[message.role], "message": shown}
    parts: list[Row] = []
    for block in message.blocks:
        if (part := _part(block, message)) is not None:
            parts.append(part)
        else:
            yield from _message_item(message, parts)
            parts = []
            yield "response_item", _item(block)
    yield from _message_item(message, parts)


def _message_item(message: Message, parts: list[Row]) -> Iterator[tuple[str, Row]]:
    """A message item with the texts and images between two calls or results."""
    if parts:
        role = "developer" if message.role == "system" else message.role
        yield "response_item", {"type": "message", "role": role, "content": parts}


def _part(block: Block, message: Message) -> Row | None:
    """A block as a part of a message; `None` if it is an item of its own."""
    match block:
        case Text() | Document():
            kind = "output_text" if message.role == "assistant" else "input_text"
            return {"type": kind, "text": block.text}
        case Image():
            return {"type": "input_image", "image_url": url_of(block)}
        case ToolCall() | ToolResult() | Thinking() | Opaque():
            return None
        case _:
            assert_never(block)


def _item(block: Block) -> Row:
    match block:
        case ToolCall():
            given = json.dumps(arguments(block), ensure_ascii=False)
            made = {"type": "function_call", "name": block.name, "arguments": given}
            return made | {"call_id": block.id}
        case ToolResult():
            return {
                "type": "function_call_output",
                "call_id": block.call_id,
                "output": _output(block),
            }
        case Thinking():
            about = as_object(block.source)
            sealed = {"encrypted_content": string(about, "signature") or None}
            return {"type": "reasoning", "summary": about.get("summary") or [], **sealed}
        case _:
            return dict(as_object(block.source))  # an item that Codex wrote, as it was


def _output(result: ToolResult) -> Any:
    if all(isinstance(block, Text) for block in result.content):
        return result.text
    shown = Message("tool", result.content)
    return [part for block in result.content if (part := _part(block, shown)) is not None]
