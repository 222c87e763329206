"""Shortens tool results and long arguments of calls one by one, the oldest first, until all fits.

A step that the model has not answered stays unchanged, however large it is; an answered one may be
shortened, however new it is. Restored texts stay, because shortening them again would start a loop.
A strategy shortens one text (`truncate`, `offload`); this module makes an `Edit` of the message,
which `planning.edits.apply` applies.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from context_compression.conversation import arguments
from context_compression.conversation.labels import Span
from context_compression.conversation.messages import (
    Block,
    Message,
    ToolCall,
    ToolResult,
)
from context_compression.evidence.constraints import constraints_in
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan, TokenCounter
from context_compression.planning.selection import tokens_of_text, tool_names
from context_compression.strategies import measured

Slots: TypeAlias = Mapping[tuple[int, str], Sequence[Span]]
"""Spans of a message to show, by `(block, key)`. The key names a call's text; for other blocks it
is empty."""
NO_SLOTS: Slots = {}
Shorten: TypeAlias = Callable[[ToolResult, str, int, Sequence[Span]], ToolResult]
"""`shorten(result, tool, index, spans)` returns a shorter result, or the same one. `index` is the
index of its message; `spans` are parts of its text that must stay."""
ShortenArgument: TypeAlias = Callable[[ToolCall, str, str, int, Sequence[Span]], str]
"""`shorten(call, name, text, index, spans)` returns a shorter text for an argument of a call, or
the same one."""


@dataclass(frozen=True)
class Shortening:
    """How a strategy shortens a result, and how it shortens an argument of a call."""

    result: Shorten
    argument: ShortenArgument


def answered_steps(plan: Plan) -> Sequence[int]:
    """The messages whose results and calls may be shortened.

    These are all except pins and the step that the model has not answered.
    """
    unread = plan.open_step or range(0)
    return [
        index
        for index, message in enumerate(plan.messages)
        if index not in unread and index not in plan.pins and (message.results or message.calls)
    ]


def shorten_steps(plan: Plan, shortening: Shortening, reason: str) -> Sequence[Edit]:
    """Edits that shorten results and arguments, the oldest first, until all messages fit the room.

    Each edit replaces one message by a copy with shorter texts: `Edit(4, 5, (shorter,), reason)`.
    """
    names = tool_names(plan)
    edits: list[Edit] = []
    total = plan.total
    for index in answered_steps(plan):
        message = plan.messages[index]
        if plan.room is not None and total <= plan.room and index >= plan.batch:
            break
        becomes = with_short_results(message, index, plan, names, shortening.result)
        becomes = with_short_arguments(becomes, index, plan, shortening.argument)
        saved = plan.tokens[index] - plan.counter.message(becomes)
        if saved > 0:
            total -= saved
            edits.append(Edit(index, index + 1, (becomes,), reason))
    return edits


def least_left(plan: Plan) -> int:
    """The tokens that are left if all that may be shortened were removed completely."""
    return plan.total - sum(
        tokens
        for index in answered_steps(plan)
        for block in plan.messages[index].blocks
        for tokens in _tokens_to_shorten(block, index, plan)
    )


def _tokens_to_shorten(block: Block, index: int, plan: Plan) -> Iterator[int]:
    """The tokens of the texts of a block that are long enough to be shortened."""
    settings = plan.settings
    if isinstance(block, ToolResult):
        if is_typed_answer(block, plan.counter):
            return
        tokens = tokens_of_text(block, plan.counter)
        long = len(block.text) > settings.max_tool_output
        yield tokens if long or tokens >= settings.offload_min_tokens else 0
    elif isinstance(block, ToolCall) and not must_stay(block, index, plan):
        longest, least = longest_argument(plan), settings.offload_min_tokens

        def is_long(text: str) -> bool:
            return len(text) >= least and plan.counter.text(text) >= least  # a token has characters

        for _, text in arguments.long_texts_in(block, longest, is_long):
            yield plan.counter.text(text)


def longest_argument(plan: Plan) -> int:
    """The most characters of an argument that `truncate` leaves."""
    return int(plan.settings.max_tool_output * measured.ARGUMENT_SHARE)


def must_stay(call: ToolCall, index: int, plan: Plan) -> bool:
    """Whether the call in a message must be sent back unchanged, because of its signature."""
    return call.signed and index >= plan.current_turn


def with_short_arguments(
    message: Message,
    index: int,
    plan: Plan,
    shorten: ShortenArgument,
    slots: Slots = NO_SLOTS,
) -> Message:
    """The message with the arguments of its calls shortened; the same object if nothing changed."""
    archive = plan.archive

    def settle(call: ToolCall, slot: int) -> ToolCall:
        def shorter(name: str, text: str) -> str:
            kept = shorten(call, name, text, index, slots.get((slot, text), ()))
            restored = kept != text and archive.ref_of(text) in archive.restored
            return text if restored or len(kept) >= len(text) else kept

        return call if must_stay(call, index, plan) else arguments.with_texts(call, shorter)

    if not message.calls:
        return message
    blocks = tuple(
        settle(block, slot) if isinstance(block, ToolCall) else block
        for slot, block in enumerate(message.blocks)
    )
    return message if blocks == message.blocks else message.with_blocks(blocks)


def is_typed_answer(result: ToolResult, counter: TokenCounter) -> bool:
    """Whether the user answers in a result and typed that, so that it is kept like a message."""
    return bool(result.said) and counter.text(result.text) <= measured.TYPED_TOKENS


def rules_said_in(result: ToolResult) -> Iterator[Span]:
    """The spans of the user's constraints in a result in which the user answers."""
    for start, stop in constraints_in(result.said):
        if (at := result.text.find(result.said[start:stop])) >= 0:
            yield at, at + stop - start


def with_short_results(
    message: Message,
    index: int,
    plan: Plan,
    names: Mapping[str, str],
    shorten: Shorten,
    slots: Slots = NO_SLOTS,
) -> Message:
    """The message with its results shortened; the same object if nothing changed."""

    def settle(result: ToolResult, slot: int) -> ToolResult:
        name = names.get(result.call_id, "tool")
        archive = plan.archive
        if name.endswith("context_restore"):
            return result
        fits = tokens_of_text(result, plan.counter) <= plan.settings.threshold_tokens
        if fits and archive.ref_of(result.text) in archive.restored:
            return result
        if is_typed_answer(result, plan.counter):
            return result
        spans = [*slots.get((slot, ""), ()), *rules_said_in(result)]
        return shorten(result, name, index, spans)

    blocks = tuple(
        settle(block, slot) if isinstance(block, ToolResult) else block
        for slot, block in enumerate(message.blocks)
    )
    return message if blocks == message.blocks else message.with_blocks(blocks)
