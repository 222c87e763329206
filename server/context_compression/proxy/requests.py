"""The body of a request: its fields, and the bytes of each, so that what stays goes on as it came.

A provider, and its prompt cache, get what the client wrote: numbers, escapes and the order of
fields are those of the client wherever nothing of ours has to stand.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import JSONDecodeError
from json.decoder import JSONDecoder
from threading import Lock
from typing import Any, Self

from context_compression.conversation.messages import is_array

BEHIND = (",", "]", " ", "\n", "\r", "\t")
"""What stands behind an item of a list."""
SPACE = re.compile(r"[ \t\n\r]*")
HEAD = 512
"""Bytes by which a body is found that another may go on from."""
MOST_KEPT, LARGEST_KEPT = 32, 8 * 1024 * 1024
"""Bodies that are kept for that, and the bytes of one."""
_DECODER = JSONDecoder()


@dataclass(frozen=True)
class JsonValue:
    """A value in a text of JSON.

    Attributes:
        value: as Python has it.
        start, stop: its place in the text, in characters.
        items: those of a list, each with its place; empty for other values.
    """

    value: Any
    start: int
    stop: int
    items: Sequence["JsonValue"] = ()


class Body:
    """The JSON object of a request.

    Attributes:
        raw: its bytes.
        fields: the values by name.
    """

    def __init__(self, raw: bytes, text: str, values: Mapping[str, JsonValue]) -> None:
        self.raw = raw
        self.fields = {name: value.value for name, value in values.items()}
        self._text, self._values = text, values

    @classmethod
    def read(cls, raw: bytes, like: "Body | None" = None) -> Self | None:
        """The body; `None` for one that is no JSON object, or names a field twice.

        Args:
            raw: its bytes.
            like: a body that may begin alike. Items that both have are its very objects.
        """
        try:
            text = raw.decode()
            values = dict[str, JsonValue]()
            for name, value in _members(text, like):
                if name in values:
                    return None
                values[name] = value
            return cls(raw, text, values)
        except (ValueError, StopIteration, RecursionError, RuntimeError, IndexError):
            return None

    def pieces(self, name: str) -> Iterator[tuple[str, Any]]:
        """The items of a list, each as its text and as Python has it."""
        for item in self._values[name].items if name in self._values else ():
            yield self._text[item.start : item.stop], item.value

    def changed(self, fields: Mapping[str, Any]) -> bytes:
        """The bytes with other values for some fields.

        Fields and items of lists that are the very objects of `fields` here keep their bytes. A new
        field comes last.
        """
        pieces: list[str] = []
        at = 0
        for name, old in self._values.items():
            if name not in fields or (new := _written(self._text, old, fields[name])) is None:
                continue
            pieces += [self._text[at : old.start], new]
            at = old.stop
        added = [
            f"{json.dumps(name)}: {json.dumps(value)}"
            for name, value in fields.items() if name not in self._values
        ]  # fmt: skip
        if added:
            end = self._text.rindex("}")
            before = self._text[at:end]
            pieces += [before, ", " if self._values else "", ", ".join(added)]
            at = end
        return "".join([*pieces, self._text[at:]]).encode() if pieces else self.raw


class RecentBodies:
    """Reads bodies of which many go on from another: of an agent, all but the last messages."""

    def __init__(self) -> None:
        self._by_head: OrderedDict[bytes, Body] = OrderedDict()
        self._lock = Lock()

    def read(self, raw: bytes) -> Body | None:
        """A body, as `Body.read` reads it."""
        head = raw[:HEAD]
        with self._lock:
            like = self._by_head.pop(head, None)
        body = Body.read(raw, like)
        if body and len(raw) <= LARGEST_KEPT:
            with self._lock:
                self._by_head[head] = body
                if len(self._by_head) > MOST_KEPT:
                    self._by_head.popitem(last=False)
        return body


def _members(text: str, like: Body | None) -> Iterator[tuple[str, JsonValue]]:
    """The members of an object.

    Raises:
        ValueError, StopIteration, IndexError: the text is no object.
    """
    at = _after(text, "{", 0)
    if text[at] != "}":
        while True:
            name, at = _DECODER.raw_decode(text, at)
            if not isinstance(name, str):
                raise JSONDecodeError("no name", text, at)
            value = _value(text, _after(text, ":", at), like, name)
            yield name, value
            at = _space(text, value.stop)
            if text[at] == "}":
                break
            at = _after(text, ",", at)
    if _space(text, at + 1) != len(text):
        raise JSONDecodeError("more than an object", text, at)


def _value(text: str, at: int, like: Body | None, name: str) -> JsonValue:
    if text[at] != "[":
        value, stop = _DECODER.raw_decode(text, at)
        return JsonValue(value, at, stop)
    start, items = at, list[JsonValue]()
    known = like.pieces(name) if like else iter(())
    at = _after(text, "[", at)
    while text[at] != "]":
        piece, value = next(known, ("", None))
        stop = at + len(piece)
        if not piece or text[stop : stop + 1] not in BEHIND or not text.startswith(piece, at):
            value, stop = _DECODER.raw_decode(text, at)
        items.append(JsonValue(value, at, stop))
        at = stop if text[stop] in ",]" else _space(text, stop)
        if text[at] != "]":
            at = _after(text, ",", at)
            if text[at] == "]":
                raise JSONDecodeError("a comma too many", text, at)
    return JsonValue([item.value for item in items], start, at + 1, items)


def _written(text: str, old: JsonValue, new: Any) -> str | None:
    """A new value as JSON, with the bytes of the items that it keeps; `None` if it is the old."""
    if new is old.value:
        return None
    if not (is_array(new) and old.items):
        return json.dumps(new)
    same = 0
    for item, kept in zip(old.items, new, strict=False):
        if item.value is not kept:
            break
        same += 1
    if same == len(old.items) == len(new):
        return None
    of = {id(item.value): item for item in old.items}
    rest = [
        text[item.start : item.stop] if (item := of.get(id(each))) else json.dumps(each)
        for each in new[same:]
    ]
    first, last = old.items[0], old.items[-1]
    begin = text[old.start : old.items[same - 1].stop if same else first.start]
    return f"{begin}{', ' if same and rest else ''}{', '.join(rest)}{text[last.stop : old.stop]}"


def _after(text: str, sign: str, at: int) -> int:
    """Where the next value begins, behind a sign and the space around it."""
    at = _space(text, at)
    if text[at] != sign:
        raise JSONDecodeError(f"no {sign}", text, at)
    return _space(text, at + 1)


def _space(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    return match.end() if match else at
