"""Whether two people talk, so that what either of them says counts the same."""

from collections.abc import Sequence
from statistics import median

from context_compression.conversation.messages import Message

ALIKE = 2.0
"""Up to this factor, the usual texts of both are of the same length: neither is an assistant who
answers at length, or a user who only asks."""


def is_talk_of_two(messages: Sequence[Message]) -> bool:
    """Whether the usual texts of user and assistant have about the same length."""
    user, assistant = (
        [len(message.text) for message in messages if message.role == role]
        for role in ("user", "assistant")
    )
    if not user or not assistant:
        return False
    usual = sorted((median(user), median(assistant)))
    return usual[1] <= ALIKE * usual[0]
