"""What a message may be made of: JSON, and no deeper than everything that walks it can go.

Objects of a provider's library stand for the JSON they say they are. Half of a character, a
surrogate without its other half, is in Python's texts and JSON files, but no provider takes it.
"""

import math
from collections.abc import Iterable
from typing import Any, cast

from context_compression.conversation.messages import is_array, is_object

DEEPEST = 200
"""Levels; what people and tools write has ten, and Python recurses a thousand times in all."""
LONGEST_NUMBER = 14_000
"""Bits; Python writes no number of more than 4,300 digits."""


SCALARS = frozenset({str, int, float, bool, type(None)})


def why_not_json(value: Any) -> str | None:
    """What keeps a value from being sent as JSON, in plain words; `None` when nothing does."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
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
            stack.extend((part, depth + 1) for part in item.values())
        elif is_array(item) and not isinstance(item, bytearray):
            stack.extend((part, depth + 1) for part in item)
        else:
            how = " (write it in base64)" if isinstance(item, bytes | bytearray) else ""
            return f"a {type(item).__name__}, which is no JSON value{how}"
    return None


def _is_unwritable(number: float) -> bool:
    if isinstance(number, int):
        return number.bit_length() > LONGEST_NUMBER
    return not math.isfinite(number)


def plain(messages: Any) -> Any:
    """Messages in which objects of a provider's library are the JSON that they say they are.

    Such are those with `model_dump`: blocks and messages of the packages `anthropic` and `openai`.
    Messages without any are the very objects; where there is none, so is the list.
    """
    if not is_array(messages) or _is_plain(messages):
        return messages
    return [_plain(message, 0) for message in messages]


def _is_plain(value: Any) -> bool:
    """Whether a value is made of nothing but Python's own types; told without a copy."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        if kind is dict:
            stack.extend(item.values())
        elif kind is list or kind is tuple:
            stack.extend(item)
        elif kind not in SCALARS:
            return False
    return True


def _plain(value: Any, depth: int) -> Any:
    """The value, itself where nothing in it is such an object; what is too deep stays as it is."""
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
    except Exception:  # anybody's class may have a method of this name
        return value


def _is(one: object, other: object) -> bool:
    return one is other


def has_halves(value: Any) -> bool:
    """Whether half of a character stands in one of the texts of parsed JSON, or in a key."""
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
    """Parsed JSON with U+FFFD in the place of each half of a character."""
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
