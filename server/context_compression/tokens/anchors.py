"""Anchors: the usage that a provider reported, plus a count of the messages after it.

If the last request of a conversation had 150,000 tokens and the conversation has since grown by
10 %, the count is right to within half a percent with any tokenizer.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import (
    COMPRESSED,
    Message,
    Thinking,
    as_object,
    objects,
    strings_in,
    texts_of,
)
from context_compression.conversation.refs import REF
from context_compression.tokens.counter import Count, Counter

CHARACTERS_A_TOKEN = 10
"""No text has more of these characters per token."""
_RUN = re.compile(r"(.)\1{7,}")


def sure_characters(text: str) -> int:
    """How many characters of a text surely cost tokens.

    A token may hold a hundred blanks, newlines or `=`, so white space is left out, and so is a
    character that is repeated eight times or more.
    """
    return len(_RUN.sub("", "".join(text.split())))


_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
UNDERSTATED = (
    "the usage in some messages is too small for the text before them, as from a gateway that "
    "leaves out cached tokens; it is not used, and our own count is"
)
_WRITTEN_BY_US = re.compile(rf"^{re.escape(COMPRESSED)}|; ref {REF}[;\]]")


@dataclass(frozen=True, slots=True)
class Anchor:
    """The tokens that a provider reported for the first messages, with system prompt and tools.

    Attributes:
        tokens: input and output tokens of the request.
        messages: the number of messages that these tokens are for.
    """

    tokens: int
    messages: int


def anchored(counter: Counter, messages: Sequence[Message], anchor: Anchor) -> Count:
    """The anchor's tokens plus a count of the messages after it.

    An anchor for more messages than there are belongs to an earlier state and is ignored.
    """
    if anchor.messages > len(messages):
        return counter.total(messages)
    tail = counter.total(messages[anchor.messages :])
    return Count(anchor.tokens + tail, f"usage + {tail.method}", anchor.tokens + tail.upper)


def anchor_in(messages: Sequence[Mapping[str, Any]]) -> Anchor | None:
    """The last `message["usage"]` in a conversation of provider dicts; `None` if there is none.

    Usage after a text of this package is ignored, because it may be from before a compression. In a
    `Conversation`, so is usage that is too small for the texts before it.
    """
    understated = _understated(messages) if isinstance(messages, Conversation) else iter(())
    next_understated = next(understated, None)
    for at, usage, charged in _charges(messages):
        if at == next_understated:
            next_understated = next(understated, None)
            continue
        if any(map(_WRITTEN_BY_US.search, strings_in(messages[:at]))):
            return None
        answered = _tokens(usage, "completion_tokens") or _tokens(usage, "output_tokens")
        if _plausible(answered, messages[at]):
            return Anchor(charged + answered, at + 1)
        # One answer may be split over messages that repeat its id and usage. The request held
        # only the messages before the first of them.
        id_ = messages[at].get("id")
        while id_ is not None and at > 0 and messages[at - 1].get("id") == id_:
            at -= 1
        return Anchor(charged, at)
    return None


def is_understated(conversation: Conversation) -> bool:
    """Whether messages report usage that is too small for the texts before them."""
    return any(True for _ in _understated(conversation))


def _charges(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any], int]]:
    """The messages with usage, the last one first: index, usage, and the tokens of the input."""
    for at in range(len(messages) - 1, -1, -1):
        usage = messages[at].get("usage")
        if not isinstance(usage, Mapping):
            continue
        usage = cast("Mapping[str, Any]", usage)
        # OpenAI's `prompt_tokens` includes cached tokens, Anthropic's `input_tokens` does not.
        charged = _tokens(usage, "prompt_tokens") or sum(_tokens(usage, key) for key in _INPUT)
        if charged:  # else a placeholder, or a reply without a request
            yield at, usage, charged


def _understated(conversation: Conversation) -> Iterator[int]:
    """The messages whose usage is too small for the texts before them, the last one first."""
    all_before: Sequence[int] | None = None
    sure_before: Sequence[int] | None = None
    for at, _, charged in _charges(conversation.raw):
        most = (charged + _cleared(conversation.raw[at])) * CHARACTERS_A_TOKEN
        all_before = all_before or _characters_before(conversation.messages, len)
        if most < all_before[at]:  # only then, because it takes 20 times as long
            sure_before = sure_before or _characters_before(conversation.messages, sure_characters)
            if most < sure_before[at]:
                yield at


def _characters_before(messages: Sequence[Message], size: Callable[[str], int]) -> list[int]:
    """For each message, the characters before it in texts that its request surely held.

    A provider may leave out thinking, and all that is before a conversation that it compacted.
    """
    before: list[int] = []
    characters = 0
    for message in messages:
        if message.stands_for_earlier:
            characters = 0
        before.append(characters)
        texts = (t for b in message.blocks if not isinstance(b, Thinking) for t in texts_of(b))
        characters += sum(map(size, texts))
    return before


def _cleared(answer: Mapping[str, Any]) -> int:
    """The tokens that Anthropic's context editing left out of the request."""
    edits = objects(as_object(answer.get("context_management")).get("applied_edits"))
    return sum(_tokens(edit, "cleared_input_tokens") for edit in edits)


def _tokens(usage: Mapping[str, Any], key: str) -> int:
    """A number of tokens; 0 if it is none."""
    value = usage.get(key)
    return value if type(value) is int and value > 0 else 0


def _plausible(answered: int, message: Mapping[str, Any]) -> bool:
    # Streamed answers are often recorded with a placeholder (8, 6, 0 and 1 instead of 173, 243, 212
    # and 94). No tokenizer needs less than one token for 8 characters of ordinary text or code.
    content = [message.get("content"), message.get("tool_calls")]
    return answered * 8 >= sum(map(len, strings_in(content))) and answered > 0
