"""The room that the results take that the model has not read, and the forms of their messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_compression.conversation.messages import Message
from context_compression.planning.plan import Plan
from context_compression.planning.selection import tokens_of_text
from context_compression.strategies import measured
from context_compression.strategies.forms import Form, Forms, unread_in


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
