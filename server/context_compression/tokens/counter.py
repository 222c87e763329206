"""`Counter`, which counts blocks, messages and conversations in the tokens of one model.

Each block's count is rounded up to an integer. The count of a conversation is therefore exactly the
sum of its messages, and an unchanged message keeps its count.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, assert_never, cast

from context_compression.conversation.messages import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)
from context_compression.conversation.text_protocol import written
from context_compression.display.plurals import how_many
from context_compression.errors import InvalidCounter
from context_compression.tokens.counting import Counting
from context_compression.tokens.families import ANY, Family, family_of
from context_compression.tokens.media import (
    MOST_UNSEEN_PAGES,
    PAGE,
    UNSEEN_PAGES,
    document_tokens,
    image_tokens,
    is_reference,
    payload,
    sealed_tokens,
    without_base64,
)
from context_compression.tokens.o200k import BASE, O200K
from context_compression.tokens.remembered import Remembered, TextCounter

WITHOUT_TOKENIZER = 1.15
"""The factor on the upper bound without a tokenizer, because the estimate from bytes was off by
13 % at most (see `estimate`)."""


class Count(int):
    """A number of tokens, with the method by which it was counted and an upper bound."""

    method: str
    """For example "o200k" or "usage + o200k x 1.15 (claude, older)"."""
    upper: int
    """The upper bound: 95 of 100 such conversations have at most this many tokens."""

    def __new__(cls, tokens: int, method: str = "given", upper: int | None = None) -> "Count":
        """A count, which is exact if no `upper` is given."""
        count = super().__new__(cls, tokens)
        count.method = method
        count.upper = tokens if upper is None else upper
        return count


class Counter:
    """Counts in the tokens of one model."""

    family: Family

    def __init__(self, model: str | None = None, counter: TextCounter | None = None) -> None:
        """A counter for a model, or with the caller's own function.

        Args:
            model: the name of the model; default: the older Claude family, or with `counter` the
                family `ANY`.
            counter: a function that takes a text and returns its number of tokens.

        Raises:
            InvalidCounter: `counter` is not a function. The counting methods raise it if `counter`
                does not return a number of tokens.
        """
        self._custom = counter is not None
        self.family = ANY if self._custom and model is None else family_of(model)
        self._base = BASE if counter is None else Remembered(_checked(counter))
        self._percent = 100 if self._custom else round(self.family.factor * 100)

    @property
    def method(self) -> str:
        """The method of this counter in words: `"o200k x 1.15 (claude, older)"`."""
        if self._custom:
            return "custom"
        return "bytes (tokenizer unavailable)" if O200K.failed else self.family.method

    def count(self, tokens: int) -> Count:
        """A number of tokens from this counter, with its method and upper bound."""
        if self._custom:
            return Count(tokens, self.method)
        doubt = self.family.upper * (WITHOUT_TOKENIZER if O200K.failed else 1)
        return Count(tokens, self.method, math.ceil(tokens * doubt))

    def text(self, text: str) -> int:
        """Tokens of a text, without any structure around it."""
        return self._scaled(self._base.text(text))

    def block(self, block: Block) -> int:
        """Tokens of a block, including the structure around it."""
        match block:
            case Text():
                return self.text(block.text)
            case ToolCall():
                return self._call(block)
            case ToolResult():
                return self.family.per_result + sum(map(self.block, block.content))
            case Thinking():
                if block.text and not block.redacted:
                    return self.text(block.text)
                return self._scaled(sealed_tokens(len(payload(block.source))))
            case Image():
                return image_tokens(block.source, self.family)
            case Document():
                return self._document(block)
            case Opaque():
                return self._opaque(block.source)
            case _:
                assert_never(block)

    def message(self, message: Message) -> int:
        """Tokens of a message, including the structure around it."""
        message = written(message)
        return self.family.per_message + sum(map(self.block, message.blocks))

    def messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a conversation, without the system prompt and tools outside the messages."""
        if counting := self.ahead(messages):
            counting.finish()
        return sum(map(self.message, messages))

    def total(self, messages: Sequence[Message], overhead: int = 0) -> Count:
        """The count of a conversation plus `overhead`, the tokens outside the messages.

        A document given by an id or an address is counted with an assumed length, and the count's
        method names that assumption. The upper bound assumes a long document.
        """
        count = self.count(overhead + self.messages(messages))
        unseen = sum(map(_is_unseen, chain.from_iterable(map(_parts, messages))))
        if not unseen:
            return count
        what = how_many(unseen, "document")
        assumed = f"{what} by reference taken for {UNSEEN_PAGES} pages each"
        more = unseen * PAGE * (MOST_UNSEEN_PAGES - UNSEEN_PAGES)
        return Count(int(count), f"{count.method}, {assumed}", count.upper + more)

    def ahead(self, messages: Iterable[Message]) -> Counting | None:
        """Start to count the texts of messages in a thread; `None` if there is too little text."""
        blocks = chain.from_iterable(message.blocks for message in messages)
        parts = chain.from_iterable(
            b.content if isinstance(b, ToolResult) else (b,) for b in blocks
        )
        return self._base.ahead(part.text for part in parts if isinstance(part, Text))

    def system(self, system: str | Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of a system prompt outside the messages: a text or text blocks."""
        if not system:
            return 0
        if isinstance(system, str):
            return self.text(system)
        if not is_array(system):
            return self._opaque(system)
        return sum(
            self.text(block["text"])
            if is_object(block) and isinstance(block.get("text"), str)
            else self._opaque(block)
            for block in system
        )

    def tools(self, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of tool definitions in any format."""
        if not tools:
            return 0
        each = sum(self.family.per_definition + self._scaled(self._base.json(t)) for t in tools)
        return self.family.with_tools + each

    def _scaled(self, base: int) -> int:
        return -int(-base * self._percent // 100)

    def _call(self, call: ToolCall) -> int:
        arguments = call.arguments
        named = len(cast("dict[str, Any]", arguments)) if isinstance(arguments, dict) else 0
        base = self._base.text(call.name) + self._base.json(arguments)
        return self.family.per_call + self.family.per_argument * named + self._scaled(base)

    def _document(self, document: Document) -> int:
        if document.text:
            return self.text(document.text)
        pages = document_tokens(document.source)
        if pages is None and is_reference(document.source):
            return UNSEEN_PAGES * PAGE
        return self._opaque(document.source) if pages is None else pages

    def _opaque(self, source: Any) -> int:
        # The base64 may be reasoning, sound or a picture: at most the tokens of a picture.
        shown, removed_chars = without_base64(source)
        sealed = min(sealed_tokens(removed_chars), self.family.image_tokens)
        return self._scaled(self._base.json(shown)) + sealed


def _parts(message: Message) -> Iterator[Block]:
    """The blocks of a message, with the parts of each result in its place."""
    for block in message.blocks:
        yield from block.content if isinstance(block, ToolResult) else (block,)


def _is_unseen(block: Block) -> bool:
    return isinstance(block, Document) and not block.text and is_reference(block.source)


def _checked(counter: TextCounter) -> TextCounter:
    """The caller's counter, with a check that it returns numbers of tokens."""
    if not callable(counter):
        raise InvalidCounter(
            f"counter is {counter!r:.60}; it must be a function: text in, tokens out."
        )

    def count(text: str) -> int:
        tokens: Any = counter(text)
        with suppress(TypeError, ValueError, ArithmeticError):  # no number, or none that counts
            if tokens >= 0:
                return math.ceil(tokens)
        raise InvalidCounter(
            f"counter gave {tokens!r:.60} for a text of {len(text):,} characters; it must give a "
            "number of tokens, 0 or more."
        )

    return count
