"""The further edits that follow from edits, so that the provider accepts the view.

A strategy says what it removes. From that follows which thinking goes with what it is bound to,
which item may no longer name the reasoning it came with, and where notes have to stand so that
roles alternate. All of it is counted like any other edit.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from context_compression.conversation.authors import is_our_note
from context_compression.conversation.messages import (
    COMPRESSED,
    Edited,
    Message,
    Opaque,
    Text,
    Thinking,
    assistant,
    user,
)
from context_compression.conversation.validity import Repaired, one_of
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan

Entry: TypeAlias = tuple[Message, int | None]
"""A message of a view, and the index of the one it stands for; `None` for a new one."""
NOTE = user(f"{COMPRESSED} Messages are shortened or not shown here.")
"""Stands where roles would get out of order, or a tool loop shows some of its thinking only."""
NO_ANSWER = assistant(f"{COMPRESSED} My answer is not shown here.")
"""Stands between two messages of the user's whose answer was removed, where roles alternate."""


def with_consequences(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits that are made, and the edits that follow from them."""
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
    """Whether an edit makes its messages smaller; one that does not is not made."""
    tokens = sum(plan.tokens[edit.start : edit.stop])
    return sum(map(plan.counter.message, edit.becomes)) < tokens


def without_bound(plan: Plan, edits: Sequence[Edit], first: int | None = None) -> Sequence[Edit]:
    """Edits that leave no bound thinking behind the first changed place.

    It goes for complete tool loops: where the loop of the first change holds thinking before it,
    that thinking goes first.

    Args:
        plan: of the conversation.
        edits: those that are made.
        first: a place that is changed in any case.
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
    """A repaired conversation without the bound thinking that stands behind the first repair.

    Args:
        messages: as they came.
        repaired: the same, repaired.
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
    """Whether user and assistant alternate in a conversation already, calls and results apart."""
    entries: list[Entry] = [*zip(messages, range(len(messages)), strict=True)]
    return alternated(entries, results_apart=True) == entries


def unbound(message: Message) -> Message:
    """A message without its bound thinking; itself where it has none."""
    if not message.has_bound_thinking:
        return message
    left = (b for b in message.blocks if not (isinstance(b, Thinking) and b.bound))
    return message.with_blocks(tuple(left))


def _with_reasoning(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """Edits after which each piece of reasoning stands before what it belongs to, or is gone.

    What lost its reasoning does not name it any more; what cannot do without leaves with it.
    """
    shown = _shown(plan, edits)
    gone: set[int] = set()
    detached: set[int] = set()
    for pieces in _reasoning(plan):
        owner = pieces.stop
        there = owner in shown
        if there and all(piece in shown for piece in pieces):
            continue
        gone.update(piece for piece in pieces if piece in shown)
        if there:
            alone = not any(isinstance(b, Opaque) for b in plan.messages[owner].blocks)
            (detached if alone else gone).add(owner)
    if not gone and not detached:
        return edits

    def change(message: Message, index: int) -> Message:
        if index in gone:
            return message.with_blocks(())
        return Edited(message.role, message.blocks, message.source, detached=True)

    return _changed(plan, edits, sorted(gone | detached), change, "reasoning")


def _reasoning(plan: Plan) -> Iterator[range]:
    """The runs of reasoning that stand before something of the model's; it stands at their end."""
    start = None
    for index, message in enumerate(plan.messages):
        if message.only_thinks:
            start = index if start is None else start
        elif start is not None:
            yield range(start, index)
            start = None


def _shown(plan: Plan, edits: Sequence[Edit]) -> set[int]:
    """Which messages a view shows, as they are or changed."""
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
    """The edits with some messages changed wherever they stand; one left empty goes."""
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
    """The edits as one that makes user and assistant alternate; as they are where they do."""
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
    """The view with user and assistant in turns: notes go into a neighbour of their role.

    Args:
        view: its messages.
        results_apart: whether calls and results count as nobody's turn; else each message has one.
    """
    taken: list[Entry] = []
    last: int | None = None  # where in `taken` the message stands whose turn was the last
    for entry in view:
        message = entry[0]
        if message.is_system or (results_apart and _calls_or_answers(message)):
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


def _calls_or_answers(message: Message) -> bool:
    return message.role == "tool" or bool(message.calls)


def is_note(message: Message) -> bool:
    """Whether nothing stands in a message but a note written by us."""
    return all(isinstance(block, Text) and is_our_note(block.text) for block in message.blocks)


def _joined(first: Entry, second: Entry) -> Entry:
    """One message made of two; it stands for the one of them that is no note."""
    (before, at), (message, origin) = first, second
    return one_of([before, message]), origin if at is None else at
