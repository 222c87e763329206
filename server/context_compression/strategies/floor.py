"""The floor: the smallest view there is, and what it is made of.

Head, pins and the last user message whole; the open tool step with its calls and its results at
preview size; nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from context_compression.edits import Edit
from context_compression.messages import Message
from context_compression.plan import Plan
from context_compression.selection import tool_names
from context_compression.strategies.keep import cost, keep_only
from context_compression.strategies.offload import to_preview
from context_compression.strategies.tool_results import with_short_results


@dataclass(frozen=True)
class Floor:
    """The edits that lead to the floor, its tokens, and those tokens by what they are spent on."""

    edits: Sequence[Edit]
    tokens: int
    parts: dict[str, int]


def floor(plan: Plan) -> Floor:
    """The floor of a plan, by the counter's count (without system prompt and tool schemas)."""
    kept = smallest(plan)
    parts: dict[str, int] = {}
    for index, message in kept.items():
        part = _part(plan, index)
        parts[part] = parts.get(part, 0) + plan.counter.message(message)
    total = cost(plan, kept, {})
    if notes := total - sum(parts.values()):
        parts["notes that keep it valid"] = notes
    return Floor(keep_only(plan, kept, {}, "floor"), total, parts)


def anchored(plan: Plan, room: int) -> dict[int, Message]:
    """What is anchored: whole where that leaves most of the room free, else as small as it gets."""
    whole = {index: plan.messages[index] for index in sorted(plan.anchored)}
    return whole if cost(plan, whole, {}) <= room // 2 else smallest(plan)


def smallest(plan: Plan) -> dict[int, Message]:
    """What is anchored, as small as it may get: results at preview size unless pinned."""
    names = tool_names(plan)
    preview = to_preview(plan)
    kept: dict[int, Message] = {}
    for index in sorted(plan.anchored):
        message = plan.messages[index]
        if message.results and index not in plan.pins:
            shorter = with_short_results(message, index, plan, names, preview)
            if plan.counter.message(shorter) < plan.tokens[index]:
                message = shorter
        kept[index] = message
    return kept


def _part(plan: Plan, index: int) -> str:
    if index < plan.head:
        return "system messages"
    if index in plan.pins:
        return "pins"
    if plan.open_step and index in plan.open_step:
        return "open tool step"
    return "last user message"
