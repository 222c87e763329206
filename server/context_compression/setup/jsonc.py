"""An entry in a JSON file, put in and taken out as text: comments and layout stay as they are.

Comments and trailing commas are understood; whether a host takes them is for its table to say.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
BEHIND = re.compile(r"(?:[ \t]*/\*[^\r\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")
"""Comments behind something, on its line."""
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', re.DOTALL)


@dataclass
class Part:
    """A value in the text: its own span, and where the members of an object are."""

    start: int
    stop: int
    value: Any
    members: list["Member"] = field(default_factory=list["Member"])


@dataclass
class Member:
    """A member of an object: from its key to its value."""

    name: str
    start: int
    part: Part
    comma: int | None = None
    """where the comma behind it is"""


def holds(text: str, under: str) -> bool:
    """Whether there is an object at `under`.

    Raises:
        ValueError: this is not JSON, or something else is there; the message says which.
    """
    return _box(_root(text), under) is not None


def entry_in(text: str, under: str, name: str) -> Any:
    """The value of an entry; `None` where there is none."""
    box = _box(_root(text), under)
    return box.part.value.get(name) if box else None


def with_entry(text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
    """The text with an entry: the last one, or in the place of the one it had."""
    root = _root(text)
    if root is None:
        newline = _newline(text)
        whole = json.dumps({under: {name: value}}, indent=2, ensure_ascii=False) + "\n"
        return text + whole.replace("\n", newline)
    box = _box(root, under)
    if box is None:
        return _inserted(text, root, root, under, {name: value})
    known = _member(box.part, name)
    if known is None:
        return _inserted(text, root, box.part, name, value)
    indent = _indent_at(text, known.start) or ""
    shown = _written(text, root, value, indent)
    return text[: known.part.start] + shown + text[known.part.stop :]


def without_entry(text: str, under: str, name: str, *, tidy: bool) -> str:
    """The text without an entry; with `tidy` also without `under`, should that be empty then."""
    box = _box(_root(text), under)
    if box is None or _member(box.part, name) is None:
        return text
    text = _removed(text, box.part, name)
    root = _root(text)
    box = _box(root, under)
    if tidy and root and box and not box.part.members:
        text = _removed(text, root, under)
    return text


def _root(text: str) -> Part | None:
    """The object that the text is; `None` where there is nothing but space and comments."""
    at = _skip(text, 0)
    if at == len(text):
        return None
    try:
        root = _part(text, at)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _skip(text, root.stop) != len(text):
        raise ValueError(f"there is more behind its end, {_place(text, root.stop)}")
    if not isinstance(root.value, dict):
        raise ValueError("it is not a JSON object")
    return root


def _box(root: Part | None, under: str) -> Member | None:
    found = _member(root, under) if root else None
    if found and not isinstance(found.part.value, dict):
        raise ValueError(f'its "{under}" is not an object')
    return found


def _member(part: Part, name: str) -> Member | None:
    """The member of this name; the last one, which is the one that counts."""
    return next((member for member in reversed(part.members) if member.name == name), None)


def _part(text: str, at: int) -> Part:
    """The value that begins at `at`."""
    if text.startswith("{", at):
        return _object(text, at)
    if text.startswith("[", at):
        return _array(text, at)
    found = LITERAL.match(text, at)
    try:
        return Part(at, found.end() if found else at, json.loads(found[0] if found else ""))
    except ValueError:
        raise ValueError(f"there is no value where one should be, {_place(text, at)}") from None


def _object(text: str, start: int) -> Part:
    members: list[Member] = []
    at = _skip(text, start + 1)
    while not text.startswith("}", at):
        key = _part(text, at)
        if not isinstance(key.value, str):
            raise ValueError(f"there is no name where one should be, {_place(text, at)}")
        colon = _skip(text, key.stop)
        if not text.startswith(":", colon):
            raise ValueError(f"a colon is missing, {_place(text, colon)}")
        part = _part(text, _skip(text, colon + 1))
        members.append(Member(key.value, at, part))
        at = _skip(text, part.stop)
        if text.startswith(",", at):
            members[-1].comma = at
            at = _skip(text, at + 1)
        elif not text.startswith("}", at):
            raise ValueError(f"a comma or a brace is missing, {_place(text, at)}")
    return Part(start, at + 1, {m.name: m.part.value for m in members}, members)


def _array(text: str, start: int) -> Part:
    values: list[Any] = []
    at = _skip(text, start + 1)
    while not text.startswith("]", at):
        part = _part(text, at)
        values.append(part.value)
        at = _skip(text, part.stop)
        if text.startswith(",", at):
            at = _skip(text, at + 1)
        elif not text.startswith("]", at):
            raise ValueError(f"a comma or a bracket is missing, {_place(text, at)}")
    return Part(start, at + 1, values)


def _skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"


def _inserted(text: str, root: Part, into: Part, name: str, value: Any) -> str:
    """The text with a new last member of an object."""
    outer = _indent_of_line(text, into.start)
    unit = _unit(text, root)
    last = into.members[-1] if into.members else None
    inner = _indent_at(text, last.start) if last else None
    indent = outer + unit if inner is None else inner
    one_line = bool(root.members) and "\n" not in text[root.start : root.stop]
    begin = " " if one_line else _newline(text) + indent
    shown = f"{json.dumps(name)}: {_written(text, root, value, indent)}"
    if last is None:
        at = into.start + 1
        while found := re.compile(r"\s*(?://[^\r\n]*|/\*.*?\*/)", re.DOTALL).match(text, at):
            at = found.end()
        rest = text[at : into.stop - 1]
        if not one_line and "\n" not in rest:
            rest = _newline(text) + outer
        return text[:at] + (begin if not one_line else "") + shown + rest + text[into.stop - 1 :]
    end = last.part.stop if last.comma is None else last.comma + 1
    behind = BEHIND.match(text, end)
    at = behind.end() if behind else end
    comma, more = (",", "") if last.comma is None else ("", ",")
    return text[:end] + comma + text[end:at] + begin + shown + more + text[at:]


def _removed(text: str, part: Part, name: str) -> str:
    """The text without a member, its comma, and the line it leaves empty."""
    place = max(i for i, member in enumerate(part.members) if member.name == name)
    member = part.members[place]
    start, stop = member.start, member.part.stop
    if member.comma is not None:
        stop = member.comma + 1
    left, right = text[:start], text[stop:]
    if member.comma is None and place:  # the one before becomes the last, and had no comma as such
        comma = part.members[place - 1].comma
        assert comma is not None
        left = left[:comma] + left[comma + 1 :]
    bare = left.rstrip(" \t")
    if bare.endswith("\n") and (ended := re.match(r"[ \t]*(?:\r?\n|(?=[}\]]))", right)):
        if ended[0].endswith("\n"):
            left, right = bare, right[ended.end() :]
        return _closed(left + right, part.start)
    return _closed((left if bare.endswith("\n") else bare) + right, part.start)


def _closed(text: str, start: int) -> str:
    """The text in which an object that holds nothing but space is `{}`."""
    found = re.compile(r"\{\s+\}").match(text, start)
    return text[:start] + "{}" + text[found.end() :] if found else text


def _written(text: str, root: Part, value: Any, indent: str) -> str:
    """A value as it stands in this file, behind a name that is indented so far."""
    if root.members and "\n" not in text[root.start : root.stop]:
        return json.dumps(value, ensure_ascii=False)
    shown = json.dumps(value, indent=_unit(text, root), ensure_ascii=False)
    return shown.replace("\n", _newline(text) + indent)


def _unit(text: str, root: Part) -> str:
    """What one level is indented by."""
    first = _indent_at(text, root.members[0].start) if root.members else None
    return first or "  "


def _indent_at(text: str, at: int) -> str | None:
    """What stands before this place in its line, if that is space alone."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if "\n" in text[:at] and not before.strip() else None


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
