"""Shapes of JSON values, written like the values themselves, and whether a value has one.

{"parts": [{"type": str}], "role": str}   an object with both keys; one of the parts has a type
{"type": ("human", "ai"), "role": None}   its type is one of these texts, and it has no role
{"id": object}                            whatever its id is
"""

from itertools import islice
from typing import Any, TypeAlias

from context_compression.conversation.messages import is_array, is_object

Shape: TypeAlias = "dict[str, Any] | list[Any] | tuple[str, ...] | type | None"
"""An object with these keys, an array with such an item, one of these texts, a type, or absent."""
LOOKED_AT = 20
"""Items at the beginning of an array that are compared with a shape: a chosen limit on time."""


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
