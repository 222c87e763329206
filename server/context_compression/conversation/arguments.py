"""The arguments of calls with other texts: the same keys, so that the call stays valid.

Arguments that are one string of JSON stay JSON. JSON that cannot be read stays unchanged, because
part of it would be no JSON either. The input of a custom tool is text of any form.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from context_compression.conversation import text_protocol
from context_compression.conversation.messages import ToolCall, is_array, is_object

ChangeText: TypeAlias = Callable[[str, str], str]
"""`change(name, text)` returns another text for an argument, or the same one. A text that is all
the arguments is called `input`."""
FREE_TEXT = ("custom_tool_call", text_protocol.KIND)
"""The kinds of calls whose arguments are a text of any form."""
JSON = re.compile(r'\s*[{\["]')
JSON_IN_FREE_TEXT = re.compile(r'\s*(?:\{\s*"|\[\s*["{\[])')
"""How JSON begins, and how a text of any form begins that is certainly meant as JSON."""


def with_texts(call: ToolCall, change: ChangeText) -> ToolCall:
    """The call with `change` made to each text in its arguments; the same object if none differs.

    `{"path": "a.py", "content": "…"}` keeps its keys, in their order, and its numbers.
    """
    custom = is_object(call.source) and "custom" in call.source
    free = custom or call.kind in FREE_TEXT
    begins = JSON_IN_FREE_TEXT if free else JSON

    def settle(name: str, text: str) -> str:
        if not begins.match(text):
            return change(name, text)
        try:
            value = json.loads(text)
            within = _changed(value, name, change)
        except (ValueError, RecursionError):
            return text
        return text if within == value else json.dumps(within, ensure_ascii=False)

    all_text = isinstance(call.arguments, str) or call.kind == text_protocol.KIND
    changed = _changed(call.arguments, "input", settle if all_text else change)
    return call if changed == call.arguments else replace(call, arguments=changed)


def texts_of(call: ToolCall) -> Iterator[tuple[str, str]]:
    """The name and text of each argument that `with_texts` may change."""
    found: list[tuple[str, str]] = []

    def seen(name: str, text: str) -> str:
        found.append((name, text))
        return text

    with_texts(call, seen)
    yield from found


def _changed(value: Any, name: str, change: ChangeText) -> Any:
    """Parsed JSON with other texts; `name` is the key of the object that it is in."""
    if isinstance(value, str):
        return change(name, value)
    if is_object(value):
        return {key: _changed(item, key, change) for key, item in value.items()}
    if is_array(value):
        return [_changed(item, name, change) for item in value]
    return value
