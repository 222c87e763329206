"""`GrowingRepair`: repairs a conversation that grows from request to request.

Its settled beginning is repaired once. It ends where the last turn of the assistant but one has all
its results, so that each request reads only what came since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, TypeAlias

from context_compression.conversation.formats import Conversation, Format, parse, plain
from context_compression.conversation.formats.parts import Ids
from context_compression.conversation.formats.reading import is_certain
from context_compression.conversation.messages import Edited, Message, Opaque, Text, ToolCall
from context_compression.conversation.validity import Repaired, repair
from context_compression.conversation.validity.repairs import NOTHING, Before

Raw: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Sendable:
    """A conversation that its provider accepts.

    Attributes:
        messages: its messages; those that were not repaired are the very objects.
        origins: for each message its index in the input; `None` for one that was added.
        repaired: for each message whether it was changed or added.
        repairs: a line in plain words for each repair.
        format: the dialect; `None` if the messages could not be read.
    """

    messages: Sequence[Any]
    origins: Sequence[int | None]
    repaired: Sequence[bool]
    repairs: Sequence[str] = ()
    format: Format | None = None

    def indices_of(self, places: Sequence[int | None]) -> list[int | None]:
        """For each message what `places` has for its origin; `None` for one that was added."""
        return [None if origin is None else places[origin] for origin in self.origins]

    def write(self, message: Message) -> dict[str, Any]:
        """One of its messages that was changed once more."""
        assert self.format is not None, "nothing was read"
        return Conversation((), (), self.format).render([message])[0]


@dataclass(frozen=True)
class Settled:
    """The beginning of a conversation, repaired for good unless a late result comes.

    Attributes:
        given: its messages, as they came.
        sendable: the same after the repair, as values and as dicts.
        values: the values of `sendable`.
        format: the dialect.
        ids: gives ids to the calls that follow.
        before: what matters of it for what follows.
        unanswered: the ids of the calls for whose results a note stands.
    """

    given: Sequence[Raw]
    sendable: Sendable
    values: Sequence[Message]
    format: Format
    ids: Ids
    before: Before
    unanswered: frozenset[str]


class GrowingRepair:
    """Repairs the views of one conversation; an unchanged beginning is not read again."""

    def __init__(self) -> None:
        self._settled: Settled | None = None

    def sendable(self, messages: Sequence[Raw]) -> tuple[Sendable, Sequence[Message]]:
        """A conversation after its repair, and the same as values.

        Raises:
            InvalidConversation: the messages are not a conversation in a known dialect.
        """
        settled = self._settled
        if settled and self._goes_on(settled, messages):
            ids = settled.ids.copy()
            raw = plain(messages[len(settled.given) :])
            values = tuple(settled.format.read(message, ids) for message in raw)
            conversation = Conversation(raw, values, settled.format)
            if not (conversation.without_halves or _answers(values, settled.unanswered)):
                return self._with_end(messages, settled, conversation)
        self._settled = None
        return self._with_end(messages, None, parse(messages))

    def _goes_on(self, settled: Settled, messages: Sequence[Raw]) -> bool:
        known = len(settled.given)
        return len(messages) >= known and all(map(is_, messages, settled.given))

    def _with_end(
        self, messages: Sequence[Raw], settled: Settled | None, conversation: Conversation
    ) -> tuple[Sendable, Sequence[Message]]:
        """The settled beginning, followed by the rest of the conversation after its repair."""
        cut = _last_turn(conversation.messages)
        halves = conversation.without_halves  # read with the ids of the whole conversation
        if cut and _is_known_for_sure(settled, conversation):
            more = _settled(settled, conversation, cut)
            if more and not _answers(conversation.messages[cut:], more.unanswered):
                self._settled = settled = more
                rest = slice(cut, None)
                halves = {at - cut: message for at, message in halves.items() if at >= cut}
                conversation = Conversation(
                    conversation.raw[rest], conversation.messages[rest], conversation.format
                )
        before = settled.before if settled else NOTHING
        repaired = repair(conversation.messages, conversation.format.rules, halves, before)
        end = _written(repaired, conversation, before.messages)
        if settled is None:
            return end, repaired.messages
        return _joined(settled.sendable, end), [*settled.values, *repaired.messages]


def _is_known_for_sure(settled: Settled | None, conversation: Conversation) -> bool:
    """Whether messages that follow cannot show another dialect."""
    if settled is not None:
        return True
    return any(is_certain(message, conversation.format) for message in conversation.raw)


def _last_turn(messages: Sequence[Message]) -> int:
    """Where the last turn of the assistant begins, after at least one message; 0 if nowhere.

    The turn surely stays after a repair, and nothing before it is joined with it.
    """
    solid = False
    for at in reversed(range(1, len(messages))):
        message = messages[at]
        if message.role == "assistant":
            solid = solid or any(map(_surely_stays, message.blocks))
            if solid and messages[at - 1].role != "assistant":
                return at
        else:
            solid = False
    return 0


def _surely_stays(block: Any) -> bool:
    if isinstance(block, ToolCall):
        return not block.unit
    return isinstance(block, Text) and bool(block.text.strip())


def _settled(settled: Settled | None, conversation: Conversation, cut: int) -> Settled | None:
    """The settled beginning with the first `cut` messages more; `None` if they are not settled."""
    raw, values = conversation.raw[:cut], conversation.messages[:cut]
    of_cut = Conversation(raw, values, conversation.format)
    before = settled.before if settled else NOTHING
    rules, halves = conversation.format.rules, of_cut.without_halves
    repaired = repair(values, rules, halves, before, at_end=False)
    last = repaired.origins[-1] if repaired.origins else None
    if last != before.messages + cut - 1 or repaired.messages[-1].role == "assistant":
        return None  # what follows may be joined with what is before
    if _open_units(values):
        return None
    written = _written(repaired, of_cut, before.messages)
    ids = Ids() if settled is None else settled.ids.copy()
    for message in raw:
        conversation.format.read(message, ids)
    answered = {r.call_id for m in values for r in m.results}
    return Settled(
        [*(settled.given if settled else ()), *raw],
        _joined(settled.sendable, written) if settled else written,
        [*(settled.values if settled else ()), *repaired.messages],
        conversation.format,
        ids,
        before.followed_by(values, repaired.messages),
        (settled.unanswered if settled else frozenset[str]())
        | ({call.id for m in values for call in m.calls} - answered),
    )


def _open_units(messages: Sequence[Message]) -> bool:
    opened: set[str] = set()
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Opaque) and block.unit:
                (opened.add if block.opens else opened.discard)(block.unit)
    return bool(opened)


def _answers(messages: Sequence[Message], calls: frozenset[str]) -> bool:
    return bool(calls) and any(r.call_id in calls for m in messages for r in m.results)


def _written(repaired: Repaired, conversation: Conversation, first: int) -> Sendable:
    """Messages after their repair as dicts; those that were not changed are the very objects."""
    changed = [
        message.source is None or isinstance(message, Edited) for message in repaired.messages
    ]
    origins = repaired.origins
    messages = [
        conversation.render([message])[0] if is_new or at is None else conversation.raw[at - first]
        for message, at, is_new in zip(repaired.messages, origins, changed, strict=True)
    ]
    return Sendable(messages, origins, changed, repaired.repairs, conversation.format)


def _joined(start: Sendable, end: Sendable) -> Sendable:
    return Sendable(
        [*start.messages, *end.messages],
        [*start.origins, *end.origins],
        [*start.repaired, *end.repaired],
        [*start.repairs, *end.repairs],
        end.format,
    )
