"""The JSON in a text: all of it, one document in other text, or a document in each line."""

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from context_compression.conversation.messages import is_array, is_object

BRACKET = re.compile(r"[\[{]")
STARTS = 8
"""How many brackets of a line are tried as the beginning of JSON."""
AFTER = " \t\r`,;"
"""What may stand behind JSON to the end of its line."""
DEEP = 3
"""How many times JSON is looked for in a text of JSON."""
LOOKED_AT = 1_000
"""Values in which one text is looked for."""


@dataclass(frozen=True)
class JsonDocument:
    """A value in a text, and the numbers of its first and last line."""

    value: Any
    first: int
    last: int


@dataclass(frozen=True)
class JsonDocuments:
    """What JSON a text holds.

    Attributes:
        found: in the order of the text.
        rows: whether they are rows: one in each line, or nothing between them.
    """

    found: tuple[JsonDocument, ...]
    rows: bool = False


def json_in(text: str, check_time: Callable[[], None]) -> JsonDocuments:
    """The JSON objects and lists in a text.

    Args:
        text: all of it may be JSON, or lines, a fenced block, the end of a line.
        check_time: raises an error if there is no time left.
    """
    last = text.count("\n") + 1
    with suppress(ValueError, RecursionError):
        whole = json.loads(text.strip().removeprefix("\ufeff"))
        is_value = _is_container(whole) or isinstance(whole, str)
        return JsonDocuments((JsonDocument(whole, 1, last),) if is_value else ())
    found = list[JsonDocument]()
    at, line, others = 0, 1, False
    while bracket := BRACKET.search(text, at):
        check_time()
        begin = text.rfind("\n", at, bracket.start()) + 1 or at
        line += text.count("\n", at, begin)
        others = others or bool(text[at : bracket.start()].strip())
        read = _value_in(text, begin, bracket.start())
        if read is None:
            stop = begin
            others = True
        else:
            value, start, stop = read
            others = others or start > bracket.start()
            found.append(JsonDocument(value, line, line := line + text.count("\n", begin, stop)))
        at, line = _end_of_line(text, stop) + 1, line + 1
    others = others or bool(text[at:].strip())
    one_line_each = all(each.first == each.last for each in found)
    return JsonDocuments(tuple(found), len(found) > 1 and (one_line_each or not others))


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value_in(text: str, begin: int, at: int) -> tuple[Any, int, int] | None:
    """The JSON that begins in a line and has nothing behind it, where it begins and ends.

    Args:
        text: around it.
        begin: where the line begins.
        at: the first bracket in the line.
    """
    end = _end_of_line(text, at)
    for _ in range(STARTS):
        over = at + 1
        with suppress(ValueError, RecursionError):
            value, over = _DECODER.raw_decode(text, at)
            behind = text[over : _end_of_line(text, over)]
            begins_line = not text[begin:at].strip()
            if not behind.strip(AFTER) and (begins_line or _holds_fields(value)):
                return value, at, over
        bracket = BRACKET.search(text, over, end)
        if bracket is None:
            break
        at = bracket.start()
    return None


_DECODER = json.JSONDecoder()


def _is_container(value: Any) -> bool:
    return is_object(value) or is_array(value)


def _holds_fields(value: Any) -> bool:
    """Whether a value is an object or a list of some; `[3]` behind a sentence is none."""
    return bool(value) and (is_object(value) or any(map(_is_container, value)))


def text_inside(value: Any) -> str | None:
    r"""The one text of a tool result, or the one text in a value that is JSON; else `None`.

    `{"content": [{"type": "text", "text": "NAME\nweb-1"}]}` -> `"NAME\nweb-1"`
    """
    blocks: Any = value.get("content") if is_object(value) else value
    if is_array(blocks) and blocks and all(is_object(b) and "type" in b for b in blocks):
        texts = [b["text"] for b in blocks if isinstance(b.get("text"), str)]
        return texts[0] if len(texts) == 1 else None
    found = [text for text in _texts(value) if _begins_like_json(text)]
    return found[0] if len(found) == 1 else None


def _begins_like_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")


def _texts(value: Any) -> Iterator[str]:
    """The texts among the first values in a value."""
    waiting, looked = deque([value]), 0
    while waiting and looked < LOOKED_AT:
        each, looked = waiting.popleft(), looked + 1
        if isinstance(each, str):
            yield each
        elif is_object(each):
            waiting.extend(islice(each.values(), LOOKED_AT))
        elif is_array(each):
            waiting.extend(each[:LOOKED_AT])
