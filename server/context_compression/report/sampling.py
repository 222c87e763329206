"""Which part of a long session's texts a report counts and compares; short ones as a whole."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from context_compression.conversation.messages import Message, texts_of

T = TypeVar("T")
WHOLE = 10_000_000
"""Characters up to which all texts are counted: some 2.5 million tokens, in seconds."""
SAMPLE = 600_000
"""About how many characters are counted of more."""
CALLS = 6_000
"""About how many calls of tools are looked into of a long session."""


def size_of(message: Message) -> int:
    """Characters of the texts of a message."""
    return sum(len(text) for block in message.blocks for text in texts_of(block))


def share_of(chars: int) -> float:
    """The share of a session's characters that are counted; 1 for all."""
    return 1.0 if chars <= WHOLE else SAMPLE / chars


def sample(things: Sequence[T], sizes: Sequence[int], share: float) -> Iterator[T]:
    """Things that are spread evenly over all of them and have about a share of their sizes."""
    due = 0.0
    for place, size in enumerate(sizes):
        due += size * share
        if share == 1 or due > 0:
            due -= size
            yield things[place]


def warnings(share: float, calls: float = 1) -> list[str]:
    """What is said of a report whose counts are of a sample.

    Args:
        share: of the texts, the part that was counted.
        calls: of the calls of tools, the part that was looked into.
    """
    if share == 1:
        return []
    said = (
        f"The session is long: tokens and evidence are counted in a sample of {share:.1%} of its "
        "texts, spread over all of it. Tokens are given for all texts, in proportion; pieces of "
        "evidence are those of the sample."
    )
    if calls < 1:
        said += f" Files and what came again are those of {calls:.0%} of the calls, in proportion."
    return [said]
