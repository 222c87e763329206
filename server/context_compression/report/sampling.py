"""Which part of a long session's texts a report counts and compares; short ones as a whole."""

from collections.abc import Iterable, Iterator, Sequence

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import Message, texts_of
from context_compression.transcripts.history import Stage

WHOLE = 10_000_000
"""Characters up to which all texts are counted: some 2.5 million tokens, in seconds."""
SAMPLE = 1_500_000
"""About how many characters are counted of more."""


def size_of(message: Message) -> int:
    """Characters of the texts of a message."""
    return sum(len(text) for block in message.blocks for text in texts_of(block))


def share_of(stages: Sequence[Stage], conversations: Sequence[Conversation]) -> float:
    """The share of a session's characters that are counted; 1 for all."""
    added = (
        message
        for stage, conversation in zip(stages, conversations, strict=True)
        for message in conversation.messages[stage.carried :]
    )
    chars = sum(map(size_of, added))
    return 1.0 if chars <= WHOLE else SAMPLE / chars


def sample(messages: Iterable[Message], share: float) -> Iterator[Message]:
    """Messages that are spread evenly over all of them and hold about a share of their texts."""
    due = 0.0
    for message in messages:
        size = 0 if share == 1 else size_of(message)
        due += size * share
        if share == 1 or due > 0:
            due -= size
            yield message


def warnings(share: float) -> list[str]:
    """What is said of a report whose counts are of a sample."""
    if share == 1:
        return []
    return [
        f"The session is long: tokens and evidence are counted in a sample of {share:.1%} of its "
        "texts, spread over all of it. Tokens are given for all texts, in proportion; pieces of "
        "evidence are those of the sample."
    ]
