"""Calls with shortened arguments: both ends of long texts, or the lines that an edit changes."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from context_compression.conversation.messages import ToolCall, is_array, is_object, strings_in
from context_compression.conversation.rendering import Span, marked_with, render
from context_compression.strategies import measured
from context_compression.strategies.forms.parts import fitting, outer_parts
from context_compression.strategies.quoting import Quoting
from context_compression.strategies.tool_results import Slots

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
    longest = max(map(len, strings_in(call.arguments)), default=0)
    if longest <= measured.ARGUMENT_CHARS or _is_json_text(call.arguments):
        return call
    if call.signed and index >= quoting.plan.current_turn:  # the call must be sent back unchanged
        return call
    ref = quoting.ref_of_message(index)  # shown in the first gap
    outdated = quoting.plan.outdated

    def shorten(value: Any) -> Any:
        nonlocal ref
        if isinstance(value, str) and len(value) > measured.ARGUMENT_CHARS:
            changed = [*outdated.changed(call, value)]
            parts = _parts_to_show(value, changed, measured.ARGUMENT_CHARS)
            shown = render(value, [*parts, *slots.get((slot, value), ())], ref, explicit=True)
            ref = "" if marked_with(shown, ref) else ref
            return shown
        if is_object(value):
            return {key: shorten(item) for key, item in value.items()}
        if is_array(value):
            return [shorten(item) for item in value]
        return value

    return replace(call, arguments=shorten(call.arguments))


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


def _is_json_text(arguments: Any) -> bool:
    """Whether arguments are a string that begins like JSON, and would no longer be JSON if cut.

    Any other string is free text, which some tools take.
    """
    return isinstance(arguments, str) and arguments.lstrip().startswith(("{", "[", '"'))
