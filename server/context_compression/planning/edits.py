"""`Edit`, the only proposal that a strategy can make, and `apply`, which makes the view.

Messages are replaced here. The pairing of tool calls, the validity of the view and its bound
thinking are checked here once for all strategies.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from context_compression.conversation import validity
from context_compression.conversation.formats.parts import ProviderRules
from context_compression.conversation.messages import Message, Thinking
from context_compression.errors import IllegalEdit

PartEvidence: TypeAlias = tuple[str, str, float]
"""What paid for a part: `(kind, text, worth)`. The text is empty for the part itself."""


class WeighedPart(NamedTuple):
    """A part of a message that competed for the room of a view.

    Attributes:
        message: the index of the message in the plan.
        text: the part, stripped.
        tokens: about how many tokens it has, at least 1.
        worth_per_token: its worth for a token, when it was chosen or in the end.
        in_line: whether it is the line of a call.
        evidence: what paid for it, the most worth first; empty for a part that is not shown.
    """

    message: int
    text: str
    tokens: int
    worth_per_token: float
    in_line: bool
    evidence: tuple[PartEvidence, ...] = ()


@dataclass(frozen=True)
class Weighed:
    """What competed for the room of a view.

    Attributes:
        shown: the parts that were chosen, the first choice first.
        left_out: the best of the others of each message, by index, the best first.
    """

    shown: Sequence[WeighedPart] = ()
    left_out: Mapping[int, Sequence[WeighedPart]] = field(
        default_factory=dict[int, Sequence[WeighedPart]]
    )


_recording: ContextVar[bool] = ContextVar("recording", default=False)


@contextmanager
def recorded(wanted: bool = True) -> Generator[None]:
    """Within it, edits record what competed for their room, if that is `wanted`."""
    token = _recording.set(wanted)
    try:
        yield
    finally:
        _recording.reset(token)


def is_recorded() -> bool:
    """Whether edits must record what competes for their room."""
    return _recording.get()


def weighed_in(edits: Iterable["Edit"]) -> Weighed | None:
    """What competed for the room of a view, if its edits recorded it."""
    return next((edit.weighed for edit in edits if edit.weighed), None)


@dataclass(frozen=True)
class Edit:
    """A proposal to replace messages `start` to `stop` (exclusive) by `becomes`.

    Attributes:
        start: the index of the first replaced message.
        stop: the index after the last replaced message.
        becomes: the messages that replace them.
        reason: the reason for the edit, in plain words.
        why: further reasons for single messages of the span, by index.
        origins: for each message of `becomes` the index of the message that it stands for. If it is
            empty, a single message stands for a single one of the same role.
        record: the record of a summary.
        needed: whether the edit is made even if it saves nothing, because the provider would refuse
            the view without it.
        weighed: what competed for the room of the view, if that was recorded.
    """

    start: int
    stop: int
    becomes: tuple[Message, ...]
    reason: str
    why: Mapping[int, str] = field(default_factory=dict[int, str], compare=False)
    origins: tuple[int | None, ...] = ()
    record: Any = field(default=None, compare=False)
    needed: bool = False
    weighed: Weighed | None = field(default=None, compare=False)

    def origins_in(self, messages: Sequence[Message]) -> Sequence[int | None]:
        """For each message of `becomes` the index of its original; `None` for a new message."""
        if self.origins:
            return self.origins
        alone = self.stop - self.start == len(self.becomes) == 1
        if alone and self.becomes[0].role == messages[self.start].role:
            return [self.start]
        return [None] * len(self.becomes)


@dataclass(frozen=True)
class View:
    """The messages after edits.

    Attributes:
        messages: the messages of the view.
        origins: for each message the index of its original; `None` for a new message.
        edits: the edits that were made.
    """

    messages: tuple[Message, ...]
    origins: tuple[int | None, ...]
    edits: tuple[Edit, ...]


def apply(
    messages: Sequence[Message],
    edits: Sequence[Edit],
    count: Callable[[Message], int],
    rules: ProviderRules,
) -> View:
    """The view that the edits make; edits that would not shrink their span are left out.

    An edit that is `needed` is always made.

    Args:
        messages: a valid conversation, which is not changed.
        edits: the edits in any order; they must not overlap.
        count: returns the tokens of a message.
        rules: the rules of the provider.

    Raises:
        IllegalEdit: edits overlap or are outside the messages, or the provider would refuse the
            view, or bound thinking was changed or kept for only part of a tool loop.
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
    """The reasoning blocks of a message that are bound by a signature."""
    return tuple(b for b in message.blocks if isinstance(b, Thinking) and b.bound)
