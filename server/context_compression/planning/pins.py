"""Pinned messages, which the caller wants to keep unshortened."""

from collections.abc import Sequence

from context_compression.conversation.messages import Message


def pinned(messages: Sequence[Message], pins: Sequence[int | str]) -> frozenset[int]:
    """The indices of pinned messages.

    Each pin is an index (a negative one counts from the end), or a text that messages contain.
    """
    indices: set[int] = set()
    for pin in pins:
        if isinstance(pin, int):
            if -len(messages) <= pin < len(messages):
                indices.add(pin % len(messages))
        else:
            indices.update(i for i, message in enumerate(messages) if _contains(message, pin))
    return frozenset(indices)


def _contains(message: Message, text: str) -> bool:
    return (
        text in message.text
        or any(text in r.text for r in message.results)
        or any(text in call.arguments_text for call in message.calls)
    )
