"""Formats that are recognised, by `foreign.txt`, but not read; they are refused by name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

from context_compression.conversation.formats.parts import LOOKED_AT, Shape, fits
from context_compression.conversation.messages import is_array, is_object

TYPES: Mapping[str, Shape] = {"<str>": str, "<dict>": dict, "<list>": list, "<any>": object}
DEEPEST = 4
"""How many nested levels of lists and request bodies are searched."""


@dataclass
class ForeignFormat:
    """A format that is no dialect of ours: a section of `foreign.txt`, which explains it."""

    description: str
    advice: list[str] = field(default_factory=list[str])
    shapes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    holds_messages: bool = False
    package: str = ""

    @property
    def sentence(self) -> str:
        """The text of the refusal: description and advice."""
        return f"{self.description}. {' '.join(self.advice)}"


@cache
def formats() -> Sequence[ForeignFormat]:
    """All foreign formats, in the order of their file."""
    from importlib.resources import files  # here: it costs 20 ms

    found: list[ForeignFormat] = []
    for line in (
        (files("context_compression.conversation.formats") / "foreign.txt")
        .read_text("utf-8")
        .splitlines()
    ):
        if line.startswith("["):
            found.append(ForeignFormat(line[1:-1]))
        elif line.startswith(" "):
            found[-1].shapes.append(_shape_of(json.loads(line)))
        elif line.startswith("package: "):
            found[-1].package = line.removeprefix("package: ")
        elif line == "holds messages":
            found[-1].holds_messages = True
        elif line and not line.startswith("#"):
            found[-1].advice.append(line)
    return found


def _shape_of(written: Any) -> Any:
    """A shape from its JSON: `{"role": "<str>", "kind": "a|b"}`."""
    if isinstance(written, str):
        return TYPES.get(written) or tuple(written.split("|"))
    if is_array(written):
        return [_shape_of(each) for each in written]
    return {k: _shape_of(v) for k, v in written.items()} if is_object(written) else written


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
        inner = (_format_of(item, levels - 1) for item in islice(value, LOOKED_AT))
        return next(filter(None, inner), None)
    module = f"{getattr(value, '__module__', '')}."
    libraries = (known for known in formats() if known.package)
    return next((known for known in libraries if module.startswith(f"{known.package}.")), None)


def _format_of_object(value: Mapping[str, Any], levels: int) -> ForeignFormat | None:
    fitting = [
        (place, key)
        for key in value
        for place, shape in _shapes_by_key().get(key, ())
        if fits(value, shape)
    ]
    if not fitting:
        return None
    place, key = min(fitting)
    outer = formats()[place]
    inner = _format_of(value[key], levels - 1) if outer.holds_messages else None
    return inner or outer


@cache
def _shapes_by_key() -> Mapping[str, Sequence[tuple[int, dict[str, Any]]]]:
    """By the first key of a shape: the position of its format in `formats`, with the shape."""
    shapes: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, known in enumerate(formats()):
        for shape in known.shapes:
            shapes.setdefault(next(iter(shape)), []).append((place, shape))
    return shapes
