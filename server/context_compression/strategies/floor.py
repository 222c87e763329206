"""The floor: the smallest view there is, and what it is made of.

Head, pins and the last user message whole; the open tool step with its calls and its results at
preview size; nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from context_compression.edits import Edit
from context_compression.messages import Message
from context_compression.plan import Plan
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.keep import cost, keep_only


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
        parts[_what_notes_do(plan, kept)] = notes
    return Floor(keep_only(plan, kept, {}, "floor"), total, parts)


def anchored(plan: Plan, room: int) -> dict[int, Message]:
    """What is anchored: whole where that leaves most of the room free, else as small as it gets."""
    forms = Forms(plan)
    return {index: forms.shaped(index, form) for index, form in anchored_forms(plan, room).items()}


def anchored_forms(plan: Plan, room: int | None) -> dict[int, Form]:
    """The form of what is anchored; `room=None`: as small as it gets."""
    whole = dict.fromkeys(sorted(plan.anchored), Form.WHOLE)
    if room is not None:
        view = {index: plan.messages[index] for index in whole}
        if cost(plan, view, {}) <= room // 2:
            return whole
    return {i: Form.WHOLE if i < plan.head or i in plan.pins else Form.PREVIEW for i in whole}


def smallest(plan: Plan) -> dict[int, Message]:
    """What is anchored, as small as it may get: results at preview size unless pinned."""
    forms = Forms(plan)
    return {index: forms.shaped(index, form) for index, form in anchored_forms(plan, None).items()}


def _part(plan: Plan, index: int) -> str:
    if index < plan.head:
        return "system messages"
    if plan.open_step and index in plan.open_step and index not in plan.pins:
        return "open tool step"
    if not plan.pins.isdisjoint(plan.step_of(index) or (index,)):
        return "pins"  # or what they need: the calls of results, the results of calls
    of_user = index in (plan.last_user, *plan.shown_since) or plan.messages[index].starts_turn
    return "last user message" if of_user else "last message"


def _what_notes_do(plan: Plan, kept: dict[int, Message]) -> str:
    """What the notes of the smallest view are for; a view may begin with one."""
    first = next((message for index, message in kept.items() if index >= plan.head), None)
    if plan.user_first and first is not None and first.role == "assistant":
        return "a note of ours before it, for the user has to speak first"
    return "notes that keep it valid"
