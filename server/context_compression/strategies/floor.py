"""The floor: the smallest view there is, and what it is made of.

Head, pins and the last user message are unshortened. Of the open tool step the calls stay, with
long arguments shortened once they are answered, and the results, one line for each that is larger
than a preview. Nothing else stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from context_compression.conversation.messages import Message
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.keep import cost, keep_only


@dataclass(frozen=True)
class Floor:
    """The edits that lead to the floor, its tokens, and the tokens that each part takes."""

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
    """The anchored messages: unshortened where that leaves half of the room, else with previews.

    Where the previews do not fit, the newest that do; the other messages as small as they get.
    """
    if leaves_half(plan, room):
        return _shaped(plan, Form.FULL)
    previews = _shaped(plan, Form.PREVIEW)
    if cost(plan, previews, {}) <= room:
        return previews
    kept = smallest(plan)
    for index in reversed(kept):
        larger = {**kept, index: previews[index]}
        if larger != kept and cost(plan, larger, {}) <= room:
            kept = larger
    return kept


def anchored_forms(plan: Plan, form: Form) -> dict[int, Form]:
    """The form of each anchored message, by index: head and pins in full, the rest in `form`.

    The partners of pins, calls of results or results of calls, are not smaller than with previews.
    """
    partners = {index for pin in plan.pins for index in plan.step_of(pin) or ()}

    def form_of(index: int) -> Form:
        if index < plan.head or index in plan.pins:
            return Form.FULL
        return Form.PREVIEW if form is Form.LEAST and index in partners else form

    return {index: form_of(index) for index in sorted(plan.anchored)}


def leaves_half(plan: Plan, room: int) -> bool:
    """Whether the anchored messages, unshortened, leave half of the room free."""
    return cost(plan, {index: plan.messages[index] for index in plan.anchored}, {}) <= room // 2


def smallest(plan: Plan) -> dict[int, Message]:
    """The anchored messages, as small as they may get."""
    return _shaped(plan, Form.LEAST)


def _shaped(plan: Plan, form: Form) -> dict[int, Message]:
    forms = Forms(plan)
    return {index: forms.shaped(index, each) for index, each in anchored_forms(plan, form).items()}


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
    if plan.rules.user_first and first is not None and first.role == "assistant":
        return "a note of ours before it, for the user has to speak first"
    return "notes that keep it valid"
