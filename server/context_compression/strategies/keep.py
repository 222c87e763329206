"""From what shall stay to the edits that leave just that."""

from collections.abc import Mapping, Sequence

from context_compression.edits import Edit
from context_compression.messages import Message, user
from context_compression.plan import Plan
from context_compression.selection import COMPRESSED

NOTE = user(f"{COMPRESSED} Messages are not shown here.")
"""Stands where something was dropped and a provider wants the user to speak."""


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
            note = notes.get(start)
            if not note and _user_is_due(plan, kept.get(start - 1), kept.get(index)):
                note = NOTE
            said = {i: why[i] for i in range(start, index) if i in why}
            edits.append(Edit(start, index, (note,) if note else (), reason, said))
        start = index + 1
        if index in kept and kept[index] is not plan.messages[index]:
            said = {index: why[index]} if index in why else {}
            edits.append(Edit(index, index + 1, (kept[index],), reason, said))
    return edits


def cost(plan: Plan, kept: Mapping[int, Message], notes: Mapping[int, Message]) -> int:
    """Tokens of the view that `keep_only` would lead to."""
    total = plan.total
    for edit in keep_only(plan, kept, notes, ""):
        total -= sum(plan.tokens[edit.start : edit.stop])
        total += sum(map(plan.counter.message, edit.becomes))
    return total


def _user_is_due(plan: Plan, before: Message | None, after: Message | None) -> bool:
    """Whether the user must speak between two kept messages, so that roles stay in order."""
    if not plan.user_first or after is None or after.role != "assistant":
        return False
    return before is None or before.role not in ("user", "tool")
