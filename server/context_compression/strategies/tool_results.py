"""Shortens tool results one by one, the oldest first, until the conversation fits its room.

The newest tool step stays unchanged. Restored texts stay, too, because shortening them again would
start a loop. A strategy shortens one result (`truncate`, `offload`); this module makes an `Edit` of
the message, which `planning.edits.apply` applies.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from context_compression.conversation.messages import Message, ToolResult
from context_compression.conversation.rendering import Span
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.planning.selection import tokens_of_text, tool_names

Slots: TypeAlias = Mapping[tuple[int, str], Sequence[Span]]
"""Spans of a message to show, by `(block, key)`. The key names a call's text; for other blocks it
is empty."""
NO_SLOTS: Slots = {}
Shorten: TypeAlias = Callable[[ToolResult, str, int, Sequence[Span]], ToolResult]
"""`shorten(result, tool, index, spans)` returns a shorter result, or the same one. `index` is the
index of its message; `spans` are parts of its text that must stay."""


def with_results(plan: Plan) -> Sequence[int]:
    """The messages whose results may be shortened: all except pins and the newest step."""
    newest = plan.steps[-1] if plan.steps else range(0)
    return [
        index
        for index, message in enumerate(plan.messages)
        if index not in newest and index not in plan.pins and message.results
    ]


def shorten_results(plan: Plan, shorten: Shorten, reason: str) -> Sequence[Edit]:
    """Edits that shorten results, the oldest first, until the conversation fits its room.

    Each edit replaces one message by a copy with shorter results: `Edit(4, 5, (shorter,), reason)`.
    Pins and the newest step are not shortened.
    """
    names = tool_names(plan)
    edits: list[Edit] = []
    total = plan.total
    for index in with_results(plan):
        message = plan.messages[index]
        if plan.room is not None and total <= plan.room and index >= plan.batch:
            break
        becomes = with_short_results(message, index, plan, names, shorten)
        saved = plan.tokens[index] - plan.counter.message(becomes)
        if saved > 0:
            total -= saved
            edits.append(Edit(index, index + 1, (becomes,), reason))
    return edits


def least_left(plan: Plan) -> int:
    """The tokens that are left if all results that may be shortened were removed completely."""
    settings = plan.settings
    return plan.total - sum(
        tokens
        for index in with_results(plan)
        for result in plan.messages[index].results
        if (tokens := tokens_of_text(result, plan.counter)) >= settings.offload_min_tokens
        or len(result.text) > settings.max_tool_output
    )


def with_short_results(
    message: Message,
    index: int,
    plan: Plan,
    names: Mapping[str, str],
    shorten: Shorten,
    slots: Slots = NO_SLOTS,
) -> Message:
    """The message with its results shortened; the same object if nothing changed."""

    def settle(result: ToolResult, slot: int) -> ToolResult:
        name = names.get(result.call_id, "tool")
        archive = plan.archive
        if name.endswith("context_restore") or archive.ref_of(result.text) in archive.restored:
            return result
        return shorten(result, name, index, slots.get((slot, ""), ()))

    blocks = tuple(
        settle(block, slot) if isinstance(block, ToolResult) else block
        for slot, block in enumerate(message.blocks)
    )
    return message if blocks == message.blocks else message.with_blocks(blocks)
