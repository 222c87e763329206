"""The edits that leave only the messages that stay, and those that follow from them.

Further edits that follow from a strategy's edits, so that the provider accepts the view. If a
strategy changes messages, bound thinking after them must be dropped, items may no longer name
reasoning that is missing, and notes may be needed so that roles alternate. These edits are counted
like any others. For a provider that accepts none of the model's thinking, all of it is dropped.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from context_compression.conversation.authors import is_our_note
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Edited,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    user,
)
from context_compression.conversation.validity import Repaired, one_of
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.settings import Settings
from context_compression.tokens import takes_thinking_anywhere


def with_declarations(plan: Plan, kept: Mapping[int, Message]) -> Mapping[int, Message]:
    """The kept messages, with the declarations of the tools that they call.

    If the declaring message was not kept, only its declaration is added, with the call that it
    answers.

    Args:
        plan: the plan of the conversation.
        kept: the messages that stay, by index.
    """
    if not plan.declared:
        return kept
    shown = {name for message in kept.values() for name in message.declares}
    called = {call.name: index for index, m in sorted(kept.items()) for call in m.calls}
    added: dict[int, Message] = {}
    for name in sorted(plan.declared.keys() & called.keys() - shown):
        places = plan.declared[name]
        last = next((at for at in reversed(places) if at < called[name]), places[0])
        added |= _declaration(plan, last)
    return {**added, **kept}


def _declaration(plan: Plan, at: int) -> dict[int, Message]:
    """The declarations of tools in the message at an index, with the call that they answer."""
    blocks = plan.messages[at].blocks
    calls = {
        b.call_id for b in blocks if isinstance(b, ToolResult) and any(map(_declares, b.content))
    }
    units = {b.unit for b in blocks if isinstance(b, Opaque) and b.declares and b.unit}

    def belongs(block: Block) -> bool:
        match block:
            case ToolCall():
                return block.id in calls
            case ToolResult():
                return block.call_id in calls
            case Opaque():
                return block.unit in units
            case _:
                return False

    declaring: dict[int, Message] = {}
    for index in plan.step_of(at) or (at,):
        message = plan.messages[index]
        left = tuple(filter(belongs, message.blocks))
        if left:
            declaring[index] = message if left == message.blocks else message.with_blocks(left)
    return declaring


def _declares(part: Block) -> bool:
    return isinstance(part, Opaque) and bool(part.declares)


Entry: TypeAlias = tuple[Message, int | None]
"""A message of a view, and the index of the message it stands for; `None` for a new message."""
NOTE = user(f"{COMPRESSED} Messages are shortened or not shown here.")
"""Put where roles would get out of order, or where a tool loop shows only part of its thinking."""
NO_ANSWER = assistant(f"{COMPRESSED} My answer is not shown here.")
"""Put between two user messages whose answer was removed, if roles must alternate."""


def with_consequences(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits that will be made, and the edits that follow from them."""
    bound = plan.bound and plan.drops_thinking
    if not (bound or plan.rules.reasoning_apart or plan.rules.alternates):
        return edits
    made: Sequence[Edit] = [edit for edit in edits if edit.needed or shrinks(plan, edit)]
    if bound:
        made = without_bound(plan, made)
    if plan.rules.reasoning_apart:
        made = _with_reasoning(plan, made)
    return _alternating(plan, made) if plan.rules.alternates and made else made


def shrinks(plan: Plan, edit: Edit) -> bool:
    """Whether an edit makes its messages smaller; other edits are not made."""
    tokens = sum(plan.tokens[edit.start : edit.stop])
    return sum(map(plan.counter.message, edit.becomes)) < tokens


def without_bound(plan: Plan, edits: Sequence[Edit], first: int | None = None) -> Sequence[Edit]:
    """The edits, extended so that no bound thinking is left after the first change.

    Thinking is dropped for complete tool loops. The loop of the first change therefore loses its
    thinking before the change, too.

    Args:
        plan: the plan of the conversation.
        edits: the edits that will be made.
        first: the index of a message that changes in any case.
    """
    starts = [edit.start for edit in edits] + ([] if first is None else [first])
    if not starts:
        return edits
    start = min(starts)
    turn = next((turn for turn in plan.turns if start in turn), range(start, start))
    gone = [index for index in plan.bound if index >= turn.start or index >= start]
    return (
        _changed(plan, edits, gone, lambda message, _: unbound(message), "thinking")
        if gone
        else edits
    )


def without_stale_thinking(messages: Sequence[Message], repaired: Repaired) -> Repaired:
    """A repaired conversation without the bound thinking after its first repair.

    Args:
        messages: the messages before the repair.
        repaired: the same messages after the repair.
    """
    pairs = enumerate(zip(repaired.messages, repaired.origins, strict=True))
    changed = (at for at, (m, _) in pairs if at >= len(messages) or m is not messages[at])
    first = next(changed, len(repaired.messages))
    loop = next((at for at in range(first, -1, -1) if _starts_turn(repaired.messages, at)), 0)
    left = [
        unbound(message) if at >= loop else message for at, message in enumerate(repaired.messages)
    ]
    pairs_left = [pair for pair in zip(left, repaired.origins, strict=True) if pair[0].blocks]
    return replace(
        repaired,
        messages=tuple(message for message, _ in pairs_left),
        origins=tuple(origin for _, origin in pairs_left),
    )


def _starts_turn(messages: Sequence[Message], at: int) -> bool:
    return at < len(messages) and messages[at].starts_turn


def takes_turns(messages: Sequence[Message]) -> bool:
    """Whether user and assistant already alternate, not counting calls and results."""
    entries: list[Entry] = [*zip(messages, range(len(messages)), strict=True)]
    return alternated(entries, results_apart=True) == entries


def unbound(message: Message) -> Message:
    """A message without its bound thinking; the same object if it has none."""
    if not message.has_bound_thinking:
        return message
    left = (b for b in message.blocks if not (isinstance(b, Thinking) and b.bound))
    return message.with_blocks(tuple(left))


def _with_reasoning(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits, extended so that reasoning is in the view only directly before its item.

    An item that lost its reasoning no longer names it; an opaque item is removed with it, and so is
    what answers that item.
    """
    shown, units = _shown(plan, edits), _units(plan.messages)
    gone: set[int] = set()
    detached: set[int] = set()
    for pieces in _reasoning(plan):
        owner = pieces.stop
        there = owner in shown
        if there and all(piece in shown for piece in pieces):
            continue
        gone.update(piece for piece in pieces if piece in shown)
        if there:
            opaque = [b for b in plan.messages[owner].blocks if isinstance(b, Opaque)]
            answers = (at for block in opaque for at in units.get(block.unit, ()))
            (gone if opaque else detached).update({owner, *(at for at in answers if at in shown)})
    if not gone and not detached:
        return edits

    def change(message: Message, index: int) -> Message:
        if index in gone:
            return message.with_blocks(())
        return Edited(message.role, message.blocks, message.source, detached=True)

    return _changed(plan, edits, sorted(gone | detached), change, "reasoning")


def _reasoning(plan: Plan) -> Iterator[range]:
    """The runs of reasoning-only messages; the item they belong to is at the end of each run."""
    start = None
    for index, message in enumerate(plan.messages):
        if message.only_thinks:
            start = index if start is None else start
        elif start is not None:
            yield range(start, index)
            start = None


def _units(messages: Sequence[Message]) -> dict[str, list[int]]:
    """The indices of the messages with opaque blocks of each unit, such as an approval."""
    units: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        for block in message.blocks:
            if isinstance(block, Opaque) and block.unit:
                units.setdefault(block.unit, []).append(index)
    return units


def _shown(plan: Plan, edits: Sequence[Edit]) -> set[int]:
    """The indices of the messages that a view shows, changed or unchanged."""
    covered = {index for edit in edits for index in range(edit.start, edit.stop)}
    shown = {*range(len(plan.messages))} - covered
    for edit in edits:
        shown.update(origin for origin in edit.origins_in(plan.messages) if origin is not None)
    return shown


def _changed(
    plan: Plan,
    edits: Sequence[Edit],
    indices: Sequence[int],
    change: Callable[[Message, int], Message],
    reason: str,
) -> list[Edit]:
    """The edits, extended by a change of some messages; a message that becomes empty is removed."""
    at = {*indices}
    covered: set[int] = set()
    changed: list[Edit] = []
    for edit in edits:
        covered.update(at.intersection(range(edit.start, edit.stop)))
        changed.append(_rewritten(plan, edit, at, change))
    for index in indices:
        if index not in covered:
            made = change(plan.messages[index], index)
            becomes = (made,) if made.blocks else ()
            changed.append(Edit(index, index + 1, becomes, reason, needed=True))
    return sorted(changed, key=lambda edit: edit.start)


def _rewritten(
    plan: Plan, edit: Edit, at: Collection[int], change: Callable[[Message, int], Message]
) -> Edit:
    becomes: list[Message] = []
    origins: list[int | None] = []
    for message, origin in zip(edit.becomes, edit.origins_in(plan.messages), strict=True):
        made = change(message, origin) if origin in at and origin is not None else message
        if made.blocks:
            becomes.append(made)
            origins.append(origin)
    return replace(edit, becomes=tuple(becomes), origins=tuple(origins))


def _alternating(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits as one edit after which user and assistant alternate; unchanged if they did so."""
    before = [*_entries(plan, edits)]
    after = alternated(before, results_apart=plan.rules.results_role == "tool")
    if after == before:
        return edits
    messages = plan.messages
    start = next(
        (i for i, (m, at) in enumerate(after) if not _untouched(plan, m, at) or at != i), len(after)
    )
    kept_at_end = 0
    for back, (message, at) in enumerate(reversed(after[start:]), 1):
        if not _untouched(plan, message, at) or at != len(messages) - back:
            break
        kept_at_end = back
    middle = after[start : len(after) - kept_at_end]
    record = next((edit.record for edit in edits if edit.record), None)
    why = {index: reason for edit in edits for index, reason in edit.why.items()}
    return [
        Edit(
            start, len(messages) - kept_at_end, tuple(m for m, _ in middle), edits[0].reason, why,
            origins=tuple(at for _, at in middle), record=record, needed=True,
        )
    ]  # fmt: skip


def _untouched(plan: Plan, message: Message, at: int | None) -> bool:
    return at is not None and message is plan.messages[at]


def _entries(plan: Plan, edits: Sequence[Edit]) -> Iterator[Entry]:
    """The messages of a view, in order."""
    position = 0
    for edit in edits:
        yield from ((plan.messages[i], i) for i in range(position, edit.start))
        yield from zip(edit.becomes, edit.origins_in(plan.messages), strict=True)
        position = edit.stop
    yield from ((plan.messages[i], i) for i in range(position, len(plan.messages)))


def alternated(view: Sequence[Entry], *, results_apart: bool) -> list[Entry]:
    """The view with alternating user and assistant messages.

    Of two messages of one role, the second is joined to the first if it is a note, if it follows
    directly, or if calls and results count as turns. Otherwise a note of the other role is put
    between them. A note also comes first if the view would begin with the assistant.

    Args:
        view: the messages of the view.
        results_apart: whether messages with calls or results do not count as turns.
    """
    taken: list[Entry] = []
    last: int | None = None  # the index in `taken` of the last message that counts as a turn
    for entry in view:
        message = entry[0]
        if message.is_system or (results_apart and _is_no_turn(message)):
            taken.append(entry)
            continue
        if last is None or taken[last][0].role != message.role:
            if last is None and message.role == "assistant":
                taken.append((NOTE, None))
        elif is_note(message) or not results_apart or last == len(taken) - 1:
            taken[last] = _joined(taken[last], entry)
            continue
        else:
            taken.append((NO_ANSWER if message.role == "user" else NOTE, None))
        taken.append(entry)
        last = len(taken) - 1
    return taken


def _is_no_turn(message: Message) -> bool:
    return message.role == "tool" or bool(message.calls) or message.is_item


def is_note(message: Message) -> bool:
    """Whether a message consists only of notes of this package."""
    return all(isinstance(block, Text) and is_our_note(block.text) for block in message.blocks)


def _joined(first: Entry, second: Entry) -> Entry:
    """One message made of two; it stands for the first of them that is not new."""
    (before, at), (message, origin) = first, second
    return one_of([before, message]), origin if at is None else at


def keep_only(
    plan: Plan,
    kept: Mapping[int, Message],
    notes: Mapping[int, Message],
    reason: str,
    why: Mapping[int, str] | None = None,
    *,
    always: bool = False,
) -> Sequence[Edit]:
    """Edits that leave the kept messages, and notes in place of the runs between them.

    Args:
        plan: the plan of the conversation.
        kept: the messages that stay, by index, full or shortened; tool steps must be complete. A
            message without blocks is left out.
        notes: the notes in place of dropped runs, by the first index of the run.
        reason: the reason of every edit.
        why: details for single messages, by index.
        always: whether a note stands even where it is longer than its run.
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
            noted = always and bool(given) and given != [NOTE]
            needed = noted or _parts_a_step(plan, start, index)
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


def cost(
    plan: Plan, kept: Mapping[int, Message], notes: Mapping[int, Message], *, always: bool = False
) -> int:
    """Tokens of the view that the edits of `keep_only` would make."""
    return plan.total - saved_by(plan, keep_only(plan, kept, notes, "", always=always))


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


THINKING = "thinking"
"""The name of the step that drops thinking. It is not for callers, because it is not made to free
tokens: a session repairs a refused request with it."""


def drops_thinking(settings: Settings, model: str | None) -> bool:
    """Whether signed thinking is dropped if the messages before it change.

    The settings decide, or for `auto` the model.
    """
    anywhere = settings.thinking == "auto" and takes_thinking_anywhere(model)
    return not (settings.thinking == "keep" or anywhere)


def dropping_thinking(plan: Plan) -> list[Edit]:
    """Edits that drop every thinking block, and each message that holds nothing else.

    Roles stay valid, because only the assistant has thinking, and messages of one role may follow
    each other.
    """
    dropping: list[Edit] = []
    for index, message in enumerate(plan.messages):
        if message.has_thinking:
            left = tuple(block for block in message.blocks if not isinstance(block, Thinking))
            becomes = (message.with_blocks(left),) if left else ()
            dropping.append(Edit(index, index + 1, becomes, THINKING, needed=True))
    return dropping
