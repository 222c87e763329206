"""New sessions for Pi: `pi --session <file>` opens any file.

Pi's lists show the sessions in the project's folder. The format is documented (session-format.md of
version 0.87.1). The names of a model's provider and API matter only if Pi resumes with that model.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from context_compression.conversation.messages import (
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
from context_compression.hosts.pi.about import NAME, sessions_folder
from context_compression.transcripts.exporter import NewSession, Row
from context_compression.transcripts.lines import string
from context_compression.transcripts.portable_messages import arguments, as_user, url_of

__all__ = ["DOCUMENTS", "NAME", "THINKING", "command", "place", "rows"]

DOCUMENTS = THINKING = False
PROVIDERS = {  # by the beginning of their models' names
    "claude": ("anthropic", "anthropic-messages"),
    "gemini": ("google", "google-generative-ai"),
}
OTHERS = ("openai", "openai-responses")
COUNTED = ("input", "output", "cacheRead", "cacheWrite")
USAGE = {
    **dict.fromkeys(COUNTED, 0),
    "totalTokens": 0,
    "cost": {**dict.fromkeys(COUNTED, 0), "total": 0},
}


def place(session: NewSession, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.pi/agent/sessions/--home-me-app--/<time>_<session>.jsonl`."""
    name = f"{re.sub(r'[:.]', '-', session.time())}_{session.session_id}.jsonl"
    return sessions_folder(environ, home, session.project) / name


def command(session: NewSession, path: Path) -> Sequence[str]:
    """The command that resumes the session."""
    return "pi", "--session", str(path)


def rows(messages: Sequence[Message], session: NewSession) -> Iterator[Row]:
    """A `session` row, then the rows of the messages; each row is the parent of the next.

    Tool results have rows of their own, with their tools' names.
    """
    about = {"id": session.session_id, "timestamp": session.time(), "cwd": str(session.project)}
    yield {"type": "session", "version": 3, **about}
    names = {call.id: call.name for message in messages for call in message.calls}
    new_entries = (entry for m in messages for entry in entries(m, names, by_model(session.model)))
    for number, entry in enumerate(new_entries):
        millisecond = int(session.created.timestamp() * 1000) + number
        yield {
            "type": "message",
            "id": session.id(number)[:8],
            "parentId": session.id(number - 1)[:8] if number else None,
            "timestamp": session.time(number),
            "message": entry | {"timestamp": millisecond},
        }


def entries(message: Message, names: Mapping[str, str], by: Mapping[str, str]) -> Iterator[Row]:
    """A message as Pi's messages: one for each tool result, and one for the other blocks.

    Args:
        message: the message.
        names: the names of the tools, by the ids of their calls.
        by: the provider, API and model to name in an assistant message.
    """
    if message.role == "assistant":
        stop = "toolUse" if message.calls else "stop"
        content = list(map(_part, message.blocks))
        yield {"role": "assistant", "content": content, **by, "usage": USAGE, "stopReason": stop}
        return
    for result in message.results:
        yield {
            "role": "toolResult",
            "toolCallId": result.call_id,
            "toolName": names.get(result.call_id, "tool"),
            "content": list(map(_part, result.content)),
            "isError": result.is_error,
        }
    blocks = [block for block in as_user(message) if not isinstance(block, ToolResult)]
    if blocks:
        yield {"role": "user", "content": list(map(_part, blocks))}


def by_model(model: str | None) -> Mapping[str, str]:
    """The model, with the provider and the API that Pi usually has for it."""
    model = model or "unknown"
    known = (names for start, names in PROVIDERS.items() if model.startswith(start))
    provider, api = next(known, OTHERS)
    return {"api": api, "provider": provider, "model": model}


def _part(block: Block) -> Any:
    match block:
        case ToolCall():
            made = {"type": "toolCall", "id": block.id, "name": block.name}
            return made | {"arguments": arguments(block)}
        case Image():
            source = as_object(as_object(block.source).get("source"))
            if "data" in source:
                shown = {"data": source["data"], "mimeType": source.get("media_type")}
                return {"type": "image", **shown}
            return {"type": "text", "text": f"[The picture at {url_of(block)}]"}
        case Text() | Document():
            return {"type": "text", "text": block.text}
        case Thinking():
            sealed = as_object(block.source)
            signature = string(sealed, "data" if block.redacted else "signature")
            about = {"redacted": True} if block.redacted else {}
            return {
                "type": "thinking",
                "thinking": block.text,
                "thinkingSignature": signature,
                **about,
            }
        case ToolResult() | Opaque():
            return block.source
        case _:
            assert_never(block)
