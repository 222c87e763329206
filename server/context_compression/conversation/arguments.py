"""The arguments of calls with other texts: the same keys, so that the call stays valid.

What is not changed stays byte for byte as the model wrote it: JSON is edited at the places of its
texts, and not parsed and written again, which would lose keys that occur twice, digits of numbers
and halves of characters.

A list or an object of many short values is a text, too: its JSON. So are arguments that are no
JSON, for example because an answer ended within them. The input of a custom tool is text of any
form, such as a patch or lines of JSON.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from context_compression.conversation import text_protocol
from context_compression.conversation.messages import ToolCall, is_object

ChangeText: TypeAlias = Callable[[str, str], str]
"""`change(name, text)` returns another text for an argument, or the same one. A text that is all
the arguments is called `input`."""
ALL = "input"
FREE_TEXT = ("custom_tool_call", text_protocol.KIND)
"""The kinds of calls whose arguments are a text of any form."""
WITH_SCHEMA = ("local_shell_call", "shell_call", "apply_patch_call", "computer_call")
"""The kinds of calls whose lists and objects a provider checks."""
JSON_IN_FREE_TEXT = re.compile(r'\s*(?:\{\s*"|\[\s*["{\[])')
"""How a text of any form begins that is meant as JSON if it is some."""
PLACE = re.compile(r'["{}\[\]]')
COLON = re.compile(r"(?<!\s)\s*:")
"""Where a text, a list or an object begins or ends in JSON, and what is behind a key."""
MANY_CHARS = 4_000
"""A list or an object is one text if more of its characters than this are in values that are short
and stay as they are. That is about the default of `offload_min_tokens`."""
_JSON = json.JSONDecoder()


class Replacement(NamedTuple):
    """A text that is changed: its place in all the arguments, its name, and what becomes of it."""

    start: int
    stop: int
    name: str
    text: str
    becomes: str


@dataclass
class _Opened:
    """A list or an object that is open.

    Attributes:
        start: its first character.
        key: the key of the object that it is in.
        changes: how many changes were made before it.
        apart: how many of its characters are in long texts.
    """

    start: int
    key: str
    changes: int
    apart: int = 0


def with_texts(call: ToolCall, change: ChangeText) -> ToolCall:
    """The call with `change` made to each text in its arguments; the same object if none differs.

    `{"path": "a.py", "content": "…"}` keeps its keys, in their order, and its numbers.
    """
    text = _text_of(call)
    changes = _changes(call, text, change)
    if not changes:
        return call
    parts: list[str] = []
    at = 0
    for each in changes:
        parts += (text[at : each.start], each.becomes)
        at = each.stop
    return _rewritten(call, "".join([*parts, text[at:]]))


def named_texts_in(call: ToolCall) -> Sequence[tuple[str, str]]:
    """The name and text of each argument that `with_texts` may change; some hold others."""
    found: list[tuple[str, str]] = []

    def seen(name: str, text: str) -> str:
        found.append((name, text))
        return text

    _changes(call, _text_of(call), seen, every=True)
    return found


def texts_in(call: ToolCall) -> Sequence[str]:
    """The texts of these arguments."""
    return [text for _, text in named_texts_in(call)]


def long_texts_in(
    call: ToolCall, chars: int, is_long: Callable[[str], bool] = lambda _: False
) -> Iterator[tuple[str, str]]:
    """Those that `with_texts` changes if each long text becomes a short one.

    Args:
        call: the call.
        chars: a text of more characters is long.
        is_long: whether another one is.
    """

    def short(_: str, text: str) -> str:
        return "" if len(text) > chars or is_long(text) else text

    changes = _changes(call, _text_of(call), short)
    return ((each.name, each.text) for each in changes)


def _text_of(call: ToolCall) -> str:
    """The arguments as the one text in which they are changed; `""` if they cannot be JSON."""
    if call.kind == text_protocol.KIND:
        return call.arguments["command"]
    if call.written or isinstance(call.arguments, str):
        return call.written or call.arguments
    try:
        return json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""


def _rewritten(call: ToolCall, text: str) -> ToolCall:
    """The call with another text for all its arguments."""
    before, after = call.arguments, text
    if call.kind == text_protocol.KIND:
        return replace(call, arguments={**before, "command": text})
    stays_text = isinstance(before, str) and (_is_free(call) or _is_json(before))
    if not stays_text and _is_json(text):
        after = json.loads(text)
    return replace(call, arguments=after, written=text if call.written else "")


def _is_free(call: ToolCall) -> bool:
    custom = is_object(call.source) and "custom" in call.source
    return custom or call.kind in FREE_TEXT


def _changes(
    call: ToolCall, text: str, change: ChangeText, *, every: bool = False
) -> Sequence[Replacement]:
    """The changes that `change` makes in the arguments of a call, in order."""
    free = _is_free(call)
    name = "command" if call.kind == text_protocol.KIND else ALL
    is_read = not isinstance(call.arguments, str) and call.kind != text_protocol.KIND
    if is_read or (_is_json(text) and (not free or JSON_IN_FREE_TEXT.match(text))):
        joins = call.kind not in WITH_SCHEMA
        return _Editor(text, change, free=free, joins=joins, every=every).changes_in(name)
    short = change(name, text)
    if short == text:
        return ()
    becomes = short if free else _json_of({name: short})  # what is no JSON becomes some
    return [Replacement(0, len(text), name, text, becomes)]


@dataclass
class _Editor:
    """Makes a change to the texts in JSON.

    Attributes:
        text: the JSON.
        change: the change of a text.
        free: whether all of the JSON may become a text of any form.
        joins: whether lists and objects of many short values are texts.
        every: whether those of long ones are, too.
    """

    text: str
    change: ChangeText
    free: bool
    joins: bool
    every: bool
    changes: list[Replacement] = field(default_factory=list[Replacement])
    opened: list[_Opened] = field(default_factory=list[_Opened])

    def changes_in(self, name: str) -> Sequence[Replacement]:
        """The changes, in order; a text that is in no object has the name."""
        key, at = name, 0
        while place := PLACE.search(self.text, at):
            start, at = place.span()
            if place[0] in "{[":
                self.opened.append(_Opened(start, key, len(self.changes)))
            elif place[0] in "}]":
                self._close(at, is_list=place[0] == "]")
                key = self.opened[-1].key if self.opened else name
            else:
                found, at = _JSON.raw_decode(self.text, start)
                if colon := COLON.match(self.text, at):
                    key, at = found, colon.end()
                else:
                    changed = self._changed(start, at, key, found)
                    if self.opened and (changed or at - start > MANY_CHARS):
                        self.opened[-1].apart += at - start
        return self.changes

    def _close(self, stop: int, *, is_list: bool) -> None:
        """End the list or object that was opened last."""
        closed = self.opened.pop()
        start, apart = closed.start, closed.apart
        may_be_text = self.joins and (self.opened or is_list or self.free)
        if may_be_text and stop - start - (0 if self.every else apart) > MANY_CHARS:
            within = self.changes[closed.changes :]
            del self.changes[closed.changes :]
            span = (start, stop) if self.opened else (0, len(self.text))
            if not self._changed(*span, closed.key, self.text[slice(*span)]):
                self.changes += within
            apart = stop - start
        if self.opened:
            self.opened[-1].apart += apart

    def _changed(self, start: int, stop: int, name: str, text: str) -> bool:
        """Whether a text is changed; if it is, remember that."""
        short = self.change(name, text)
        if short != text:
            as_it_is = self.free and (start, stop) == (0, len(self.text))
            becomes = short if as_it_is else _json_of(short)
            self.changes.append(Replacement(start, stop, name, text, becomes))
        return short != text


def _json_of(value: Any) -> str:
    """A value as JSON that can be encoded."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a character
        return json.dumps(value)
    return text


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return False
    return True
