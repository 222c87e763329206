"""`Edit(start, stop, becomes)`: all a strategy can propose, and `apply`, which makes the view.

Here messages are replaced. Pairing of tool calls, validity and provenance are checked here once,
for every strategy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_compression.conversation import validity
from context_compression.conversation.messages import Message, Thinking
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.errors import IllegalEdit


@dataclass(frozen=True)
class Edit:
    """A proposal: messages `start` to `stop` (exclusive) become `becomes`, for `reason`.

    `why` may say more of single messages of the span. `origins` names, for each message of
    `becomes`, the one it stands for; without it, a single message stands for a single one.
    `record` is what a summary was made of. An edit that is `needed` is made even where it saves
    nothing: the provider would refuse the view without it.
    """

    start: int
    stop: int
    becomes: tuple[Message, ...]
    reason: str
    why: Mapping[int, str] = field(default_factory=dict[int, str], compare=False)
    origins: tuple[int | None, ...] = ()
    record: Any = field(default=None, compare=False)
    needed: bool = False

    def origins_in(self, messages: Sequence[Message]) -> Sequence[int | None]:
        """The index of the message that each of `becomes` stands for; `None` for new ones."""
        if self.origins:
            return self.origins
        alone = self.stop - self.start == len(self.becomes) == 1
        if alone and self.becomes[0].role == messages[self.start].role:
            return [self.start]
        return [None] * len(self.becomes)


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
    rules: ProviderRules,
) -> View:
    """The messages with the edits made. Edits that would not shrink their span are left out.

    Args:
        messages: a valid conversation; it is not changed.
        edits: in any order, not overlapping.
        count: tokens of a message.
        rules: what the provider refuses.

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
        if edit.needed or sum(map(count, edit.becomes)) < sum(map(count, span)):
            taken.append(edit)
            kept += edit.becomes
            origins += edit.origins_in(messages)
        else:
            kept += span
            origins += range(edit.start, edit.stop)
    kept += messages[position:]
    origins += range(position, len(messages))
    view = View(tuple(kept), tuple(origins), tuple(taken))
    _check(messages, view, rules)
    return view


def _check(before: Sequence[Message], view: View, rules: ProviderRules) -> None:
    if not view.edits:
        return
    if broken := validity.problems(view.messages, rules):
        reasons = ", ".join(sorted({edit.reason for edit in view.edits}))
        raise IllegalEdit(f"{reasons}: would leave an invalid conversation: {broken[0]}.")
    answered = {result.call_id for message in before for result in message.results}
    called = {call.id for message in view.messages for call in message.calls}
    parted = called & answered - {r.call_id for message in view.messages for r in message.results}
    if parted:
        reasons = ", ".join(sorted({edit.reason for edit in view.edits}))
        raise IllegalEdit(
            f"{reasons}: would leave an invalid conversation: {min(parted)} lost its result."
        )
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
    """Its reasoning that a signature binds."""
    return tuple(b for b in message.blocks if isinstance(b, Thinking) and b.bound)
