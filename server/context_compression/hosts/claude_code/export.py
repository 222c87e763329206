"""New sessions for Claude Code: `claude --resume <id>` reads them from the project's folder.

Each row needs its parent, its session and a message; the next request then holds exactly these
messages (seen in version 2.1.329). Usage is zero: nothing was charged for this context yet.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_compression.conversation.formats import anthropic
from context_compression.conversation.messages import COMPRESSED, Block, Message, ToolCall
from context_compression.hosts.claude_code.about import NAME, project_folder_name, projects_folder
from context_compression.transcripts.exporter import Copy, Row
from context_compression.transcripts.portable_messages import arguments, as_user

__all__ = ["DOCUMENTS", "NAME", "THINKING", "command", "place", "rows"]

DOCUMENTS = THINKING = True
USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}


def place(copy: Copy, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.claude/projects/-home-me-app/<session>.jsonl`."""
    folder = projects_folder(environ, home) / project_folder_name(str(copy.project))
    return folder / f"{copy.session_id}.jsonl"


def command(copy: Copy, path: Path) -> Sequence[str]:
    """What resumes it."""
    return "claude", "--resume", copy.session_id


def rows(messages: Sequence[Message], copy: Copy) -> Iterator[Row]:
    """A row for each message, each the parent of the next."""
    for number, message in enumerate(messages):
        said = _of_assistant(message, copy, number) if message.role == "assistant" else None
        yield {
            "parentUuid": copy.id(number - 1) if number else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(copy.project),
            "sessionId": copy.session_id,
            "type": "assistant" if said else "user",
            "message": said or anthropic.FORMAT.write(Message("user", as_user(message))),
            **_marks(message),
            "uuid": copy.id(number),
            "timestamp": copy.time(number),
        }


def _marks(message: Message) -> Mapping[str, Any]:
    """A summary is shown folded, and is not taken for the first prompt."""
    if message.role == "assistant" or not message.text.startswith(COMPRESSED):
        return {}
    return {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}


def _of_assistant(message: Message, copy: Copy, number: int) -> Mapping[str, Any]:
    return {
        "id": f"msg_{copy.id(number).replace('-', '')}",
        "type": "message",
        "role": "assistant",
        "model": copy.model or "unknown",
        "content": list(map(_written, message.blocks)),
        "stop_reason": "tool_use" if message.calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _written(block: Block) -> Any:
    if isinstance(block, ToolCall):
        block = replace(block, arguments=arguments(block))
    return anthropic.write_block(block)
