"""Fits an agent's conversation into its context window and loses nothing.

`compress` makes a smaller, valid view of a conversation; `Session` keeps one conversation on disk;
`count_tokens`, `usage` and `should_compress` say how full a context is.

The rooms, in the order the data walks: `conversation` reads dicts into messages; `tokens` counts;
`evidence` finds what matters; `planning` says where one may cut; `strategies` propose edits;
`compression` applies them and reports; `store` and `session` keep what left; `hosts` knows the
programs whose conversations they are; `mcp_server` and `cli` are the doors.
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.compression.result import Result
    from context_compression.errors import BudgetTooSmall, ContextCompressionError
    from context_compression.library import acompress, compress, should_compress
    from context_compression.session import Session
    from context_compression.session.restoring import restore_tool
    from context_compression.settings import Settings
    from context_compression.store import Store
    from context_compression.strategies.tool_results import truncate_tool_output
    from context_compression.tokens.usage import Usage, count_tokens, usage

__all__ = [
    "BudgetTooSmall", "ContextCompressionError", "Result", "Session", "Settings", "Store", "Usage",
    "acompress", "compress", "count_tokens", "restore_tool", "should_compress",
    "truncate_tool_output", "usage",
]  # fmt: skip

__getattr__ = on_demand(  # a shell waits for each completion, and a host for each hook
    __name__,
    {
        "errors": ("BudgetTooSmall", "ContextCompressionError"),
        "compression.result": ("Result",),
        "session": ("Session",),
        "settings": ("Settings",),
        "store": ("Store",),
        "tokens.usage": ("Usage", "count_tokens", "usage"),
        "library": ("acompress", "compress", "should_compress"),
        "session.restoring": ("restore_tool",),
        "strategies.tool_results": ("truncate_tool_output",),
    },
)
