"""Edits of JSON files as text: values are added and removed, comments and layout stay.

Comments and trailing commas are accepted. Some hosts do not accept them: see `Host.strict`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_compression.transcripts.commented_json import ValueSpan, parse_spans, span_at

BEHIND = re.compile(r"(?:[ \t]*/\*[^\r\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")
"""Comments after a value, on the same line."""
COMMENTS = re.compile(r"(?:\s*(?://[^\r\n]*|/\*.*?\*/))*", re.DOTALL)
EMPTY = re.compile(r"([{\[])\s+([}\]])")


def holds(text: str, under: str) -> bool:
    """Whether the text has a value other than `null` at `under`.

    Raises:
        ValueError: the text is not a JSON object; the message says where.
    """
    return value_at(text, (under,)) is not None


def entry_in(text: str, under: str, name: str) -> Any:
    """The value of an entry; `None` if there is none."""
    return value_at(text, (under, name))


def with_entry(text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
    """The text with an entry. It replaces an entry of the same name, or becomes the last one."""
    return with_value(text, (under, name), value)


def without_entry(text: str, under: str, name: str, *, tidy: bool) -> str:
    """The text without an entry; with `tidy`, also without `under` if that becomes empty."""
    return without_value(text, (under, name), keep=0 if tidy else 1)


def value_at(text: str, path: Sequence[str]) -> Any:
    """The value at a path of names; `None` if there is none.

    Raises:
        ValueError: the text is not a JSON object, or the path leads through another value.
    """
    root = parse_spans(text)
    if root is None:
        return None
    span, missing = span_at(root, path)
    return None if missing else span.value


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path; missing objects on the path are created."""
    root = parse_spans(text)
    if root is None:
        return _begun(text, _nested(path, value))
    span, missing = span_at(root, path)
    if missing:
        return _inserted(text, root, span, missing[0], _nested(missing[1:], value))
    shown = _written(text, root, value, _indent_of_line(text, span.start))
    return text[: span.start] + shown + text[span.stop :]


def without_value(text: str, path: Sequence[str], *, keep: int) -> str:
    """The text without the value at a path, and without objects that become empty.

    Args:
        text: the content of the file.
        path: names of objects in objects.
        keep: the number of outer names on the path whose objects stay even if empty.
    """
    root = parse_spans(text)
    outer, missing = span_at(root, path[:-1]) if root else (None, path)
    place = outer.place_of(path[-1]) if outer and not missing else None
    if outer is None or place is None:
        return text
    return _pruned(_removed(text, outer, place), path[:-1], keep)


def with_item(text: str, path: Sequence[str], item: Any) -> str:
    """The text with one more item at the end of the list at a path.

    A missing list is created.

    Raises:
        ValueError: as `value_at`, or the value at the path is not a list.
    """
    root = parse_spans(text)
    span, missing = span_at(root, path) if root else (None, path)
    if root is None or span is None or missing:
        return with_value(text, path, [item])
    if not isinstance(span.value, list):
        raise ValueError(f'its "{path[-1]}" is not a list')
    return _inserted(text, root, span, None, item)


def without_items(
    text: str, path: Sequence[str], leaves: Callable[[Any], bool], *, keep: int
) -> str:
    """The text without those items of the list at a path for which `leaves` is true.

    `keep` works as in `without_value`.
    """
    while True:
        root = parse_spans(text)
        span, missing = span_at(root, path) if root else (None, path)
        if span is None or missing or not isinstance(span.value, list):
            return text
        place = next((i for i, m in enumerate(span.members) if leaves(m.span.value)), None)
        if place is None:
            return _pruned(text, path, keep)
        text = _removed(text, span, place)


def _pruned(text: str, path: Sequence[str], keep: int) -> str:
    """The text without empty objects and lists on a path, from the innermost outwards."""
    for length in range(len(path), keep, -1):
        root = parse_spans(text)
        outer, missing = span_at(root, path[: length - 1]) if root else (None, path)
        place = outer.place_of(path[length - 1]) if outer and not missing else None
        if outer is None or place is None or outer.members[place].span.members:
            break
        text = _removed(text, outer, place)
    return text


def _nested(path: Sequence[str], value: Any) -> Any:
    """`_nested(["a", "b"], 1)` -> `{"a": {"b": 1}}`."""
    for name in reversed(path):
        value = {name: value}
    return value


def _begun(text: str, value: Any) -> str:
    """A text that had no value yet, with a value."""
    shown = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return text + shown.replace("\n", _newline(text))


def _inserted(text: str, root: ValueSpan, into: ValueSpan, name: str | None, value: Any) -> str:
    """The text with a new last member of an object or, without a name, of a list."""
    outer = _indent_of_line(text, into.start)
    unit = _unit(text, root)
    last = into.members[-1] if into.members else None
    inner = _indent_at(text, last.start) if last else None
    indent = outer + unit if inner is None else inner
    one_line = bool(root.members) and "\n" not in text[root.start : root.stop]
    begin = " " if one_line else _newline(text) + indent
    shown = _written(text, root, value, indent)
    if name is not None:
        shown = f"{json.dumps(name, ensure_ascii=False)}: {shown}"
    if last is None:
        match = COMMENTS.match(text, into.start + 1)
        at = match.end() if match else into.start + 1
        rest = text[at : into.stop - 1]
        if not one_line and "\n" not in rest:
            rest = _newline(text) + outer
        return text[:at] + (begin if not one_line else "") + shown + rest + text[into.stop - 1 :]
    end = last.span.stop if last.comma is None else last.comma + 1
    behind = BEHIND.match(text, end)
    at = behind.end() if behind else end
    comma, more = (",", "") if last.comma is None else ("", ",")
    return text[:end] + comma + text[end:at] + begin + shown + more + text[at:]


def _removed(text: str, span: ValueSpan, place: int) -> str:
    """The text without a member, its comma, and a line that becomes empty."""
    member = span.members[place]
    start, stop = member.start, member.span.stop
    if member.comma is not None:
        stop = member.comma + 1
    left, right = text[:start], text[stop:]
    if member.comma is None and place:  # the member before becomes the last: no comma after it
        comma = span.members[place - 1].comma
        assert comma is not None
        left = left[:comma] + left[comma + 1 :]
    bare = left.rstrip(" \t")
    if bare.endswith("\n") and (ended := re.match(r"[ \t]*(?:\r?\n|(?=[}\]]))", right)):
        if ended[0].endswith("\n"):
            left, right = bare, right[ended.end() :]
        return _closed(left + right, span.start)
    return _closed((left if bare.endswith("\n") else bare) + right, span.start)


def _closed(text: str, start: int) -> str:
    """The text, in which an object that holds only space becomes `{}`, and a list `[]`."""
    match = EMPTY.match(text, start)
    return text[:start] + match[1] + match[2] + text[match.end() :] if match else text


def _written(text: str, root: ValueSpan, value: Any, indent: str) -> str:
    """A value in the layout of this file, after a name with this indentation."""
    if root.members and "\n" not in text[root.start : root.stop]:
        return json.dumps(value, ensure_ascii=False)
    shown = json.dumps(value, indent=_unit(text, root), ensure_ascii=False)
    return shown.replace("\n", _newline(text) + indent)


def _unit(text: str, root: ValueSpan) -> str:
    """The indentation of one level."""
    first = _indent_at(text, root.members[0].start) if root.members else None
    return first or "  "


def _indent_at(text: str, at: int) -> str | None:
    """The text before this place in its line if it is only space, else `None`."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if "\n" in text[:at] and not before.strip() else None


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
