"""What stands in messages of any dialect, for tests that look for words."""

from collections.abc import Iterator
from typing import Any

from generated import Messages

from context_compression.conversation import parse, strings_in


def text_of(messages: Messages) -> str:
    """All strings of some messages."""
    return "\n".join(text for message in messages for text in strings_in(message))


def texts_by_user(messages: Messages) -> Iterator[str]:
    """The texts in the user's role, whoever wrote them."""
    for message in parse(messages).messages:
        if message.role == "user":
            yield from _texts(message)


def _texts(message: Any) -> Iterator[str]:
    return (block.text for block in message.blocks if type(block).__name__ == "Text")
