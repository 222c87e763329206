"""What is said again in the user's role: where the newest text stands the older ones need not."""

from collections.abc import Callable, Sequence, Set

from context_compression.conversation.authors import skill_of
from context_compression.conversation.messages import Message, Text

SKILL_CHARS = 6_000
"""Characters up to which a skill that the host loaded stays whole like the user's own words."""
MOST_LOADS = 20
"""The last loads of a skill that are looked at for those before: time shall grow linearly."""


def said_again(messages: Sequence[Message], counts: Callable[[int], bool]) -> Set[tuple[int, int]]:
    """Where texts stand in the user's role that a later one repeats: the message and its block.

    It says the same, or is the same skill with arguments behind all that the older one says, short
    enough to stay whole.

    Args:
        messages: of a conversation.
        counts: whether a message, by index, will be there, so that it may stand for others.
    """
    texts = [
        (index, slot, block.text, skill_of(block.text))
        for index, message in enumerate(messages)
        if message.role == "user"
        for slot, block in enumerate(message.blocks)
        if isinstance(block, Text)
    ]
    said, loads = set[str](), dict[str, list[str]]()
    found = set[tuple[int, int]]()
    for index, slot, text, skill in reversed(texts):
        later = loads.setdefault(skill, []) if skill else []
        if text in said or any(load.startswith(text) for load in later):
            found.add((index, slot))
        elif counts(index):
            said.add(text)
            if len(text) <= SKILL_CHARS and len(later) < MOST_LOADS:
                later.append(text)
    return found
