"""JSON with comments and trailing commas, as hosts allow it in their settings.

The parser keeps the place of each value in the text, so that the text can be edited.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from context_compression.conversation.messages import as_object

SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', re.DOTALL)


@dataclass
class ValueSpan:
    """A value, its span in the text, and its members if it is an object or a list."""

    start: int
    stop: int
    value: Any
    members: list["Member"] = field(default_factory=list["Member"])

    def place_of(self, name: str) -> int | None:
        """The index of the member with this name, or `None`.

        If several have the name, it is the last one, which JSON readers use.
        """
        places = (i for i, member in enumerate(self.members) if member.name == name)
        return max(places, default=None)


@dataclass
class Member:
    """A member of an object, from its name to its value; or a member of a list, without a name."""

    name: str | None
    start: int
    span: ValueSpan
    comma: int | None = None
    """The place of the comma after it; `None` if there is none."""


def object_in(data: bytes) -> Mapping[str, Any]:
    """The object in a JSON file, with or without comments; empty if there is none."""
    with suppress(ValueError, RecursionError):
        text = data.decode("utf-8-sig")
        try:
            return as_object(json.loads(text or "{}"))
        except ValueError:
            root = parse_spans(text)
            return root.value if root else {}
    return {}


def parse_spans(text: str) -> ValueSpan | None:
    """The object that the text holds; `None` if it holds only space and comments.

    Raises:
        ValueError: the text is not one JSON object, or is nested too deeply; the message says
            where.
    """
    at = _skip(text, 0)
    if at == len(text):
        return None
    try:
        root = _span(text, at)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _skip(text, root.stop) != len(text):
        raise ValueError(f"there is more behind its end, {_place(text, root.stop)}")
    if not isinstance(root.value, dict):
        raise ValueError("it is not a JSON object")
    return root


def span_at(root: ValueSpan, path: Sequence[str]) -> tuple[ValueSpan, Sequence[str]]:
    """The value at a path of names, and an empty sequence.

    If names are missing, the innermost object on the path, and the missing names.

    Raises:
        ValueError: the path leads through a value that is not an object.
    """
    span = root
    for depth, name in enumerate(path):
        if not isinstance(span.value, dict):
            raise ValueError(f'its "{path[depth - 1]}" is not an object')
        place = span.place_of(name)
        if place is None:
            return span, path[depth:]
        span = span.members[place].span
    return span, ()


def _span(text: str, at: int) -> ValueSpan:
    """The value that begins at `at`."""
    if text.startswith("{", at):
        return _object(text, at)
    if text.startswith("[", at):
        return _array(text, at)
    match = LITERAL.match(text, at)
    try:
        return ValueSpan(at, match.end() if match else at, json.loads(match[0] if match else ""))
    except ValueError:
        raise ValueError(f"there is no value where one should be, {_place(text, at)}") from None


def _object(text: str, start: int) -> ValueSpan:
    members: list[Member] = []
    at = _skip(text, start + 1)
    while not text.startswith("}", at):
        key = _span(text, at)
        if not isinstance(key.value, str):
            raise ValueError(f"there is no name where one should be, {_place(text, at)}")
        colon = _skip(text, key.stop)
        if not text.startswith(":", colon):
            raise ValueError(f"a colon is missing, {_place(text, colon)}")
        members.append(Member(key.value, at, _span(text, _skip(text, colon + 1))))
        at = _behind(text, members[-1], "}", "brace")
    return ValueSpan(start, at + 1, {str(m.name): m.span.value for m in members}, members)


def _array(text: str, start: int) -> ValueSpan:
    members: list[Member] = []
    at = _skip(text, start + 1)
    while not text.startswith("]", at):
        members.append(Member(None, at, _span(text, at)))
        at = _behind(text, members[-1], "]", "bracket")
    return ValueSpan(start, at + 1, [member.span.value for member in members], members)


def _behind(text: str, member: Member, closing: str, name: str) -> int:
    """Where the next member begins, or the closing sign stands; notes the comma between."""
    at = _skip(text, member.span.stop)
    if text.startswith(",", at):
        member.comma = at
        return _skip(text, at + 1)
    if not text.startswith(closing, at):
        raise ValueError(f"a comma or a {name} is missing, {_place(text, at)}")
    return at


def _skip(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    return match.end() if match else at


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"
