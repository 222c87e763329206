"""Real usage beats every estimate: what the provider charged, plus a count of what came after.

A conversation whose last request was charged with 150,000 tokens and has grown by 10 % since is
known to within half a percent, whatever the tokenizer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from context_compression.conversation.messages import COMPRESSED, Message, strings_in
from context_compression.conversation.refs import REF
from context_compression.tokens.counter import Count, Counter

_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OURS = re.compile(rf"^{re.escape(COMPRESSED)}|; ref {REF}[;\]]")


@dataclass(frozen=True, slots=True)
class Anchor:
    """What the first `messages` messages really cost, system prompt and tools included."""

    tokens: int
    messages: int


def anchored(counter: Counter, messages: Sequence[Message], anchor: Anchor) -> Count:
    """The anchor's tokens and a count of the messages after it; only that count is in doubt.

    An anchor over more messages than there are belongs to an earlier state and is not used.
    """
    if anchor.messages > len(messages):
        return counter.whole(messages)
    tail = counter.whole(messages[anchor.messages :])
    return Count(anchor.tokens + tail, f"usage + {tail.method}", anchor.tokens + tail.upper)


def anchor_in(messages: Sequence[Mapping[str, Any]]) -> Anchor | None:
    """The last real usage that stands in a conversation of provider dicts (`message["usage"]`).

    What was charged before a compression says nothing of the view after it: a usage that stands
    behind anything of ours is not taken.
    """
    for at in range(len(messages) - 1, -1, -1):
        usage = messages[at].get("usage")
        if not isinstance(usage, Mapping):
            continue
        usage = cast("Mapping[str, Any]", usage)
        # OpenAI's `prompt_tokens` includes what was cached, Anthropic's `input_tokens` does not.
        charged = _tokens(usage, "prompt_tokens") or sum(_tokens(usage, key) for key in _INPUT)
        if charged == 0:  # a placeholder, or a reply nobody was asked for
            continue
        if any(map(_OURS.search, strings_in(messages[:at]))):
            return None
        answered = _tokens(usage, "completion_tokens") or _tokens(usage, "output_tokens")
        if _plausible(answered, messages[at]):
            return Anchor(charged + answered, at + 1)
        # One answer may be split over messages that repeat its id and usage: the request ended
        # before.
        id_ = messages[at].get("id")
        while id_ is not None and at > 0 and messages[at - 1].get("id") == id_:
            at -= 1
        return Anchor(charged, at)
    return None


def _tokens(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) else 0


def _plausible(answered: int, message: Mapping[str, Any]) -> bool:
    # Streamed answers are often recorded with a placeholder (8, 6, 0, 1 where it was 173, 243, 212,
    # 94). No tokenizer makes 8 characters of ordinary text or code into less than a token.
    said = [message.get("content"), message.get("tool_calls")]
    return answered * 8 >= sum(map(len, strings_in(said))) and answered > 0
