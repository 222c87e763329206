"""Shortens tool results and long arguments of calls one by one, the oldest first, until all fits.

A step that the model has not answered stays unchanged, however large it is; an answered one may be
shortened, however new it is. Restored texts stay, because shortening them again would start a loop.
`truncate` and `offload` shorten one text; `shorten_steps` makes an `Edit` of the message, which
`planning.edits.apply` applies.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from context_compression.conversation import arguments
from context_compression.conversation.labels import NEWLINE, Span, render
from context_compression.conversation.messages import Block, Message, Text, ToolCall, ToolResult
from context_compression.conversation.refs import ref_of
from context_compression.evidence.constraints import constraints_in
from context_compression.planning.edits import Edit
from context_compression.planning.measured import CHARS_PER_TOKEN, PREVIEW_MARK_CHARS
from context_compression.planning.pieces import Pool, Source
from context_compression.planning.plan import Plan, TokenCounter
from context_compression.planning.selection import (
    clip,
    describe,
    landmarks,
    receipt,
    receipt_of,
    tokens_of_text,
    tool_names,
)
from context_compression.plurals import how_many
from context_compression.settings import Settings
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal, without_model
from context_compression.tokens import Counter

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
    message: Message, index: int, plan: Plan, shorten: ShortenArgument, slots: Slots = NO_SLOTS
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


MARK = re.compile(r"\n\.\.\. \[truncated \d+ characters; ref \w+\] \.\.\.\n")
"""The mark of an earlier cut. It does not count towards the limit, because otherwise each
compression would cut the text again."""


def truncate(plan: Plan) -> Proposal:
    """Edits of `truncate`, which cut long tool outputs and arguments in the middle.

    An output keeps its beginning and end, each half of the limit. So does an argument of a call,
    with half of that: the model wrote it and the tool has it.
    """

    def cut(text: str, limit: int) -> str:
        if len(text) <= limit or len(MARK.sub("", text, count=1)) <= limit:
            return text
        return clip(text, limit, plan.archive.ref_of(text))

    def result(block: ToolResult, tool: str, index: int, shown: Sequence[Span]) -> ToolResult:
        text = cut(block.text, plan.settings.max_tool_output)
        return block if text == block.text else block.with_text(text)

    def argument(call: ToolCall, name: str, text: str, index: int, shown: Sequence[Span]) -> str:
        return cut(text, longest_argument(plan))

    return without_model(shorten_steps(plan, Shortening(result, argument), "truncate"))


def truncate_tool_output(
    text: str, *, max_chars: int | None = None, settings: Settings | Mapping[str, Any] | None = None
) -> str:
    """A tool output shortened before it is recorded: its beginning and end around a mark.

    The mark holds the ref of the full text. An output that would not become shorter is returned
    unchanged. Keep the full text yourself, or record the full message and let a `Session` keep it.

    Args:
        text: the output.
        max_chars: the most characters of text that are kept; default: `max_tool_output` of the
            settings.
        settings: a `Settings`, or some of its values.

    Raises:
        InvalidSettings: an unknown name or an impossible value.
    """
    checked = settings if isinstance(settings, Settings) else Settings.checked(settings or {})
    limit = checked.max_tool_output if max_chars is None else max_chars
    return min(text, clip(text, limit, ref_of(text)), key=len) if len(text) > limit else text


def offload(plan: Plan) -> Proposal:
    """Edits of `offload`, which replace large tool results and arguments by their previews.

    The original is moved to a file, which the first line of the preview names.
    """
    least = plan.settings.offload_min_tokens
    shortening = Shortening(to_preview(plan, least), argument_to_preview(plan, least))
    return without_model(shorten_steps(plan, shortening, "offload"))


def to_preview(
    plan: Plan,
    least: int,
    spans_of: Callable[[ToolResult, int, Plan], Sequence[Span]] | None = None,
) -> Shorten:
    """A function that replaces a result of at least `least` tokens by its preview.

    Args:
        plan: the plan of the conversation.
        least: the fewest tokens of a result that is replaced.
        spans_of: the spans of a result to show, by default those of `preview`.
    """
    spans_of = spans_of or preview

    def shorten(result: ToolResult, name: str, index: int, shown: Sequence[Span]) -> ToolResult:
        tokens = tokens_of_text(result, plan.counter)  # pictures are kept
        text = result.text
        if tokens < least or not text:
            return result
        spans = [*spans_of(result, index, plan), *shown]
        if earlier := receipt_of(text, plan.archive):  # already a preview, which names its ref
            kept = result.with_text(render(text, [earlier.span(), *spans]))
        else:
            what = describe(result, name, tokens)
            line = receipt(what, plan.archive.ref_of(text), plan.archive, with_file=True)
            kept = result.with_text(f"{line}\n{render(text, spans)}" if spans else line)
        return kept if tokens_of_text(kept, plan.counter) < tokens else result

    return shorten


def argument_to_preview(plan: Plan, least: int) -> ShortenArgument:
    """A function that replaces an argument of at least `least` tokens by its preview.

    Its marks say that the text is left out of the view, because a reader could take a preview for
    what the call wrote.
    """

    def shorten(call: ToolCall, name: str, text: str, index: int, shown: Sequence[Span]) -> str:
        if len(text) < least:  # no token is less than a character
            return text
        tokens = plan.counter.text(text)
        if tokens < least:
            return text
        spans = [*preview_of_argument(call, text, index, plan), *shown]
        if earlier := receipt_of(text, plan.archive):
            kept = render(text, [earlier.span(), *spans], explicit=True)
        else:
            size = f"{how_many(tokens, 'token')}, {how_many(text.count(NEWLINE) + 1, 'line')}"
            what = f"{name} of {call.name}, left out of this view: {size}"
            line = receipt(what, plan.archive.ref_of(text), plan.archive, with_file=True)
            kept = f"{line}\n{render(text, spans, explicit=True)}" if spans else line
        return kept if plan.counter.text(kept) < tokens else text

    return shorten


def preview(result: ToolResult, index: int, plan: Plan) -> Sequence[Span]:
    """The spans of an output that later work most likely needs.

    These are the first and last line and lines of errors, then the pieces with the most evidence.
    Words that the user or the model says or passes to a tool count most.
    """
    tokens = tokens_of_text(result, plan.counter)
    return _known_preview(result, result.text, tokens, index, plan)


def preview_of_argument(call: ToolCall, text: str, index: int, plan: Plan) -> Sequence[Span]:
    """The same for a text in the arguments of a call."""
    return _known_preview(call, text, plan.counter.text(text), index, plan)


def _known_preview(block: Block, text: str, tokens: int, index: int, plan: Plan) -> Sequence[Span]:
    """The preview of a text in a block, which is made once for a plan."""
    key = text, (*plan.outdated.spans(block, text),)
    known = plan.previews.get(key)
    if known is None:
        known = plan.previews[key] = _preview(*key, tokens, index, plan)
    return known


def preview_of_text(text: str, counter: Counter, settings: Settings) -> str:
    """The preview of a text that belongs to no conversation, such as a file; a short one whole."""
    result = ToolResult("", (Text(text),))
    if tokens_of_text(result, counter) <= settings.offload_preview_tokens:
        return text
    plan = Plan((Message("user", (result,)),), (0,), counter, settings)
    return render(text, preview(result, 0, plan))


def _preview(
    text: str, outdated: Sequence[Span], tokens: int, index: int, plan: Plan
) -> Sequence[Span]:
    most = plan.settings.offload_preview_tokens
    spans = landmarks(text, most * CHARS_PER_TOKEN * measured.LANDMARKS_SHARE)
    pool = Pool(plan.cutter)
    pool.add(Source(index, 0, text, tokens, 0), outdated)
    chars = sum(stop - start + PREVIEW_MARK_CHARS for start, stop in spans)
    room = most - chars / CHARS_PER_TOKEN
    shown = chain.from_iterable(plan.cutter.numbering.numbers_of(text, spans))
    choice = pool.choice(shown, plan.used)
    return spans + [pool.place(piece)[1:] for piece in choice.take(room)]
