"""Fits an agent's conversation into its context window and loses nothing.

`compress` makes a smaller, valid view of a conversation; `Session` keeps one conversation on disk;
`count_tokens`, `usage` and `should_compress` say how full a context is.

The rooms, in the order the data walks: `conversation` reads dicts into messages; `tokens` counts;
`evidence` finds what matters; `planning` says where one may cut; `strategies` propose edits;
`compression` applies them and reports; `store` and `session` keep what left; `hosts` knows the
programs whose conversations they are; `mcp_server` and `cli` are the doors.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_compression.compression.result import Result
    from context_compression.errors import BudgetTooSmall, ContextCompressionError
    from context_compression.library import acompress, compress, should_compress
    from context_compression.session import Session
    from context_compression.session.restoring import restore_tool
    from context_compression.settings import Settings
    from context_compression.store import Store
    from context_compression.strategies.truncate import truncate_tool_output
    from context_compression.tokens.usage import Usage, count_tokens, usage

__all__ = [
    "BudgetTooSmall",
    "ContextCompressionError",
    "Result",
    "Session",
    "Settings",
    "Store",
    "Usage",
    "acompress",
    "compress",
    "count_tokens",
    "restore_tool",
    "should_compress",
    "truncate_tool_output",
    "usage",
]

_PLACES = {
    "compression.result": ("Result",),
    "errors": ("BudgetTooSmall", "ContextCompressionError"),
    "library": ("acompress", "compress", "should_compress"),
    "session.restoring": ("restore_tool",),
    "session": ("Session",),
    "settings": ("Settings",),
    "store": ("Store",),
    "strategies.truncate": ("truncate_tool_output",),
    "tokens.usage": ("Usage", "count_tokens", "usage"),
}
_ROOMS = frozenset(path.stem for path in Path(__file__).parent.iterdir() if path.stem[0] != "_")


def __getattr__(name: str) -> Any:
    """A public name or a room, imported when it is used: a shell waits for each completion."""
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    for place, names in _PLACES.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{place}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
