"""`Edit(start, stop, becomes)`: all a strategy can say, and `apply`, which makes it so.

Pairing of tool calls, validity and provenance are checked here once, for every strategy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_compression import validity
from context_compression.errors import IllegalEdit
from context_compression.messages import Message, Thinking


@dataclass(frozen=True)
class Edit:
    """A proposal: messages `start` to `stop` (exclusive) become `becomes`, for `reason`.

    `why` may say more of single messages of the span. `origins` names, for each message of
    `becomes`, the one it stands for; without it, a single message stands for a single one.
    `record` is what a summary was made of.
    """

    start: int
    stop: int
    becomes: tuple[Message, ...]
    reason: str
    why: Mapping[int, str] = field(default_factory=dict[int, str], compare=False)
    origins: tuple[int | None, ...] = ()
    record: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class View:
    """Messages after edits; `origins[i]` is where `messages[i]` came from, `None` if new."""

    messages: tuple[Message, ...]
    origins: tuple[int | None, ...]
    edits: tuple[Edit, ...]


def apply(
    messages: Sequence[Message],
    edits: Sequence[Edit],
    count: Callable[[Message], int],
    *,
    user_first: bool,
) -> View:
    """The messages with the edits made. Edits that would not shrink their span are left out.

    Args:
        messages: a valid conversation; it is not changed.
        edits: in any order, not overlapping.
        count: tokens of a message.
        user_first: whether the provider wants the user's message first.

    Raises:
        IllegalEdit: edits overlap, lie outside, or leave a conversation a provider would refuse.
    """
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.stop))
    kept: list[Message] = []
    origins: list[int | None] = []
    taken: list[Edit] = []
    position = 0
    for edit in ordered:
        if not position <= edit.start < edit.stop <= len(messages):
            raise IllegalEdit(f"{edit.reason}: {edit.start}-{edit.stop} overlaps or lies outside.")
        span = messages[edit.start : edit.stop]
        kept += messages[position : edit.start]
        origins += range(position, edit.start)
        position = edit.stop
        if sum(map(count, edit.becomes)) < sum(map(count, span)):
            taken.append(edit)
            kept += edit.becomes
            origins += _origins(edit, span)
        else:
            kept += span
            origins += range(edit.start, edit.stop)
    kept += messages[position:]
    origins += range(position, len(messages))
    view = View(tuple(kept), tuple(origins), tuple(taken))
    _check(messages, view, user_first)
    return view


def _origins(edit: Edit, span: Sequence[Message]) -> list[int | None]:
    """Which message each message of an edit stands for; `None` for new ones."""
    if edit.origins:
        return list(edit.origins)
    if len(edit.becomes) == len(span) == 1 and edit.becomes[0].role == span[0].role:
        return [edit.start]
    return [None] * len(edit.becomes)


def _check(before: Sequence[Message], view: View, user_first: bool) -> None:
    if not view.edits:
        return
    if broken := validity.problems(view.messages, user_first=user_first):
        reasons = ", ".join(sorted({edit.reason for edit in view.edits}))
        raise IllegalEdit(f"{reasons}: would leave an invalid conversation: {broken[0]}.")
    loop: set[bool] = set()
    for message, origin in zip(view.messages, view.origins, strict=True):
        if message.starts_turn:
            loop = set()
        thoughts = _thinking(before[origin]) if origin is not None else ()
        if thoughts:
            left = _thinking(message)
            if left not in ((), thoughts):
                raise IllegalEdit("thinking blocks must stay byte-identical or go.")
            loop.add(bool(left))
        if len(loop) > 1:
            raise IllegalEdit("thinking must stay or go for a whole tool loop.")


def _thinking(message: Message) -> tuple[Thinking, ...]:
    if not message.has_thinking:
        return ()
    return tuple(block for block in message.blocks if isinstance(block, Thinking))
