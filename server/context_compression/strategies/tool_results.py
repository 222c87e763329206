"""Shortening tool results one by one, oldest first, until the room suffices.

The newest tool step stays untouched, and so does whatever was restored once: taking it away again
would start a loop.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from context_compression.edits import Edit
from context_compression.messages import Message, ToolResult
from context_compression.plan import Plan, ref_of
from context_compression.selection import tool_names

Shorten: TypeAlias = Callable[[ToolResult, str, int], ToolResult]
"""From a result, its tool's name and its message's index to a shorter result, or itself."""


def shorten_results(plan: Plan, shorten: Shorten, reason: str) -> Sequence[Edit]:
    """Edits that shorten the results of all but the newest tool step while there is need."""
    newest = plan.steps[-1] if plan.steps else range(0)
    names = tool_names(plan)
    edits: list[Edit] = []
    total = plan.total
    for index, message in enumerate(plan.messages):
        if plan.room is not None and total <= plan.room:
            break
        if not message.results or index in newest or index in plan.pins:
            continue
        becomes = with_short_results(message, index, plan, names, shorten)
        saved = plan.tokens[index] - plan.counter.message(becomes)
        if saved > 0:
            total -= saved
            edits.append(Edit(index, index + 1, (becomes,), reason))
    return edits


def with_short_results(
    message: Message, index: int, plan: Plan, names: dict[str, str], shorten: Shorten
) -> Message:
    """The message with its results shortened; itself when nothing changed."""

    def settle(result: ToolResult) -> ToolResult:
        name = names.get(result.call_id, "tool")
        if name.endswith("context_restore") or ref_of(result.text) in plan.archive.restored:
            return result
        return shorten(result, name, index)

    blocks = tuple(settle(b) if isinstance(b, ToolResult) else b for b in message.blocks)
    return message if blocks == message.blocks else message.with_blocks(blocks)
