"""A strategy that the caller passes instead of a name: how it is run, and what is refused of it."""

import copy
from collections.abc import Callable, Generator, MutableMapping, Sequence
from itertools import pairwise
from typing import Any, cast

from context_compression.conversation.messages import Message, is_array, is_object
from context_compression.display.strings import one_line
from context_compression.errors import IllegalEdit, InvalidSettings, SummaryError
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies.base import Proposal, Strategy
from context_compression.summaries.summarizer import SummaryRequest


def name_of(strategy: Strategy) -> str:
    """The name that results and events give a strategy: its `name`, or that of its class."""
    return one_line(getattr(strategy, "name", "") or type(strategy).__name__)


def is_strategy(value: object) -> bool:
    """Whether a value is an object with the method of a strategy; a class of such objects is not.

    Raises:
        InvalidSettings: it is such a class.
    """
    if isinstance(value, str) or not callable(getattr(value, "propose", None)):
        return False
    if isinstance(value, type):
        name = one_line(value.__name__)
        raise InvalidSettings(f"strategy is the class {name}. Pass an object of it: {name}().")
    return True


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
    given = [copy.deepcopy(message.source) for message in plan.messages]
    try:
        answer: Any = strategy.propose(plan)
        edits: Any = (yield from _answered(strategy, answer)) if _asks(answer) else answer
    finally:
        changed = _put_back(plan, given)
    if changed:
        raise _refused(
            strategy, f"it changed message {changed[0]}, which it was given; it was put back"
        )
    if not is_array(edits):
        raise _refused(strategy, f"it returned {type(edits).__name__}, not a list of Edit")
    if wrong := next(filter(None, (_problem(edit, plan) for edit in edits)), None):
        raise _refused(strategy, wrong)
    ordered = sorted(edits, key=lambda edit: edit.start)
    for before, after in pairwise(ordered):
        if after.start < before.stop:
            raise _refused(strategy, f"{_place(after)} begins within {_place(before)}")
    removed = sum(edit.stop - edit.start for edit in ordered)
    if removed == len(plan.messages) and not any(edit.becomes for edit in ordered):
        raise _refused(strategy, "it left no message")
    try:
        make(ordered)
    except IllegalEdit as error:
        raise _refused(strategy, str(error)) from error
    return ordered


def _asks(answer: object) -> bool:
    return isinstance(answer, Generator)


def _answered(strategy: Strategy, requests: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Passes the requests of a strategy on, and the replies or failures back; returns its edits."""
    reply, failure = None, None
    while True:
        try:
            request = requests.throw(failure) if failure else requests.send(reply)
        except StopIteration as ended:
            return ended.value
        if not isinstance(request, SummaryRequest):
            requests.close()
            raise _refused(strategy, f"it yielded {type(request).__name__}, not a SummaryRequest")
        reply, failure = None, None
        try:
            reply = yield request
        except SummaryError as error:  # the strategy may go on without the summary
            failure = error


def _put_back(plan: Plan, given: Sequence[Any]) -> list[int]:
    """The positions of messages whose objects were changed; they get their contents again."""
    changed: list[int] = []
    for at, (message, before) in enumerate(zip(plan.messages, given, strict=True)):
        source: Any = message.source
        if isinstance(source, MutableMapping) and source != before:
            changed.append(at)
            target = cast("MutableMapping[str, Any]", source)
            target.clear()
            target.update(before)
    return changed


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
    if edit.origins and not _are_origins(edit.origins, len(becomes), count):
        return f"{_place(edit)} has origins that are not one position for each of its messages"
    why: Any = edit.why
    if not is_object(why) or not (edit.record is None or is_object(edit.record)):
        return f"{_place(edit)} has a why or a record that is no dict"
    if pinned := sorted(plan.pins.intersection(range(edit.start, edit.stop))):
        return f"{_place(edit)} changes message {pinned[0]}, which is pinned"
    return ""


def _are_origins(origins: Any, messages: int, count: int) -> bool:
    """Whether there is one position, or `None`, for each of so many messages."""
    if not is_array(origins) or len(origins) != messages:
        return False
    return all(at is None or (isinstance(at, int) and 0 <= at < count) for at in origins)


def _place(edit: Edit) -> str:
    return f"Edit({edit.start}, {edit.stop})"
