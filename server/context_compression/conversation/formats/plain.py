"""Plain JSON: messages without library objects, without deep nesting, without lone surrogates.

An object of a provider's library is replaced by the result of its `model_dump`. "Half of a
character" means a lone surrogate: Python strings and JSON files may hold one, and providers refuse
it.
"""

import math
from collections.abc import Iterable
from typing import Any, cast

from context_compression.conversation.messages import is_array, is_object

DEEPEST = 200
"""Levels of nesting. Conversations have about ten; Python's recursion limit is a thousand."""
LONGEST_NUMBER = 14_000
"""Bits of an integer; Python refuses to write an integer of more than 4,300 digits."""
SCALARS = frozenset({str, int, float, bool, type(None)})


def why_not_json(value: Any) -> str | None:
    """Why a value cannot be sent as JSON, for "Message 3 holds …"; `None` if it can."""
    level: list[Any] = [value]
    for depth in range(DEEPEST + 1):
        below: dict[int, Any] = {}  # by id: a value may hold itself, and that more than once
        for item in level:
            if type(item) is str or item is None or isinstance(item, str | bool):
                continue
            if isinstance(item, int | float):
                if _is_unwritable(item):
                    return "a number that JSON cannot hold"
            elif depth == DEEPEST:
                return f"values nested deeper than {DEEPEST} levels"
            elif is_object(item):
                if any(not isinstance(key, str) for key in cast("Iterable[object]", item)):
                    return "a key that is not a string"
                below.update((id(part), part) for part in item.values() if type(part) is not str)
            elif is_array(item) and not isinstance(item, bytearray):
                below.update((id(part), part) for part in item if type(part) is not str)
            else:
                how = " (write it in base64)" if isinstance(item, bytes | bytearray) else ""
                return f"a {type(item).__name__}, which is no JSON value{how}"
        if not below:
            break
        level = [*below.values()]
    return None


def _is_unwritable(number: float) -> bool:
    if isinstance(number, int):
        return number.bit_length() > LONGEST_NUMBER
    return not math.isfinite(number)


def plain(messages: Any) -> Any:
    """Messages with each object of a provider's library replaced by its JSON.

    Such objects have a `model_dump`, as blocks and messages of the packages `anthropic` and
    `openai` do. A message without such objects is returned as the same object. If no message has
    any, the list itself is returned.
    """
    if not is_array(messages) or _is_plain(messages):
        return messages
    return [_plain(message, 0) for message in messages]


def _is_plain(value: Any) -> bool:
    """Whether a value consists of Python's own types only, above `DEEPEST`; makes no copy."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        below: dict[int, Any] = {}  # by id: a value may hold itself, and that more than once
        for item in level:
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
            if kind is dict:
                parts = item.values()
            elif kind is list or kind is tuple:
                parts = item
            elif kind in SCALARS:
                continue
            else:
                return False
            for part in parts:
                if type(part) not in SCALARS:
                    below[id(part)] = part
        level = [*below.values()]
        if not level:
            break
    return True


def _plain(value: Any, depth: int) -> Any:
    """The value without such objects; the same object if it has none, or below `DEEPEST`."""
    if value is None or isinstance(value, str | int | float) or depth > DEEPEST:
        return value
    if is_object(value):
        made = {key: _plain(item, depth + 1) for key, item in value.items()}
        return value if all(made[key] is value[key] for key in made) else made
    if is_array(value):
        items = [_plain(item, depth + 1) for item in value]
        return value if all(map(_is, items, value)) else items
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump(mode="json", by_alias=True, exclude_none=True)
    except Exception:  # any class may have a method of this name
        return value


def _is(one: object, other: object) -> bool:
    return one is other


def has_halves(value: Any) -> bool:
    """Whether parsed JSON has a lone surrogate in a text or a key."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and _is_half(item):
                return True
        elif item is None or type(item) is int:
            continue
        elif is_object(item):
            stack.extend(item.values())
            stack.extend(item)
        elif is_array(item):
            stack.extend(item)
    return False


def without_halves(value: Any) -> Any:
    """Parsed JSON with U+FFFD in place of each lone surrogate."""
    if isinstance(value, str):
        pairs = value.encode("utf-16", "surrogatepass")  # two halves side by side are one character
        return pairs.decode("utf-16", "replace") if _is_half(value) else value
    if is_object(value):
        return {without_halves(key): without_halves(item) for key, item in value.items()}
    if is_array(value):
        return [without_halves(item) for item in value]
    return value


def _is_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
