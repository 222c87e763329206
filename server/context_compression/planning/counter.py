"""`Counter`: what a plan needs of a counter of tokens."""

from typing import Protocol

from context_compression.conversation.messages import Block, Message


class Counter(Protocol):
    """Counts tokens, as `tokens.Counter` does."""

    def text(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def block(self, block: Block) -> int:
        """Tokens of a block."""
        ...

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        ...
