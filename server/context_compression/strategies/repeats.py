"""Texts that are repeated in the user's role: where the newest stands the older ones need not."""

from collections.abc import Callable, Sequence, Set

from context_compression.conversation.authors import skill_of
from context_compression.conversation.messages import Message, Text
from context_compression.strategies import measured


def repeated_texts(
    messages: Sequence[Message], counts: Callable[[int], bool]
) -> Set[tuple[int, int]]:
    """Where texts stand in the user's role that a later one repeats: the message and its block.

    It says the same, or is the same skill with arguments behind all that the older one says, short
    enough to stay unshortened.

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
    later_texts, loads = set[str](), dict[str, list[str]]()
    repeated = set[tuple[int, int]]()
    for index, slot, text, skill in reversed(texts):
        later = loads.setdefault(skill, []) if skill else []
        if text in later_texts or any(load.startswith(text) for load in later):
            repeated.add((index, slot))
        elif counts(index):
            later_texts.add(text)
            if len(text) <= measured.SKILL_CHARS and len(later) < measured.MOST_LOADS:
                later.append(text)
    return repeated
