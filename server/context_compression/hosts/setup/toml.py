"""Edits of TOML files as text: a table is added or removed, the rest stays byte for byte.

Every result is parsed and compared with the expected values before it is returned.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from context_compression.conversation.messages import is_array, is_object

TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|\n|[^\S\n]+|.",
    re.DOTALL,
)
BARE = re.compile(r"[A-Za-z0-9_-]+")


def holds(text: str, under: str) -> bool:
    """Whether the text has a table `under`.

    Raises:
        ValueError: the text is not TOML, or `under` is not a table; the message says which.
    """
    return _tables(_parsed(text), under) is not None


def entry_in(text: str, under: str, name: str) -> Any:
    """The values of a table; `None` if there is none."""
    return (_tables(_parsed(text), under) or {}).get(name)


def with_entry(text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
    """The text with a table. It replaces a table of the same name, or goes to the end.

    Raises:
        ValueError: the text is not TOML, or is written in a way that no table can be added to.
    """
    document = _parsed(text)
    known = _tables(document, under) or {}
    newline = "\r\n" if "\r\n" in text else "\n"
    shown = [f"[{_key(under)}.{_key(name)}]"]
    shown += [f"{_key(key)} = {_written(part)}" for key, part in value.items()]
    block = "".join(line + newline for line in shown)
    parts = _parts(text, under, name) if name in known else []
    if parts:
        place = parts[0][0]
        for start, stop in reversed(parts):
            text = text[:start] + text[stop:]
        result = text[:place] + block + text[place:]
    else:
        ended = text if not text or text.endswith("\n") else text + newline
        result = ended + (newline if text.strip() else "") + block
    document[under] = {**known, name: dict(value)}
    return _proven(result, document, under, f"its {under} is written so that no table can follow")


def without_entry(text: str, under: str, name: str, *, tidy: bool) -> str:
    """The text without a table and the tables inside it.

    An empty `under` keeps its header if it had one; `tidy` has no effect.

    Raises:
        ValueError: the text is not TOML, or the table is written in a way we cannot remove.
    """
    del tidy
    document = _parsed(text)
    if name not in (_tables(document, under) or {}):
        return text
    for start, stop in reversed(_parts(text, under, name)):
        left, right = text[:start], text[stop:]
        if left.strip() and (not right.strip() or right.startswith(("\n", "\r\n"))):
            left = re.sub(r"(?<=\n)\r?\n\Z", "", left)  # the empty line before it
        text = left + right
    del document[under][name]
    why_not = f"its {under}.{name} is written in a way we cannot take out"
    return _proven(text, document, under, why_not)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"it is not TOML: {error}") from None


def _tables(document: Mapping[str, Any], under: str) -> Mapping[str, Any] | None:
    tables = document.get(under)
    if tables is not None and not is_object(tables):
        raise ValueError(f"its {under} is not a table")
    return tables


def _proven(result: str, expected: dict[str, Any], under: str, why_not: str) -> str:
    """The result, if its values are the expected ones; an empty `under` may be there or not.

    Raises:
        ValueError: the values differ; the message is `why_not`.
    """
    try:
        if {under: {}, **_parsed(result)} == {under: {}, **expected}:
            return result
    except ValueError:
        pass
    raise ValueError(why_not)


def _parts(text: str, under: str, name: str) -> list[tuple[int, int]]:
    """The spans of the table and the tables inside it, from header to last line with a value."""
    spans: list[tuple[int, int]] = []
    headers = [*_headers(text), (len(text), ())]
    before = False
    for (start, path), (following, _) in pairwise(headers):
        is_inside = path[:2] == (under, name)
        if is_inside:
            first = spans.pop()[0] if before else start
            spans.append((first, _last_value(text, start, following)))
        before = is_inside
    return spans


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The places where tables begin, each with the path of names in the table's header."""
    depth, fresh = 0, True
    for token in TOKEN.finditer(text):
        shown = token[0]
        if shown == "[" and fresh and not depth:
            line = text[token.start() :].partition("\n")[0]
            yield token.start() - _indentation(text, token.start()), _path(line)
        depth += (shown in "[{") - (shown in "]}") if len(shown) == 1 else 0
        fresh = shown == "\n" or (fresh and (shown == "\ufeff" or not shown.strip()))


def _indentation(text: str, at: int) -> int:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return 0 if "\ufeff" in line else len(line)


def _path(header: str) -> tuple[str, ...]:
    """`'[a."b.c"]  # why'` -> `("a", "b.c")`."""
    path: list[str] = []
    inside: Any = tomllib.loads(header.strip())
    while inside:
        if is_array(inside):  # of tables
            [inside] = inside
        elif is_object(inside):
            [(name, inside)] = inside.items()
            path.append(name)
    return tuple(path)


def _last_value(text: str, start: int, stop: int) -> int:
    """The end of the last line from `start` to `stop` that holds more than space and comments."""
    last = start
    for token in TOKEN.finditer(text, start, stop):
        if token[0].strip() and not token[0].startswith("#"):
            last = token.end()
    line_end = text.find("\n", last, stop)
    return stop if line_end < 0 else line_end + 1


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _written(value: Any) -> str:
    """A value in one line; strings and numbers in JSON are also valid in TOML."""
    if is_object(value):
        return "{" + ", ".join(f"{_key(k)} = {_written(part)}" for k, part in value.items()) + "}"
    if is_array(value):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
