"""New sessions for Claude Code: `claude --resume <id>` reads them from the project's folder.

Each row needs its parent, its session and a message. The next request then holds exactly these
messages (seen in version 2.1.329). Usage is zero, because no request was made with this context.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_compression.conversation.formats import anthropic
from context_compression.conversation.messages import COMPRESSED, Block, Message, ToolCall
from context_compression.hosts.claude_code.about import NAME, project_folder_name, projects_folder
from context_compression.transcripts.exporter import NewSession, Row
from context_compression.transcripts.portable_messages import arguments, as_user

__all__ = ["DOCUMENTS", "NAME", "THINKING", "command", "place", "rows"]

DOCUMENTS = THINKING = True
USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}


def place(session: NewSession, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.claude/projects/-home-me-app/<session>.jsonl`."""
    folder = projects_folder(environ, home) / project_folder_name(str(session.project))
    return folder / f"{session.session_id}.jsonl"


def command(session: NewSession, path: Path) -> Sequence[str]:
    """The command that resumes the session."""
    return "claude", "--resume", session.session_id


def rows(messages: Sequence[Message], session: NewSession) -> Iterator[Row]:
    """A row for each message; each row is the parent of the next."""
    for number, message in enumerate(messages):
        answer = _of_assistant(message, session, number) if message.role == "assistant" else None
        yield {
            "parentUuid": session.id(number - 1) if number else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(session.project),
            "sessionId": session.session_id,
            "type": "assistant" if answer else "user",
            "message": answer or anthropic.FORMAT.write(Message("user", as_user(message))),
            **_marks(message),
            "uuid": session.id(number),
            "timestamp": session.time(number),
        }


def _marks(message: Message) -> Mapping[str, Any]:
    """The marks of a summary: it is shown folded, and is not taken for the first prompt."""
    if message.role == "assistant" or not message.text.startswith(COMPRESSED):
        return {}
    return {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}


def _of_assistant(message: Message, session: NewSession, number: int) -> Mapping[str, Any]:
    return {
        "id": f"msg_{session.id(number).replace('-', '')}",
        "type": "message",
        "role": "assistant",
        "model": session.model or "unknown",
        "content": list(map(_written, message.blocks)),
        "stop_reason": "tool_use" if message.calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _written(block: Block) -> Any:
    if isinstance(block, ToolCall):
        block = replace(block, arguments=arguments(block))
    return anthropic.write_block(block)
