"""Messages that always stay: items of unknown types, and what a provider compacted."""

from collections.abc import Iterator, Sequence

from context_compression.conversation.messages import Message
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.planning.steps import owner_of, reasoning_of


def staying(messages: Sequence[Message], rules: ProviderRules) -> Iterator[int]:
    """The indices of the messages that always stay, and of the reasoning that they need."""
    for index, message in enumerate(messages):
        if message.stays:
            yield index
            if rules.reasoning_apart:
                yield from reasoning_of(messages, index)


def stays_apart(messages: Sequence[Message], index: int) -> bool:
    """Whether a message that always stays does so without the tool step that it is in.

    Items do, with their reasoning; other messages may hold calls and results of the step.
    """
    message = messages[owner_of(messages, index)]
    return message.stays and message.is_item


def end_of_ignored(messages: Sequence[Message]) -> int:
    """The index of the last message that stands for the earlier conversation; 0 without one.

    A provider may ignore all that is before it, so a new note is better after it.
    """
    backwards = range(len(messages) - 1, -1, -1)
    return next((index for index in backwards if messages[index].stands_for_earlier), 0)
