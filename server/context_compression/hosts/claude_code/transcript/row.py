"""A row of a Claude Code transcript: what it is, and what is in it."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.transcripts.lines import string

Row: TypeAlias = Mapping[str, Any]

MESSAGES = {"user", "assistant", "system", "attachment"}


def is_compaction(row: Row) -> bool:
    """Whether everything before this row left the context, but for what the row says was kept."""
    return row["type"] == "system" and row.get("subtype") == "compact_boundary"


def is_summary(row: Row) -> bool:
    """Whether the row holds what a compaction put in the place of everything before."""
    return row["type"] == "user" and bool(row.get("isCompactSummary"))


def blocks(row: Row, kind: str) -> Iterator[Mapping[str, Any]]:
    """The blocks of one type (`tool_use`, `tool_result`) in a row's message."""
    content = as_object(row.get("message")).get("content")
    if is_array(content):
        yield from (b for b in content if is_object(b) and b.get("type") == kind)


def message_id(row: Row) -> str:
    """The id that the rows of one assistant message share."""
    return string(as_object(row.get("message")), "id") or row["uuid"]
