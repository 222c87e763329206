"""`window`: the last turns in full, important older messages, and a digest of the others.

The last `keep_recent` turns stay in full if they fit. Otherwise fewer of them stay, or only part of
the last one. Older messages within the last `max_turns` turns stay if their importance is at least
`importance_threshold`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from context_compression.conversation.messages import (
    COMPRESSED,
    Document,
    Image,
    Message,
    Text,
    user,
)
from context_compression.display.plurals import how_many
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.planning.selection import digest
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.floor import anchored
from context_compression.strategies.keep import cost, keep_only

CODE = re.compile(
    r"```|^[ \t]{4,}\S|^[ \t]*(?:def|class|import|from|function|const|fn|func)\b|^\$ ", re.M
)


@dataclass(frozen=True)
class Importance:
    """The importance of a message from 0 to 1, with its reasons."""

    score: float
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.score:g} ({', '.join(self.reasons) or 'no rule applies'})"


def importance(message: Message, keywords: Iterable[str]) -> Importance:
    """The importance of a message: 0.5 plus the weight of each rule that applies."""
    text = message.text or "\n".join(result.text for result in message.results)
    lower = text.lower()
    rules = (
        (message.is_user, 0.2, "user message"),
        (any(word.lower() in lower for word in keywords), 0.2, "important keyword"),
        (bool(message.calls) or CODE.search(text) is not None, 0.1, "code or command"),
        (_is_rich(message), 0.1, "rich content"),
        (bool(message.results) or message.role == "tool", -0.2, "tool result"),
        (len(text.strip()) < measured.VERY_SHORT_CHARS and not message.calls, -0.1, "very short"),
    )
    score = 0.5 + sum(weight for applies, weight, _ in rules if applies)
    reasons = tuple(f"{name} {weight:+.1f}" for applies, weight, name in rules if applies)
    return Importance(round(min(1.0, max(0.0, score)), 2), reasons)


def _is_rich(message: Message) -> bool:
    return (
        any(isinstance(block, Image | Document) for block in message.blocks)
        or sum(isinstance(block, Text) for block in message.blocks) > 1
    )


def is_due(plan: Plan) -> bool:
    """Whether there are more than twice `keep_recent` turns, or more than `max_turns`."""
    turns, settings = len(plan.turns), plan.settings
    return turns > 2 * settings.keep_recent or turns > settings.max_turns


def propose(plan: Plan) -> Proposal:
    """Edits that leave the recent turns, important older messages, and a digest of the others."""
    return without_model(_edits(plan))


def _edits(plan: Plan) -> Sequence[Edit]:
    settings, room = plan.settings, plan.total if plan.room is None else plan.room
    kept = anchored(plan, room)
    left = room - cost(plan, kept, {})
    if plan.room is not None:
        left -= plan.counter.message(user("x" * settings.summary_max_chars + COMPRESSED * 4))

    def take(span: Iterable[int]) -> bool:
        nonlocal left
        added = {index: plan.messages[index] for index in span if index not in kept}
        tokens = sum(plan.tokens[index] for index in added)
        if tokens > left:
            return False
        kept.update(added)
        left -= tokens
        return True

    recent = plan.turns[-settings.keep_recent :]
    start = len(plan.messages)
    for turn in reversed(recent):
        if not take(turn):
            if turn is recent[-1]:
                all(take(unit) for unit in reversed(units(plan, turn)))
            break
        start = turn.start
    looked_at = plan.turns[-settings.max_turns :]
    scores = {i: importance(plan.messages[i], settings.important_keywords) for i in range(start)}
    scored = [
        (max(scores[i].score for i in unit if i in scores), unit)  # a unit may exceed its turn
        for turn in looked_at
        if turn.stop <= start
        for unit in units(plan, turn)
    ]
    best_first = sorted(scored, key=lambda item: (-item[0], -item[1].start))
    taken = [
        unit for score, unit in best_first if score >= settings.importance_threshold and take(unit)
    ]
    most = settings.summary_max_chars
    notes = _digest_note(plan, kept, most)
    while taken and cost(plan, kept, notes) > room:  # notes between scattered units cost tokens
        for index in set(taken.pop()) - plan.anchored:
            kept.pop(index, None)
        notes = _digest_note(plan, kept, most)
    while most and cost(plan, kept, notes) > room:
        most //= 2
        notes = _digest_note(plan, kept, most)
    if cost(plan, kept, notes) > room:
        notes = {}
    why = {index: f"importance {score}" for index, score in scores.items()}
    return keep_only(plan, kept, notes, "window", why)


def units(plan: Plan, span: range) -> list[range]:
    """The parts of a span that must not be split, in order: tool steps, and other messages."""
    parts: list[range] = []
    for index in span:
        step = plan.step_of(index)
        if not step or step.start == index:
            parts.append(step or range(index, index + 1))
    return parts


def _digest_note(plan: Plan, kept: Mapping[int, Message], most: int) -> dict[int, Message]:
    """A note with a digest of the dropped messages, by the first index of the run it replaces.

    It replaces the first dropped run that is longer than the note; empty if there is none. It has
    about `most` characters at most, and always says that messages are missing.
    """
    runs: dict[int, int] = {}  # the tokens of each run by its first message
    start = plan.head
    for index in range(plan.head, len(plan.messages)):
        if index in kept:
            start = index + 1
        else:
            runs[start] = runs.get(start, 0) + plan.tokens[index]
    gone = [m for i, m in enumerate(plan.messages) if i >= plan.head and i not in kept]
    finds = "; context_restore(query=…) finds them" if plan.archive.restorable else ""
    are = "is" if len(gone) == 1 else "are"
    what = f"{COMPRESSED} {how_many(len(gone), 'earlier message')} {are} not shown{finds}"
    text = digest(gone, most - len(what) - 1)
    note = user(f"{what}:\n{text}" if text else f"{what}.")
    tokens = plan.counter.message(note)
    place = next((start for start in runs if runs[start] > tokens), None)
    return {} if place is None else {place: note}
