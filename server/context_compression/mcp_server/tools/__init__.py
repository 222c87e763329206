"""The six tools, a module for each, and `hook.py`, which only hosts' hooks call.

A tool's docstring is its description for the model; the sentence under an argument describes the
argument. The modules `report` and `conversation` of `mcp_server` are shared by the tools.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp.types import CallToolResult

from context_compression.mcp_server.calls import Arguments, Call
from context_compression.mcp_server.tools.compress import (
    COMPRESS_FACTS,
    CompressArguments,
    context_compress,
)
from context_compression.mcp_server.tools.config import (
    CONFIG_FACTS,
    ConfigArguments,
    context_config,
)
from context_compression.mcp_server.tools.offload import (
    OFFLOAD_FACTS,
    OffloadArguments,
    context_offload,
)
from context_compression.mcp_server.tools.restore import RestoreArguments, context_restore
from context_compression.mcp_server.tools.status import (
    STATUS_FACTS,
    StatusArguments,
    context_status,
)
from context_compression.mcp_server.tools.summary import SummaryArguments, context_summary


@dataclass(frozen=True)
class Offer:
    """A tool as clients see it. No tool destroys anything."""

    title: str
    run: Callable[[Call, Any], Awaitable[CallToolResult]]
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
    def name(self) -> str:
        """The name by which models call it."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """The description that a model reads."""
        return " ".join((self.run.__doc__ or "").split())


OFFERS = (
    Offer("Context usage", context_status, StatusArguments, facts=STATUS_FACTS),
    Offer(
        "Compress",
        context_compress,
        CompressArguments,
        writes=True,
        idempotent=False,
        may_ask_a_model=True,
        facts=COMPRESS_FACTS,
    ),
    Offer("Settings", context_config, ConfigArguments, writes=True, facts=CONFIG_FACTS),
    Offer("Summaries", context_summary, SummaryArguments),
    Offer("Archive", context_offload, OffloadArguments, writes=True, facts=OFFLOAD_FACTS),
    Offer("Restore", context_restore, RestoreArguments, always_loaded=True),  # previews name it
)
