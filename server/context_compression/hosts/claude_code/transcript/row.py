"""Rows of a Claude Code transcript: their kinds, blocks and message ids."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.transcripts.lines import string

Row: TypeAlias = Mapping[str, Any]

MESSAGES = {"user", "assistant", "system", "attachment"}


def is_compaction(row: Row) -> bool:
    """Whether a row is a compaction boundary.

    The rows before it left the context, except those that the boundary lists as kept.
    """
    return row["type"] == "system" and row.get("subtype") == "compact_boundary"


def is_summary(row: Row) -> bool:
    """Whether a row holds the summary that replaced everything before a compaction."""
    return row["type"] == "user" and bool(row.get("isCompactSummary"))


def blocks(row: Row, kind: str) -> Iterator[Mapping[str, Any]]:
    """The blocks of one type (`tool_use`, `tool_result`) in a row's message."""
    content = as_object(row.get("message")).get("content")
    if is_array(content):
        yield from (b for b in content if is_object(b) and b.get("type") == kind)


def message_id(row: Row) -> str:
    """The id that the rows of one assistant message share; for others, the row's own uuid."""
    return string(as_object(row.get("message")), "id") or row["uuid"]
