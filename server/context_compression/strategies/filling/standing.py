"""The user's standing rules: the sure constraints that belong to the minimum size.

They are as many as fit in a share of the window and of the conversation, the newest first. They
stand verbatim in each view.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from context_compression.conversation.authors import EXCERPTS, holds_excerpts
from context_compression.conversation.digest_notes import is_digest
from context_compression.conversation.messages import Message, texts_of, user
from context_compression.conversation.rendering import Span
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.consequences import shrinks
from context_compression.strategies.filling.rules import rules_in, words_in
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.tool_results import Slots


class Standing(NamedTuple):
    """A standing rule of the user: its place, its words, and the tokens to quote it."""

    message: int
    slot: int
    start: int
    stop: int
    words: str
    tokens: int


def standing_rules(plan: Plan) -> Sequence[Standing]:
    """The user's sure constraints that stand in each view: typed ones first, the newest first."""
    places = [
        (index, slot, words)
        for index, message in enumerate(plan.messages)
        if index >= plan.head
        for slot, block in enumerate(message.blocks)
        if (words := words_in(block, message))
    ]
    texts = [(number, words) for number, (*_, words) in enumerate(places)]
    of = min(plan.settings.token_budget, plan.total)
    left = max(measured.RULES_SHARE * of, measured.LEAST_RULES_TOKENS)
    chosen: list[Standing] = []
    for rule in rules_in(plan, texts, 0):
        if rule.sure and rule.tokens <= left:
            left -= rule.tokens
            number, start, stop = rule.place
            index, slot, (text, _) = places[number]
            chosen.append(Standing(index, slot, start, stop, text[start:stop], rule.tokens))
    return chosen


def with_rules_shown(
    forms: Forms, kept: Mapping[int, Form]
) -> tuple[dict[int, Message], dict[int, Slots]]:
    """The kept messages in their forms with their standing rules, and the others' to quote."""
    shown = {index: forms.plain(index, form) for index, form in kept.items()}
    places: dict[int, dict[tuple[int, str], list[Span]]] = {}
    for rule in lacking(standing_rules(forms.plan), shown):
        spans = places.setdefault(rule.message, {}).setdefault((rule.slot, ""), [])
        spans.append((rule.start, rule.stop))
    for index in [*places]:
        if index in kept:
            shown[index] = forms.shaped(index, kept[index], places.pop(index))
    return shown, {**places}


def lacking(rules: Iterable[Standing], shown: Mapping[int, Message]) -> list[Standing]:
    """The rules that the shown message of their place does not hold; messages are by index."""
    return [
        rule
        for rule in rules
        if rule.message not in shown or not _holds(shown[rule.message], rule.words)
    ]


def missing_after(plan: Plan, edits: Iterable[Edit]) -> list[Standing]:
    """The standing rules that would not stand in the view after some edits.

    What a summary says of a rule does not count, because it is not quoted there as the user's.
    """
    made = [edit for edit in edits if edit.needed or shrinks(plan, edit)]
    covered = {index for edit in made for index in range(edit.start, edit.stop)}
    becomes = [
        message
        for edit in made
        for message, origin in zip(edit.becomes, edit.origins_in(plan.messages), strict=True)
        if origin is not None or holds_excerpts(message.text) or is_digest(message.text)
    ]
    return [
        rule
        for rule in standing_rules(plan)
        if rule.message in covered and not any(_holds(message, rule.words) for message in becomes)
    ]


def with_standing_rules(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits, with one note that quotes the standing rules that would be missing after them.

    The note stands behind the first place where one of them was and a message may begin. Without
    such a place the edits are unchanged.
    """
    missing = missing_after(plan, edits)
    if not missing:
        return edits
    for at, edit in enumerate(edits):
        inside = any(edit.start <= rule.message < edit.stop for rule in missing)
        calls = bool(edit.becomes) and bool(edit.becomes[-1].calls)
        if inside and not calls and plan.is_cut(edit.stop):
            origins = (*edit.origins_in(plan.messages), None)
            more = replace(edit, becomes=(*edit.becomes, rules_note(missing)), origins=origins)
            return [*edits[:at], more, *edits[at + 1 :]]
    return edits


def rules_note(rules: Sequence[Standing]) -> Message:
    """A note that quotes some rules, the oldest first."""
    lines = (f"[User] {rule.words}" for rule in sorted(rules))
    return user("\n".join([f"{EXCERPTS}:", *lines]))


def _holds(message: Message, words: str) -> bool:
    return any(words in text for block in message.blocks for text in texts_of(block))
