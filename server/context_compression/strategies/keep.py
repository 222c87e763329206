"""From what shall stay to the edits that leave just that."""

from collections.abc import Mapping, Sequence

from context_compression.edits import Edit
from context_compression.messages import Message, user
from context_compression.plan import Plan
from context_compression.selection import COMPRESSED

NOTE = user(f"{COMPRESSED} Earlier messages are not shown.")
"""Stands first where a provider wants the user first and what is kept begins otherwise."""


def keep_only(
    plan: Plan,
    kept: Mapping[int, Message],
    notes: Mapping[int, Message],
    reason: str,
    why: Mapping[int, str] | None = None,
) -> Sequence[Edit]:
    """Edits that leave the kept messages, and a note in place of the runs between them.

    Args:
        plan: whose messages they are.
        kept: what stays, by index, whole or shortened; whole tool steps.
        notes: what stands in place of a dropped run, by the run's first index.
        reason: goes with every edit.
        why: what more there is to say of single messages.
    """
    why = why or {}
    edits: list[Edit] = []
    start = 0
    for index in [*sorted(kept), len(plan.messages)]:
        if start < index:
            note = notes.get(start) or _bridge(plan, start, kept.get(index))
            said = {i: why[i] for i in range(start, index) if i in why}
            edits.append(Edit(start, index, (note,) if note else (), reason, said))
        start = index + 1
        if index in kept and kept[index] is not plan.messages[index]:
            said = {index: why[index]} if index in why else {}
            edits.append(Edit(index, index + 1, (kept[index],), reason, said))
    return edits


def cost(plan: Plan, kept: Mapping[int, Message], notes: Mapping[int, Message]) -> int:
    """Tokens of the view that `keep_only` would lead to."""
    total = sum(
        plan.tokens[index] if message is plan.messages[index] else plan.counter.message(message)
        for index, message in kept.items()
    )
    if not plan.head or plan.head - 1 in kept:  # the head stays: what comes after it?
        following = min((index for index in kept if index >= plan.head), default=None)
        if plan.head not in kept and plan.head not in notes:
            bridge = _bridge(plan, plan.head, kept.get(following) if following else None)
            total += plan.counter.message(bridge) if bridge else 0
    return total + sum(map(plan.counter.message, notes.values()))


def _bridge(plan: Plan, start: int, following: Message | None) -> Message | None:
    first = start == plan.head
    return NOTE if plan.user_first and first and following and following.role != "user" else None
