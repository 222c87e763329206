"""`offload`: a tool result is moved to a file, and replaced by one line and a preview.

So is a long argument of a call, such as the text of a file that it writes.
"""

from collections.abc import Callable, Sequence
from itertools import chain

from context_compression.conversation.labels import NEWLINE, Span, render
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
)
from context_compression.planning.measured import CHARS_PER_TOKEN, PREVIEW_MARK_CHARS
from context_compression.planning.pieces import Pool, Source
from context_compression.planning.plan import Plan
from context_compression.planning.selection import (
    describe,
    landmarks,
    receipt,
    receipt_of,
    tokens_of_text,
)
from context_compression.plurals import how_many
from context_compression.settings import Settings
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.tool_results import (
    Shorten,
    ShortenArgument,
    Shortening,
    shorten_steps,
)
from context_compression.tokens import Counter


def propose(plan: Plan) -> Proposal:
    """Edits that replace large tool results and arguments by their previews, the oldest first."""
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
