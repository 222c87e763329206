"""Calls with their long arguments shortened: both ends, or of an edit the lines that it changes."""

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
"""Where arguments are cut: part of a line of code would look like a line."""


def short_call(quoting: Quoting, call: ToolCall, index: int, slot: int, slots: Slots) -> ToolCall:
    """A call with its long arguments shortened; itself where it has none, or must stay as it is.

    Args:
        quoting: of the conversation.
        call: to be shortened.
        index: of its message.
        slot: of the call in the message.
        slots: the spans that are shown in any case.
    """
    longest = max(map(len, strings_in(call.arguments)), default=0)
    if longest <= measured.ARGUMENT_CHARS or _is_json_text(call.arguments):
        return call
    if call.signed and index >= quoting.plan.current_turn:  # it goes back with the very call
        return call
    ref = quoting.ref_of_message(index)  # stands in the first gap
    outdated = quoting.plan.outdated

    def shorten(value: Any) -> Any:
        nonlocal ref
        if isinstance(value, str) and len(value) > measured.ARGUMENT_CHARS:
            changed = [*outdated.changed(call, value)]
            parts = _parts_to_show(value, changed, measured.ARGUMENT_CHARS)
            shown = render(value, [*parts, *slots.get((slot, value), ())], ref)
            ref = "" if marked_with(shown, ref) else ref
            return shown
        if is_object(value):
            return {key: shorten(item) for key, item in value.items()}
        if is_array(value):
            return [shorten(item) for item in value]
        return value

    return replace(call, arguments=shorten(call.arguments))


def _parts_to_show(argument: str, changed: Sequence[Span], limit: int) -> Sequence[Span]:
    """Of a long argument the beginning and the end; of a text of an edit the lines that it changes.

    Args:
        argument: the text.
        changed: where these lines stand; none where it is no edit.
        limit: characters that are shown at most, from both ends.
    """
    first = fitting(changed, limit // 2)
    last = fitting([*reversed(changed[len(first) :])], limit // 2)
    return [*first, *last] or outer_parts(argument, limit, LINE_END)


def _is_json_text(arguments: Any) -> bool:
    """Whether arguments are a string that begins like JSON: a part of it would be none.

    Any other is free text, as some tools take.
    """
    return isinstance(arguments, str) and arguments.lstrip().startswith(("{", "[", '"'))
