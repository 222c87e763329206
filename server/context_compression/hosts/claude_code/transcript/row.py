"""Rows of a Claude Code transcript: their kinds, blocks and message ids."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.claude_code.about import SEEN, TITLE
from context_compression.transcripts.lines import string
from context_compression.transcripts.shapes import Maybe, Seen, Shape, Shapes

Row: TypeAlias = Mapping[str, Any]

PROMPT_TOKENS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
SYNTHETIC = "<synthetic>"  # the model named in messages that the host wrote itself
MESSAGES = {"user", "assistant", "system", "attachment"}
CONTENT: Shape = (str, [{"type": str}])
OF_MESSAGE: Shape = {"message": {"content": CONTENT}}
WORDS = """
addedBlocks addedLines citations command content error input planContent
removedLines source stderr stdout text thinking title toolUseResult userFeedback
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {
        "user": OF_MESSAGE,
        "assistant": OF_MESSAGE,
        "attachment": {
            "attachment": Maybe({"prompt": CONTENT}),
            "rendered": [{"content": CONTENT}],
        },
    },
    Seen(WORDS, SEEN, lambda row: string(row, "version")),
)
"""The shapes of what rows hold."""


def is_compaction(row: Row) -> bool:
    """Whether a row is a compaction boundary.

    The rows before it left the context, except those that the boundary lists as kept.
    """
    return row["type"] == "system" and row.get("subtype") == "compact_boundary"


def is_clearing(row: Row) -> bool:
    """Whether a row says that old tool results were removed from the context (microcompaction)."""
    return row["type"] == "system" and row.get("subtype") == "microcompact_boundary"


def is_summary(row: Row) -> bool:
    """Whether a row holds the summary that replaced everything before a compaction."""
    return row["type"] == "user" and bool(row.get("isCompactSummary"))


def blocks(row: Row, kind: str) -> list[Mapping[str, Any]]:
    """The blocks of one type (`tool_use`, `tool_result`) in a row's message."""
    message = row.get("message")
    content = message.get("content") if is_object(message) else None
    if not content or not is_array(content):
        return []
    return [block for block in content if is_object(block) and block.get("type") == kind]


def message_id(row: Row) -> str:
    """The id that the rows of one assistant message share; for others, the row's own uuid."""
    return string(as_object(row.get("message")), "id") or row["uuid"]


def prompt_tokens(row: Row) -> int:
    """Input tokens of a request, cached ones included.

    Output tokens are not added: in versions 2.1.14 to 2.1.50 they are a placeholder.
    """
    usage = as_object(as_object(row.get("message")).get("usage"))
    parts = [usage.get(part) for part in PROMPT_TOKENS]
    return sum(part for part in parts if isinstance(part, int))


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    """The content of a message as a list of blocks; a string becomes one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content if is_object(block)] if is_array(content) else []


def folders_moved_to(row: Row) -> list[str]:
    """The folders to which a row says that the session moved: by `cd`, or into a worktree."""
    worktree = as_object(row.get("worktreeSession"))
    match row.get("type"):
        case "relocated":
            folders = [string(row, "relocatedCwd")]
        case "worktree-state":
            folders = [string(worktree, "worktreePath"), string(worktree, "originalCwd")]
        case _:
            folders = []
    return [folder for folder in folders if folder]
