"""What a message may be made of: JSON, and no deeper than everything that walks it can go."""

import math
from collections.abc import Iterable
from typing import Any, cast

from context_compression.messages import is_array, is_object

DEEPEST = 200
"""Levels; what people and tools write has ten, and Python recurses a thousand times in all."""
LONGEST_NUMBER = 14_000
"""Bits; Python writes no number of more than 4,300 digits."""


def why_not_json(value: Any) -> str | None:
    """What keeps a value from being sent as JSON, in plain words; `None` when nothing does."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if item is None or isinstance(item, str) or isinstance(item, bool):  # noqa: SIM101  # fast
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
            return f"a {type(item).__name__}, which is no JSON value"
    return None


def _is_unwritable(number: float) -> bool:
    if isinstance(number, int):
        return number.bit_length() > LONGEST_NUMBER
    return not math.isfinite(number)
