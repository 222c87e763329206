"""The minimum size ("floor"): the smallest view of a conversation, and its parts.

Head, pins and the last user message are unshortened. The calls of the open tool step stay; long
arguments of answered calls are shortened. A result of this step that is larger than a preview
becomes one line. What must always stay is in it, too: items of unknown types, and what a provider
compacted; the user's sure rules, up to a share (`rules`); and one note with a ref. Nothing else
stays. Results that the model has not read have a share of the room above it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_compression.conversation.messages import Message
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.planning.selection import tokens_of_text
from context_compression.strategies import measured
from context_compression.strategies.assembling import notes_of, with_labels_of_notes
from context_compression.strategies.forms import Form, Forms, unread_in
from context_compression.strategies.keep import cost, keep_only, with_declarations
from context_compression.strategies.rules import standing_rules, with_rules_shown


@dataclass(frozen=True)
class Unread:
    """The open tool step in a view.

    Attributes:
        forms: the forms of the plan, in which its unread results have their room.
        kept: the form of each message of the step that the room is for, by index; empty if there
            is no room.
        tokens: the tokens of these messages, without pictures that a view may leave out.
    """

    forms: Forms
    kept: Mapping[int, Form]
    tokens: int = 0

    @property
    def shown(self) -> dict[int, Message]:
        """These messages in their forms, by index."""
        return {index: self.forms.plain(index, form) for index, form in self.kept.items()}


def with_room(forms: Forms, most: int, spare: int) -> Unread:
    """The unread results in as many tokens as they may take: whole, or their ends and errors.

    Args:
        forms: the forms of the plan.
        most: the tokens that they may take.
        spare: the tokens that the smallest view leaves, without those of notes that it owes.
    """
    plan, count = forms.plan, forms.plan.counter.message
    indices = unread_in(plan)
    if not indices or spare <= 0:
        return Unread(forms, {})
    step = [index for index in plan.open_step or () if index not in plan.pins]
    least = {index: count(forms.plain(index, Form.LEAST)) for index in step}
    whole = sum(plan.tokens[index] for index in step)
    if whole <= min(most, spare + sum(least.values())):
        return Unread(forms, dict.fromkeys(step, Form.FULL), whole)
    pictures, texts = _tokens_of_results(plan, indices)
    beside = sum(plan.tokens[index] for index in indices) - pictures - texts
    most = min(most, spare + sum(least[index] for index in indices) - pictures)
    tokens = most - beside
    for _ in range(measured.UNREAD_ROUNDS):
        given = forms.with_unread(tokens)
        taken = sum(count(given.plain(i, Form.UNREAD)) for i in indices) - pictures
        if taken <= most:
            kept = {
                i: Form.FULL if given.plain(i, Form.UNREAD) is plan.messages[i] and not pictures
                else Form.UNREAD
                for i in indices
            }  # fmt: skip
            return Unread(given, kept, taken)
        tokens -= taken - most
    return Unread(forms, {})


def _tokens_of_results(plan: Plan, indices: Sequence[int]) -> tuple[int, int]:
    """The tokens of the pictures in the results of some messages, and those of the rest of them."""
    results = [result for index in indices for result in plan.messages[index].results]
    texts = sum(tokens_of_text(result, plan.counter) for result in results)
    return sum(map(plan.counter.block, results)) - texts, texts


RULES, A_REF = "the user's rules", "a note with a ref"
"""The names of parts of the minimum size."""


@dataclass(frozen=True)
class Floor:
    """The edits that lead to the smallest view, its tokens, and the tokens of each of its parts."""

    edits: Sequence[Edit]
    tokens: int
    parts: dict[str, int]


def floor(plan: Plan) -> Floor:
    """The smallest view of a plan; its tokens are without system prompt and tool schemas."""
    forms = Forms(plan)
    bare = _shaped(forms, Form.LEAST)
    kept, rules = with_rules_shown(forms, anchored_forms(plan, Form.LEAST))
    quoted = {i: with_labels_of_notes(forms.quoting, i, slots) for i, slots in rules.items()}
    view = {**with_declarations(plan, kept)}
    notes = notes_of(forms.quoting, view, quoted, 0)
    total = cost(plan, kept, notes)
    if total >= plan.total:
        return Floor((), plan.total, _parts(plan, dict(enumerate(plan.messages))))
    parts, least = _parts(plan, bare), cost(plan, bare, {})
    added = least - sum(parts.values())
    if added > 0:
        parts[_what_notes_do(plan, bare)] = added
    elif added < 0:  # thinking that must go with what changed
        parts[max(parts, key=lambda part: parts[part])] += added
    if total > least:
        parts[RULES if standing_rules(plan) else A_REF] = total - least
    return Floor(keep_only(plan, kept, notes, "floor"), total, parts)


def _parts(plan: Plan, kept: Mapping[int, Message]) -> dict[str, int]:
    parts: dict[str, int] = {}
    for index, message in kept.items():
        part = _part(plan, index)
        parts[part] = parts.get(part, 0) + plan.counter.message(message)
    return parts


def anchored(plan: Plan, room: int, owed: int = 0) -> dict[int, Message]:
    """The anchored messages: unshortened if that leaves half of the room, else with previews.

    Results that the model has not read have their share of the room. If not all previews fit, the
    newest messages have them as far as they fit. The other messages are as small as possible.

    Args:
        plan: the plan of the conversation.
        room: the tokens that the view may take.
        owed: the tokens of it that unread results must leave, in addition to the smallest view.
    """
    forms = Forms(plan)
    if leaves_half(plan, room):
        return _shaped(forms, Form.FULL)
    kept = _shaped(forms, Form.LEAST)
    spare = room - owed - cost(plan, kept, {})
    unread = with_room(forms, int(measured.UNREAD_SHARE * room), spare).shown
    room -= owed if unread else 0
    previews = {**_shaped(forms, Form.PREVIEW), **unread}
    if cost(plan, previews, {}) <= room:
        return previews
    kept |= unread
    for index in reversed(kept):
        larger = {**kept, index: previews[index]}
        if larger != kept and cost(plan, larger, {}) <= room:
            kept = larger
    return kept


def anchored_forms(plan: Plan, form: Form) -> dict[int, Form]:
    """The form of each anchored message, by index: head and pins in full, the others in `form`.

    The other messages of a pin's tool step are not smaller than with previews. The user's words
    are clipped if the plan says so.
    """
    partners = {index for pin in plan.pins for index in plan.step_of(pin) or ()}

    def form_of(index: int) -> Form:
        if index < plan.head or index in plan.pins:
            return Form.FULL
        if plan.clip_chars and index not in (plan.open_step or ()):
            return Form.CLIPPED
        return Form.PREVIEW if form in (Form.LEAST, Form.ENDING) and index in partners else form

    return {index: form_of(index) for index in sorted(plan.anchored)}


def leaves_half(plan: Plan, room: int) -> bool:
    """Whether the anchored messages, unshortened, leave half of the room free."""
    return cost(plan, {index: plan.messages[index] for index in plan.anchored}, {}) <= room // 2


def _shaped(forms: Forms, form: Form) -> dict[int, Message]:
    each = anchored_forms(forms.plan, form)
    return {index: forms.plain(index, form) for index, form in each.items()}


def _part(plan: Plan, index: int) -> str:
    if index < plan.head:
        return "system messages"
    if plan.open_step and index in plan.open_step and index not in plan.pins:
        return "open tool step"
    if not plan.pins.isdisjoint(plan.step_of(index) or (index,)):
        return "pinned messages"  # or other messages of their tool steps
    if any(plan.messages[i].stays for i in plan.step_of(index) or (index,)):
        return "what always stays"
    of_user = index in (plan.last_user, *plan.shown_since) or plan.messages[index].starts_turn
    return "last user message" if of_user else "last message"


def _what_notes_do(plan: Plan, kept: dict[int, Message]) -> str:
    """The purpose of the notes in the smallest view, which may begin with one."""
    first = next((message for index, message in kept.items() if index >= plan.head), None)
    if plan.rules.user_first and first is not None and first.role == "assistant":
        return "a note of ours before it, for the user has to speak first"
    return "notes that keep it valid"
