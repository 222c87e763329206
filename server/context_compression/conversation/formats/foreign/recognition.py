"""Recognition of foreign formats, and the text that refuses them."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from context_compression.conversation.formats.foreign.answers import ANSWERS
from context_compression.conversation.formats.foreign.containers import CONTAINERS
from context_compression.conversation.formats.foreign.data_rows import DATA_ROWS
from context_compression.conversation.formats.foreign.exports import EXPORTS
from context_compression.conversation.formats.foreign.foreign_format import ForeignFormat
from context_compression.conversation.formats.foreign.libraries import LIBRARIES
from context_compression.conversation.formats.shapes import LOOKED_AT, fits
from context_compression.conversation.messages import is_array, is_object

FORMATS: Sequence[ForeignFormat] = (*LIBRARIES, *ANSWERS, *DATA_ROWS, *EXPORTS, *CONTAINERS)
"""All foreign formats. If a value fits several, the first one is named."""
DEEPEST = 4
"""How many nested levels of lists and request bodies are searched."""


def refusal(value: Any) -> str | None:
    """Which foreign format a value is in and what to pass instead; `None` if it is in none.

    `refusal({"chat_messages": []})` -> `"This is an export of claude.ai. Convert …"`

    Args:
        value: a message, a list of messages, or any value that the caller passed instead.
    """
    known = _format_of(value, DEEPEST)
    return known.sentence if known else None


def _format_of(value: Any, levels: int) -> ForeignFormat | None:
    if levels == 0:
        return None
    if is_object(value):
        return _format_of_object(value, levels)
    if is_array(value):
        formats = (_format_of(item, levels - 1) for item in islice(value, LOOKED_AT))
        return next(filter(None, formats), None)
    module = f"{getattr(value, '__module__', '')}."
    libraries = (known for known in FORMATS if known.package)
    return next((known for known in libraries if module.startswith(f"{known.package}.")), None)


def _format_of_object(value: Mapping[str, Any], levels: int) -> ForeignFormat | None:
    fitting = [
        (place, key)
        for key in value
        for place, shape in _SHAPES_BY_KEY.get(key, ())
        if fits(value, shape)
    ]
    if not fitting:
        return None
    place, key = min(fitting)
    outer = FORMATS[place]
    inner = _format_of(value[key], levels - 1) if outer.holds_messages else None
    return inner or outer


def _shapes_by_key() -> Mapping[str, Sequence[tuple[int, dict[str, Any]]]]:
    """By the first key of a shape: the position of its format in `FORMATS`, with the shape."""
    shapes: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, known in enumerate(FORMATS):
        for shape in known.shapes:
            shapes.setdefault(next(iter(shape)), []).append((place, shape))
    return shapes


_SHAPES_BY_KEY = _shapes_by_key()
