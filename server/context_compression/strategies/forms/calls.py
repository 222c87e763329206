"""Calls with shortened arguments: both ends of long texts, or the lines that an edit changes."""

import re
from collections.abc import Sequence

from context_compression.conversation.arguments import with_texts
from context_compression.conversation.messages import ToolCall
from context_compression.conversation.rendering import Span, marked_with, render
from context_compression.planning.selection import receipt_of
from context_compression.strategies import measured
from context_compression.strategies.forms.parts import fitting, outer_parts
from context_compression.strategies.quoting import Quoting
from context_compression.strategies.tool_results import Slots, must_stay

LINE_END = re.compile(r"\n")
"""The place where arguments are cut, because part of a line of code would look like a line."""


def short_call(quoting: Quoting, call: ToolCall, index: int, slot: int, slots: Slots) -> ToolCall:
    """A call with its long arguments shortened; the same object if it has none or must not change.

    Args:
        quoting: the `Quoting` of the conversation.
        call: the call to shorten.
        index: the index of its message.
        slot: the index of the call in the message.
        slots: spans that must be shown.
    """
    if must_stay(call, index, quoting.plan):
        return call
    ref: str | None = None  # shown in the first gap
    outdated = quoting.plan.outdated

    def shorten(_: str, text: str) -> str:
        nonlocal ref
        if len(text) <= measured.ARGUMENT_CHARS:
            return text
        ref = quoting.ref_of_message(index) if ref is None else ref
        if earlier := receipt_of(text, quoting.plan.archive):  # a preview, which names its ref
            parts: Sequence[Span] = [earlier.span()]
        else:
            changed = [*outdated.changed(call, text)]
            parts = _parts_to_show(text, changed, measured.ARGUMENT_CHARS)
        shown = render(text, [*parts, *slots.get((slot, text), ())], ref, explicit=True)
        ref = "" if marked_with(shown, ref) else ref
        return shown

    return with_texts(call, shorten)


def _parts_to_show(argument: str, changed: Sequence[Span], limit: int) -> Sequence[Span]:
    """The spans of a long argument to show: the lines that an edit changes, else both ends.

    Args:
        argument: the text.
        changed: the spans of the changed lines; empty if the call is not an edit.
        limit: the most characters that are shown.
    """
    first = fitting(changed, limit // 2)
    last = fitting([*reversed(changed[len(first) :])], limit // 2)
    return [*first, *last] or outer_parts(argument, limit, LINE_END)
