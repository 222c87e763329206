"""The stages of a history as values, with the size of every message; each is counted once."""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import Message, ToolCall
from context_compression.tokens import Counter
from context_compression.tokens.usage import breakdown
from context_compression.transcripts.history import Stage


@dataclass(frozen=True)
class MeasuredStage:
    """A stage of a history.

    Attributes:
        stage: as it was read.
        conversation: its messages, parsed.
        by_kind: tokens of each message, by kind of content.
        sizes: tokens of each message.
        calls: its tool calls, by their ids.
    """

    stage: Stage
    conversation: Conversation
    by_kind: Sequence[Mapping[str, int]]
    sizes: Sequence[int]
    calls: Mapping[str, ToolCall] = field(repr=False)

    @property
    def messages(self) -> Sequence[Message]:
        """Its messages as values."""
        return self.conversation.messages

    @property
    def added(self) -> Sequence[Message]:
        """The messages that came in this stage."""
        return self.messages[self.stage.carried :]


def measured(
    stages: Sequence[Stage], conversations: Sequence[Conversation], counter: Counter
) -> list[MeasuredStage]:
    """All stages of a history. A message that a compaction left as it was is not counted again.

    Args:
        stages: of the history.
        conversations: the messages of each stage, parsed.
        counter: counts their tokens.
    """
    known: dict[int, Mapping[str, int]] = {}
    return [
        _measured(stage, conversation, counter, known)
        for stage, conversation in zip(stages, conversations, strict=True)
    ]


def _measured(
    stage: Stage,
    conversation: Conversation,
    counter: Counter,
    known: dict[int, Mapping[str, int]],
) -> MeasuredStage:
    messages = conversation.messages
    if ahead := counter.ahead(m for m in messages if id(m.source) not in known):
        ahead.finish()
    by_kind = [*_by_kind(stage.messages, messages, counter, known)]
    return MeasuredStage(
        stage=stage,
        conversation=conversation,
        by_kind=by_kind,
        sizes=[sum(kinds.values()) for kinds in by_kind],
        calls={call.id: call for message in messages for call in message.calls},
    )


def _by_kind(
    raw: Sequence[Mapping[str, Any]],
    messages: Sequence[Message],
    counter: Counter,
    known: dict[int, Mapping[str, int]],
) -> Iterator[Mapping[str, int]]:
    for source, message in zip(raw, messages, strict=True):
        kinds = known.get(id(source))
        if kinds is None:
            kinds = known[id(source)] = breakdown([message], counter)
        yield kinds


def summed(by_kind: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Tokens by kind of several messages together, the largest first."""
    sums: Tally[str] = Tally()
    for kinds in by_kind:
        sums.update(kinds)
    return dict(sums.most_common())
