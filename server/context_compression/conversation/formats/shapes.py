"""Shapes of JSON values, which are written like the values, and `fits`, which compares them.

{"parts": [{"type": str}], "role": str}   an object with both keys; one of the parts has a type
{"type": ("human", "ai"), "role": None}   its type is one of these texts, and it has no role
{"id": object}                            an object with an id of any type
"""

from itertools import islice
from typing import Any, TypeAlias

from context_compression.conversation.messages import is_array, is_object

Shape: TypeAlias = "dict[str, Any] | list[Any] | tuple[str, ...] | type | None"
"""A dict: an object with these keys. A list: an array with such an item. A tuple: one of its texts.
A type: a value of that type. `None`: the key is absent."""
LOOKED_AT = 20
"""How many items at the beginning of an array are compared with a shape; chosen to limit time."""


def fits(value: Any, shape: Shape) -> bool:
    """Whether a value has a shape; keys and items that the shape does not name may be anything."""
    if isinstance(shape, dict):
        if not is_object(value):
            return False
        for key, inner in shape.items():
            if not (fits(value[key], inner) if key in value else inner is None):
                return False
        return True
    if isinstance(shape, tuple):
        return isinstance(value, str) and value in shape
    if isinstance(shape, list):
        if not is_array(value):
            return False
        return any(fits(item, inner) for item in islice(value, LOOKED_AT) for inner in shape)
    if shape is None:
        return False
    if shape is dict or shape is list:
        return is_object(value) if shape is dict else is_array(value)
    return isinstance(value, shape)
