"""The six tools as clients see them; a module for each answers, and `hook.py` the hosts' hooks."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp.types import CallToolResult

from context_compression.mcp_server.arguments import (
    Arguments,
    CompressArguments,
    ConfigArguments,
    OffloadArguments,
    RestoreArguments,
    StatusArguments,
    SummaryArguments,
)

if TYPE_CHECKING:
    from context_compression.mcp_server.calls import Call


@dataclass(frozen=True)
class Offer:
    """A tool as clients see it. No tool destroys anything."""

    name: str
    title: str
    arguments: type[Arguments]
    writes: bool = False
    idempotent: bool = True
    may_ask_a_model: bool = False
    facts: Mapping[str, type] = field(default_factory=dict[str, type])
    """What programs find in its structured content; empty for a tool that answers with text."""
    always_loaded: bool = False
    """whether Claude Code puts it into the prompt at once, and not behind its tool search"""

    @property
    def meta(self) -> dict[str, Any] | None:
        """The `_meta` of the tool: what single hosts do with it."""
        return {"anthropic/alwaysLoad": True} if self.always_loaded else None

    @property
    def run(self) -> "Callable[[Call, Any], Awaitable[CallToolResult]]":
        """What answers a call; its module is imported when this is first asked."""
        module = import_module(f"{__name__}.{self.name.removeprefix('context_')}")
        return getattr(module, self.name)

    @property
    def description(self) -> str:
        """The description that a model reads."""
        return " ".join((self.arguments.__doc__ or "").split())


JSON_TYPES: Mapping[type, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object",
}  # fmt: skip


def output_schema(facts: Mapping[str, type]) -> dict[str, Any] | None:
    """The schema of an answer's structured content, for programs; `None` without facts.

    It lists what a program reads. An answer may leave each of them out, and may have more.
    """
    if not facts:
        return None
    listed = {name: {"type": JSON_TYPES[kind]} for name, kind in {"headline": str, **facts}.items()}
    return {"type": "object", "properties": listed, "required": ["headline"]}


REPORT_FACTS: Mapping[str, type] = {
    "changed": bool,
    "session": str,
    "messages_before": int,
    "messages_after": int,
    "tokens_before": int,
    "tokens_after": int,
    "tokens_freed": int,
    "refs_of_this_call": int,
    "refs": dict,
    "note": str,
}
"""What programs find in a report."""
STATUS_FACTS: Mapping[str, type] = {
    "used_tokens": int,
    "total_budget": int,
    "usage_percent": float,
    "remaining": int,
    "compression_due": bool,
    "session": str,
    "transcript": str,
    "messages": int,
    "tokens_by_kind": dict,
    "host_compactions": str,
    "tokens_saved": int,
    "refs_total": int,
    "newest_refs": dict,
    "conversation_known": bool,
    "archived": dict,
}
COMPRESS_FACTS: Mapping[str, type] = {
    **REPORT_FACTS,
    "target_met": bool,
    "plan_id": str,
    "instructions": str,
    "next_call": str,
    "messages": list,
}
"""What programs find in a report, or in the answer that asks for a summary."""
CONFIG_FACTS: Mapping[str, type] = {"settings": dict, "changed": dict, "config_file": str}
OFFLOAD_FACTS: Mapping[str, type] = {
    "ref": str,
    "what": str,
    "lines": int,
    "tokens": int,
    "preview": str,
    **REPORT_FACTS,
}

OFFERS = (
    Offer("context_status", "Context usage", StatusArguments, facts=STATUS_FACTS),
    Offer(
        "context_compress",
        "Compress",
        CompressArguments,
        writes=True,
        idempotent=False,
        may_ask_a_model=True,
        facts=COMPRESS_FACTS,
    ),
    Offer("context_config", "Settings", ConfigArguments, writes=True, facts=CONFIG_FACTS),
    Offer("context_summary", "Summaries", SummaryArguments),
    Offer("context_offload", "Archive", OffloadArguments, writes=True, facts=OFFLOAD_FACTS),
    Offer("context_restore", "Restore", RestoreArguments, always_loaded=True),  # previews name it
)
