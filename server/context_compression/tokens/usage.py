"""How full a context window is, and whether a compression is due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from threading import Lock
from typing import Any, TypeAlias

from context_compression.conversation.authors import author_of, is_our_note, title_of
from context_compression.conversation.formats import AnyMessage, Conversation, parse
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
)
from context_compression.conversation.system_prompt import summary_in
from context_compression.settings import Settings
from context_compression.tokens import (
    Count,
    Counter,
    TextCounter,
    anchor_in,
    anchored,
    fingerprint,
    window_of,
)

Messages = Sequence[Mapping[str, Any]]
AnyMessages: TypeAlias = Sequence[AnyMessage]
"""A conversation as a program has it: dicts of one dialect, or objects of its library."""


@dataclass(frozen=True)
class Usage:
    """How full a context window is.

    Attributes:
        used_tokens: the tokens in use; `used_tokens.method` says how they were counted.
        total_budget: the token budget, by default the tokens of the model's context window.
        threshold_tokens: the number of tokens at which a compression is due.
        threshold_reason: where that number comes from: `80 % of 200,000`.
    """

    used_tokens: Count
    total_budget: int
    threshold_tokens: int
    threshold_reason: str = ""

    def __repr__(self) -> str:
        return f"<Usage: {self.in_words}, due from {self.threshold_tokens:,}>"

    @property
    def in_words(self) -> str:
        """`12,345 of 200,000 tokens (6.2 %)`."""
        share = f"{self.usage_percent:,} %"
        return f"{self.used_tokens:,} of {self.total_budget:,} tokens ({share})"

    @property
    def usage_percent(self) -> float:
        """The used share of the budget in percent, to one decimal."""
        return round(100 * self.used_tokens / self.total_budget, 1)

    @property
    def remaining(self) -> int:
        """The tokens left in the budget; never negative."""
        return max(0, self.total_budget - self.used_tokens)

    @property
    def over_threshold(self) -> bool:
        """Whether a compression is due; the upper bound of the count decides.

        A running compression makes the same check on its prepared conversation, in
        `compression.prepared`.
        """
        return self.used_tokens > 0 and self.used_tokens.upper >= self.threshold_tokens


KINDS = {
    Text: "text", Thinking: "thinking", ToolCall: "tool calls", ToolResult: "tool results",
    Image: "images", Document: "documents", Opaque: "other",
}  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A block with its size: the index of its message, a title, and its tokens."""

    message: int
    what: str
    tokens: int


def breakdown(messages: Sequence[Message], counter: Counter) -> dict[str, int]:
    """Tokens by kind of content, the largest first; they add up to the tokens of the messages."""
    sizes: dict[str, int] = {}
    for message in messages:
        for block in message.blocks:
            kind = KINDS[type(block)]
            if isinstance(block, Text):
                is_note = is_our_note(block.text)
                kind = "our notes" if is_note else f"{author_of(message, block.text)} text"
            sizes[kind] = sizes.get(kind, 0) + counter.block(block)
        sizes["structure"] = sizes.get("structure", 0) + counter.family.per_message
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


BESIDE = "system prompt, tools and the like"
"""The kind of the tokens that a provider charged beyond those of the messages."""


def adding_up_to(used: int, breakdown: Mapping[str, int]) -> dict[str, int]:
    """A breakdown whose kinds add up to `used`, which a provider charged.

    If it charged more tokens than we counted, the difference is a kind of its own. If it charged
    fewer, each kind is reduced in proportion.
    """
    counted = sum(breakdown.values())
    if used >= counted:
        return {**breakdown, **({BESIDE: used - counted} if used > counted else {})}
    shares = {kind: tokens * used // counted for kind, tokens in breakdown.items()}
    largest = max(shares, key=shares.__getitem__)
    shares[largest] += used - sum(shares.values())
    return shares


def largest(messages: Sequence[Message], counter: Counter, limit: int = 5) -> list[Item]:
    """The blocks with the most tokens, the largest first."""
    sizes = (
        (-counter.block(block), index, place)
        for index, message in enumerate(messages)
        for place, block in enumerate(message.blocks)
    )
    biggest = nsmallest(limit, sizes)
    names = {call.id: call.name for message in messages for call in message.calls}
    return [
        Item(index, _what(messages[index], messages[index].blocks[place], names), -less)
        for less, index, place in biggest
    ]


def _what(message: Message, block: Block, names: Mapping[str, str]) -> str:
    match block:
        case ToolCall():
            return f"call of {block.name}"
        case ToolResult():
            return f"result of {names.get(block.call_id, 'a tool')}"
        case Text():
            return title_of(message, block.text)
        case _:
            return KINDS[type(block)].removesuffix("s")


def for_model(settings: Settings | Mapping[str, Any] | None, model: str | None) -> Settings:
    """The settings, with the model's context window as `token_budget` if none was set.

    Raises:
        InvalidSettings: an unknown name or an impossible value.
    """
    if not isinstance(settings, Settings):
        settings = Settings.checked({} if settings is None else settings)
    window = window_of(model)
    if window is None or "token_budget" in settings.model_fields_set:
        return settings
    return settings.changed({"token_budget": window})


REMEMBERED_COUNTS = 64
"""How many conversations' counts are cached; callers often count the same conversation again."""
_counted: dict[tuple[int, str | None], Count] = {}
_counting = Lock()


def count_tokens(
    messages: AnyMessages | str,
    *,
    system: Any = None,
    tools: Any = None,
    model: str | None = None,
    counter: TextCounter | None = None,
) -> Count:
    """Tokens of a conversation, or of one text: as `compress` and a `Session` count them.

    They are `Result.tokens_before` of the same messages, for the same `model`. What a provider
    charged (the `usage` in a message) does not count here; see `usage`.

        count_tokens(messages)                          # in tokens of older Claude models
        count_tokens(messages, model=session.model)     # as a session with a model counts

    Args:
        messages: messages in any dialect of `formats`, or one text.
        system: the system prompt, if it is outside the messages.
        tools: the tool definitions.
        model: the model whose tokens are counted; without one, as in `compress` and `Session`,
            those of the older Claude family: 1.15 times o200k, which is enough for most models.
        counter: the caller's own function, which takes a text and returns its number of tokens.

    Returns:
        A whole number, which also has `method` (how it was counted) and `upper` (at most so many).

    Raises:
        InvalidConversation: `messages` is not a conversation in a known dialect.
        InvalidCounter: `counter` is not a function, or does not return a number of tokens.
    """
    if counter is not None:
        return _count(messages, system, tools, Counter(model, counter))
    raw = messages.raw if isinstance(messages, Conversation) else messages
    key = (fingerprint((raw, system, tools)), model)
    count = _counted.get(key)
    if count is None:
        count = _count(messages, system, tools, Counter(model))
        with _counting:
            if len(_counted) >= REMEMBERED_COUNTS:
                del _counted[next(iter(_counted))]
            _counted[key] = count
    return count


def _count(messages: AnyMessages | str, system: Any, tools: Any, counter: Counter) -> Count:
    overhead = counter.system(system) + counter.tools(tools)
    if isinstance(messages, str):
        return counter.count(overhead + counter.text(messages))
    return counter.total(parse(messages).messages, overhead)


def usage(
    messages: AnyMessages,
    *,
    system: Any = None,
    tools: Any = None,
    model: str | None = None,
    counter: TextCounter | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> Usage:
    """How full the context window is; the arguments are those of `count_tokens`, and the settings.

    The count starts from the last `usage` that a message holds, unless the caller passes a
    `counter` or the system prompt holds a summary. Without one it is that of `count_tokens`.

    Returns:
        `used_tokens`, `total_budget`, `usage_percent`, `remaining`, and from where on a compression
        is due.

    Raises:
        InvalidConversation: `messages` is not a conversation in a known dialect.
        InvalidCounter: `counter` is not a function, or does not return a number of tokens.
        InvalidSettings: an unknown name or an impossible value.
    """
    settings = for_model(settings, model)
    conversation = parse(messages)  # a text can be counted, but it is not a conversation
    used = count_tokens(conversation, system=system, tools=tools, model=model, counter=counter)
    # usage may be from before the compression that put a summary into the system prompt
    known = None if summary_in(system) else anchor_in(conversation)
    if counter is None and (anchor := known):
        used = anchored(Counter(model), conversation.messages, anchor)
    return Usage(used, settings.token_budget, *settings.threshold)
