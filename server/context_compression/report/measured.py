"""The stages of a history as values, with the size of every message; each is counted once."""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import Message
from context_compression.report.rough import Reading, Rough
from context_compression.tokens import Counter
from context_compression.tokens.usage import breakdown
from context_compression.transcripts.history import Stage


@dataclass(frozen=True)
class MeasuredStage:
    """A stage of a history.

    Attributes:
        stage: as it was read.
        messages: its messages as values.
        by_kind: tokens of each message, by kind of content.
        sizes: tokens of each message.
    """

    stage: Stage
    messages: Sequence[Message]
    by_kind: Sequence[Mapping[str, int]]
    sizes: Sequence[int]

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
    return MeasuredStage(stage, messages, by_kind, [sum(kinds.values()) for kinds in by_kind])


def measured_roughly(
    stages: Sequence[Stage],
    conversations: Sequence[Conversation] | None,
    counter: Counter,
    rough: Rough,
) -> list[MeasuredStage]:
    """All stages of a long history, with sizes by the characters of the texts.

    Args:
        stages: of the history.
        conversations: the messages of each stage as values, if they were read.
        counter: knows what is around the blocks of a message.
        rough: the parts of all messages.
    """
    made: list[MeasuredStage] = []
    for place, (stage, parts) in enumerate(zip(stages, rough.parts, strict=True)):
        by_kind = [rough.by_kind(each, counter.family.per_message) for each in parts]
        sizes = [sum(kinds.values()) for kinds in by_kind]
        read = conversations[place].messages if conversations else Reading(stage.messages)
        made.append(MeasuredStage(stage, read, by_kind, sizes))
    return made


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
