"""Whether two people talk, so that what either of them says counts the same."""

from collections.abc import Sequence
from statistics import median

from context_compression.conversation.messages import Image, Message

ALIKE = 2.0
"""Up to this factor, the usual texts of both are of the same length: neither is an assistant who
answers at length, or a user who only asks."""
PICTURES = 0.1
"""Where this share of the messages has pictures, the talk is about them, and no note quotes one."""


def is_talk_of_two(messages: Sequence[Message]) -> bool:
    """Whether the usual texts of user and assistant have about the same length.

    A conversation with many pictures is no talk.
    """
    seen = sum(any(isinstance(block, Image) for block in message.blocks) for message in messages)
    if seen > PICTURES * len(messages):
        return False
    user, assistant = (
        [len(message.text) for message in messages if message.role == role]
        for role in ("user", "assistant")
    )
    if not user or not assistant:
        return False
    usual = sorted((median(user), median(assistant)))
    return usual[1] <= ALIKE * usual[0]
