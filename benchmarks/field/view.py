"""A compressed conversation as the gates look at it, and its size in o200k tokens."""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

import recordings
from estimate import block_text
from recordings import Message, Messages

from context_compression.tokens import base_count
from field.words import Told, spaced

PER_MESSAGE = 4
"""Tokens of a message's role and delimiters, as OpenAI's guide to counting tokens says."""


class View:
    """Messages that a model would get.

    Attributes:
        messages: with blocks only, and results as texts.
        texts: the text of each message.
    """

    def __init__(self, messages: Messages) -> None:
        self.messages = recordings.plain(messages)
        self.texts = [*map(text_of, self.messages)]

    @cached_property
    def whole(self) -> str:
        """All text, with single spaces."""
        return spaced("\n".join(self.texts))

    @cached_property
    def lines(self) -> frozenset[str]:
        """All lines, with single spaces."""
        return frozenset(spaced(line) for text in self.texts for line in text.split("\n"))

    @cached_property
    def newest(self) -> str:
        """The text of the last message, with single spaces."""
        return spaced(self.texts[-1]) if self.texts else ""

    @cached_property
    def told(self) -> Told:
        return Told(self.texts)

    @cached_property
    def tokens(self) -> int:
        """Tokens of all texts."""
        return sum(map(o200k, self.texts))

    @property
    def size(self) -> int:
        """Tokens of all texts, and of what frames each message."""
        return self.tokens + PER_MESSAGE * len(self.messages)


def text_of(message: Message) -> str:
    """The text of a message with the arguments of calls as JSON."""
    return "\n".join(map(block_text, message["content"]))


@lru_cache(20_000)
def o200k(text: str) -> int:
    """Tokens of a text by the vocabulary o200k, without any factor for a model."""
    return base_count(text)


def share_of(view: View, history: View) -> float:
    """The true size of a view, as a share of the history's tokens."""
    return view.size / max(1, history.size)


def own_words(view: View, history: View) -> float:
    """The share of a view's tokens that no message of the history contains.

    These are a method's marks, labels, stubs and notes. Lines count, and in a line that the history
    does not contain, the parts between square brackets and those around them.
    """
    lines = (line for text in view.texts for line in text.split("\n"))
    parts = (part for line in lines for part in _new(line, history))
    return sum(map(o200k, parts)) / max(1, view.tokens)


def _new(line: str, history: View) -> Iterator[str]:
    if spaced(line) in history.lines or _stands_in(line, history):
        return
    yield from (part for part in _split(line) if not _stands_in(part, history))


def _split(line: str) -> Iterable[str]:
    """`a [… 2 lines] b` -> `a `, `[… 2 lines]`, ` b`."""
    start = 0
    for at, sign in enumerate(line):
        if sign == "[":
            yield line[start:at]
            start = at
        elif sign == "]":
            yield line[start : at + 1]
            start = at + 1
    yield line[start:]


def _stands_in(text: str, history: View) -> bool:
    return spaced(text) in history.whole
