"""Claude Code: `claude --resume <id>` looks below the project's folder, as in hosts/claude_code.

Seen in version 2.1.329: each row needs its parent, its session and a message; the next request then
holds exactly these messages. Usage is nought, for nothing was charged for this context yet.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_compression.conversation.formats import anthropic
from context_compression.conversation.messages import COMPRESSED, Block, Message, ToolCall
from context_compression.transcripts.copy import Copy, Row
from context_compression.transcripts.portable import arguments, as_user

NAME = "claude-code"
DOCUMENTS = THINKING = True
LONGEST_FOLDER = 200  # characters
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}


def place(copy: Copy, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.claude/projects/-home-me-app/<session>.jsonl`."""
    config = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    return config / "projects" / folder_of(str(copy.project)) / f"{copy.session_id}.jsonl"


def folder_of(project: str) -> str:
    """`/home/me/my_app` -> `-home-me-my-app`; of a long path the start, and a hash of it all.

    The hash is that of Java's strings, in base 36; characters are counted as JavaScript does.
    """
    name = re.sub(r"[^A-Za-z0-9]", lambda found: "-" * (1 + (found[0] > "\uffff")), project)
    if len(name) <= LONGEST_FOLDER:
        return name
    units = project.encode("utf-16-le", "surrogatepass")
    number = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        number = (31 * number + low + 256 * high) % 2**32
    number = min(number, 2**32 - number)  # the absolute value of a signed one
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return f"{name[:LONGEST_FOLDER]}-{digits or '0'}"


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
