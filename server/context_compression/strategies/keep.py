"""The edits that leave only the messages that stay."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from context_compression.conversation.messages import Message
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies.consequences import NOTE, shrinks, with_consequences
from context_compression.strategies.declared import with_declarations


def keep_only(
    plan: Plan,
    kept: Mapping[int, Message],
    notes: Mapping[int, Message],
    reason: str,
    why: Mapping[int, str] | None = None,
) -> Sequence[Edit]:
    """Edits that leave the kept messages, and notes in place of the runs between them.

    Args:
        plan: the plan of the conversation.
        kept: the messages that stay, by index, full or shortened; tool steps must be complete. A
            message without blocks is left out.
        notes: the notes in place of dropped runs, by the first index of the run.
        reason: the reason of every edit.
        why: details for single messages, by index.
    """
    why = why or {}
    edits: list[Edit] = []
    start = 0
    kept = with_declarations(plan, kept)
    order = sorted(index for index, message in kept.items() if message.blocks)
    places = sorted(notes)
    spoken: Message | None = None  # the last message of the view that is not a system message
    for at, index in enumerate([*order, len(plan.messages)]):
        if start < index:
            given = [
                notes[p] for p in places[bisect_left(places, start) : bisect_left(places, index)]
            ]
            rest = (kept[order[i]] for i in range(at, len(order)))
            after = next((message for message in rest if not message.is_system), None)
            if _is_inside_a_step(plan, start, index):
                given = []  # a note would part calls from their results
            elif not given and _user_is_due(plan, spoken, after):
                given = [NOTE]
            spoken = given[-1] if given else spoken
            reasons = {i: why[i] for i in range(start, index) if i in why}
            nobody = (None,) * len(given)
            needed = _parts_a_step(plan, start, index)
            edits.append(
                Edit(start, index, tuple(given), reason, reasons, origins=nobody, needed=needed)
            )
        start = index + 1
        if index == len(plan.messages):
            break
        if not kept[index].is_system:
            spoken = kept[index]
        if kept[index] is not plan.messages[index]:
            reasons = {index: why[index]} if index in why else {}
            edits.append(Edit(index, index + 1, (kept[index],), reason, reasons))
    if plan.bound and not plan.drops_thinking:
        edits = [*_with_uniform_loops(plan, [edit for edit in edits if shrinks(plan, edit)])]
    return with_consequences(plan, edits)


def _is_inside_a_step(plan: Plan, start: int, stop: int) -> bool:
    """Whether the messages before and after a range belong to the same tool step."""
    step = plan.step_of(start)
    return step is not None and step.start < start and stop < step.stop


def _parts_a_step(plan: Plan, start: int, stop: int) -> bool:
    """Whether only a part of a tool step is in a range, as beside an item that always stays.

    Then its other parts are gone, so this one goes, too, even if a note in its place is longer.
    """
    ends = (plan.step_of(start), plan.step_of(stop - 1))
    return any(step and (step.start < start or stop < step.stop) for step in ends)


def cost(plan: Plan, kept: Mapping[int, Message], notes: Mapping[int, Message]) -> int:
    """Tokens of the view that the edits of `keep_only` would make."""
    return plan.total - saved_by(plan, keep_only(plan, kept, notes, ""))


def saved_by(plan: Plan, edits: Sequence[Edit]) -> int:
    """Tokens that edits save; those that would not shrink their messages are not made."""
    saved = 0
    for edit in edits:
        freed = sum(plan.tokens[edit.start : edit.stop])
        freed -= sum(map(plan.counter.message, edit.becomes))
        saved += freed if edit.needed else max(0, freed)
    return saved


def _user_is_due(plan: Plan, before: Message | None, after: Message | None) -> bool:
    """Whether a user message is needed between two kept messages, so that roles stay in order."""
    if not plan.rules.user_first or after is None or after.role != "assistant":
        return False
    return before is None or before.role not in ("user", "tool")


def _with_uniform_loops(plan: Plan, edits: Sequence[Edit]) -> Iterator[Edit]:
    """The edits, with notes that divide each tool loop that would show only part of its thinking.

    All edits of such a turn become one edit, so that it is made completely or not at all.
    """
    turn_of = {index: turn for turn in plan.turns for index in turn}
    for turn, group in groupby(edits, lambda edit: turn_of.get(edit.start)):
        changes = list(group)
        if turn is None or changes[-1].stop > turn.stop:  # the head, or more than one turn
            yield from changes
            continue
        divided = _divided(plan, turn, changes)
        yield from [divided] if divided else changes


def _divided(plan: Plan, turn: range, changes: Sequence[Edit]) -> Edit | None:
    """One edit for a turn that keeps only part of its thinking; `None` if no note is needed."""
    by_start = {edit.start: edit for edit in changes}
    becomes: list[Message] = []
    origins: list[int | None] = []
    shown: bool | None = None
    notes = 0
    index = changes[0].start
    for before in range(turn.start, index):
        if plan.messages[before].has_bound_thinking:
            shown = True
    while index < turn.stop:
        edit = by_start.get(index)
        messages = edit.becomes if edit else (plan.messages[index],)
        for message in messages:
            if message.starts_turn:
                shown = None
            if plan.messages[index].has_bound_thinking and message.role == "assistant":
                if shown not in (None, message.has_bound_thinking):
                    becomes.append(NOTE)
                    origins.append(None)
                    notes += 1
                shown = message.has_bound_thinking
            becomes.append(message)
            origins.append(index if message.role == plan.messages[index].role else None)
        index = edit.stop if edit else index + 1
    if not notes:
        return None
    reasons = {i: reason for edit in changes for i, reason in edit.why.items()}
    first = changes[0]
    return Edit(
        first.start, turn.stop, tuple(becomes), first.reason, reasons, origins=tuple(origins)
    )
