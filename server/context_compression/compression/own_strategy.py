"""A strategy that the caller passes instead of a name: how it is run, and what is refused of it."""

from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from typing import Any, cast

from context_compression.conversation.messages import Message, is_array
from context_compression.errors import IllegalEdit, InvalidSettings
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies.base import Proposal, Strategy


def name_of(strategy: Strategy) -> str:
    """The name that results and events give a strategy: its `name`, or that of its class."""
    return str(getattr(strategy, "name", "") or type(strategy).__name__)


def is_strategy(value: object) -> bool:
    """Whether a value has the method of a strategy."""
    return not isinstance(value, str) and callable(getattr(value, "propose", None))


def check_name(name: str, names: Sequence[str]) -> None:
    """Refuse a strategy that takes the name of one of ours.

    Raises:
        InvalidSettings: it does.
    """
    if name in names:
        raise InvalidSettings(
            f"Your strategy is named {name!r}, as one of ours. Give it another `name`, or pass "
            f'the text "{name}" for ours. Nothing was changed.'
        )


def proposed_by(
    strategy: Strategy, plan: Plan, make: Callable[[Sequence[Edit]], object]
) -> Proposal:
    """The edits of the caller's strategy, in their order; requests it makes are passed on.

    Args:
        strategy: the caller's.
        plan: what it gets.
        make: makes the view of edits; raises `IllegalEdit` if a provider would refuse it.

    Raises:
        IllegalEdit: it returned no edits, or impossible ones; the message names the strategy.
    """
    answer: Any = strategy.propose(plan)
    edits: Any = answer
    if isinstance(answer, Generator):
        edits = yield from cast("Proposal", answer)
    if not is_array(edits):
        raise _refused(strategy, f"it returned {type(edits).__name__}, not a list of Edit")
    if wrong := next(filter(None, (_problem(edit, plan) for edit in edits)), None):
        raise _refused(strategy, wrong)
    ordered = sorted(cast("Sequence[Edit]", edits), key=lambda edit: edit.start)
    for before, after in pairwise(ordered):
        if after.start < before.stop:
            raise _refused(strategy, f"{_place(after)} begins within {_place(before)}")
    try:
        make(ordered)
    except IllegalEdit as error:
        raise _refused(strategy, str(error)) from error
    return ordered


def _refused(strategy: Strategy, why: str) -> IllegalEdit:
    """The error for a proposal that cannot be made."""
    reason = why.removesuffix(".")
    return IllegalEdit(
        f"The strategy {name_of(strategy)} was refused: {reason}. Nothing was changed."
    )


def _problem(edit: Any, plan: Plan) -> str:
    """Why an edit cannot be made, by itself; "" if it can."""
    if not isinstance(edit, Edit):
        return f"it returned {type(edit).__name__} among its edits, not an Edit"
    positions: tuple[Any, ...] = (edit.start, edit.stop)
    count = len(plan.messages)
    if not all(isinstance(at, int) for at in positions) or not 0 <= edit.start < edit.stop <= count:
        return f"{_place(edit)} lies outside the {count:,} messages, or is empty"
    becomes: Any = edit.becomes
    if not is_array(becomes) or not all(isinstance(each, Message) for each in becomes):
        return f"{_place(edit)} does not become a tuple of Message"
    if pinned := sorted(plan.pins.intersection(range(edit.start, edit.stop))):
        return f"{_place(edit)} changes message {pinned[0]}, which is pinned"
    return ""


def _place(edit: Edit) -> str:
    return f"Edit({edit.start}, {edit.stop})"
