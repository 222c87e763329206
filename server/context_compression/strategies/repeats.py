"""Texts of role user that a later text repeats, so that the older ones need not be shown."""

from collections.abc import Callable, Sequence, Set

from context_compression.conversation.authors import skill_of
from context_compression.conversation.messages import Message, Text
from context_compression.strategies import measured


def repeated_texts(
    messages: Sequence[Message], counts: Callable[[int], bool]
) -> Set[tuple[int, int]]:
    """`(message, block)` of each text of role user that a later text repeats.

    A text is repeated by an equal text. A skill is also repeated by a later load of the same skill
    that begins with it and adds arguments, if that load is short enough to stay unshortened.

    Args:
        messages: the messages of a conversation.
        counts: takes the index of a message and returns whether it will be in view, so that it may
            replace earlier ones.
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
