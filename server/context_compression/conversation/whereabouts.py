"""Where in a text something stands: in JSON in `$.issues.2.body`, in a diff in a file's changes."""

import re
from collections.abc import Hashable
from typing import Protocol

JSON = re.compile(r'\s*+[{\[]\s*+["{\[]')
"""How a text begins that may be JSON in which there are paths."""
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
SCALAR = rf"(?:{STRING}|-?\d[\d.eE+-]*+|true|false|null|NaN|-?Infinity)"
TOKEN = re.compile(
    rf"\s*+(?:({STRING})\s*+:(?:\s*+({SCALAR})(?:\s*+,)?+)?+|([{{[])|([}}\]])|(,)|{SCALAR})",
    re.DOTALL,
)
"""A member, whole or up to its value that is an object or an array; or a sign, or an element."""
NAME, VALUE, OPENS, CLOSES, COMMA = range(1, 6)
PLAIN, QUOTED = re.compile(r"[\w$-]+"), re.compile(r"[\w.@/$ -]+")
"""Names told as they are, and in quotes: they could not be taken for the end of a mark."""
DEEPEST = 4
"""Names and positions of a path that are told, the last ones."""
MOST_CHARS = 40
"""Characters that are told of a path or a file."""
SECTION = re.compile(
    r"^(?:diff --git \S+ b/([\w.@/+-]+)\r?$|diff --(?:cc|combined) ([\w.@/+-]+)\r?$|(diff -)"
    r"|commit [0-9a-f]{7,64}\b|From [0-9a-f]{40} )",
    re.MULTILINE,
)
"""What begins anew in a diff or a log with diffs: the changes of a file, or a commit."""
LINE_STARTS = (
    " ", "+", "-", "@", "\\",
    "index ", "new ", "old ", "deleted ", "similarity ", "rename ", "copy ",
)  # fmt: skip
"""How the lines begin that tell of the changes of a file."""
LOOK_BACK = 2_000
"""Characters before a place in which the beginning of its line is looked for."""


class Whereabouts(Protocol):
    """Tells where in a text places are, which are asked for in ascending order.

    The text is read once, as far as one asks.
    """

    def inside(self, place: int) -> Hashable:
        """What a place before the end of the text is inside of, the same for the same; or `None`.

        `None` where that cannot be told.
        """
        ...

    @property
    def name(self) -> str:
        """How that is called, for the last place asked for."""
        ...


def whereabouts(text: str) -> Whereabouts | None:
    """What tells where in a text places are; `None` for text without such a structure."""
    if JSON.match(text):
        return JsonPaths(text)
    return DiffFiles(text) if "diff -" in text else None


class JsonPaths:
    """The paths in a text that is JSON, or several values of it one after another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._token = TOKEN.match(text)
        self._path: list[str | int | None] = []
        """Of each open value the element that is read, or the member, where one is read."""
        self._values: list[int] = []
        """The numbers of the open values."""
        self._opened = 0
        self._last: list[str | int | None] = []
        """The end of the path to the place that was asked for last."""

    def inside(self, place: int) -> Hashable:
        """Which element or member of which value; `None` in none, or where it is no JSON so far."""
        text, path, values, token = self._text, self._path, self._values, self._token
        while token and (end := token.end()) <= place:
            kind, element = token.lastindex, path[-1] if path else None
            in_array = isinstance(element, int)
            if kind == OPENS:
                path.append(0 if text[end - 1] == "[" else None)
                values.append(self._opened)
                self._opened += 1
            elif (
                not path
                or (kind is None and not in_array)
                or (kind in (NAME, VALUE) and in_array)
                or (kind == CLOSES and in_array != (text[end - 1] == "]"))
            ):
                token = None  # nothing of the kind stands there in JSON
                break
            elif kind == CLOSES:
                path.pop()
                values.pop()
            elif kind == COMMA:
                path[-1] = element + 1 if isinstance(element, int) else None
            elif kind == NAME:
                path[-1] = token[NAME][1:-1]
            token = TOKEN.match(text, end)
        self._token = token
        if not token:
            return None
        inner = path[-1] if path and token.lastindex != CLOSES else None
        if 0 <= token.start(VALUE) <= place:
            inner = token[NAME][1:-1]
        self._last = [*path[-DEEPEST - 2 : -1], inner]
        return (values[-1], inner) if values else None

    @property
    def name(self) -> str:
        """The names and positions that lead there: `$.issues.2.body`; `$` is the whole."""
        parts = [_named(part) for part in self._last if part is not None]
        kept = parts[-DEEPEST:]
        while len(kept) > 1 and len(".".join(kept)) > MOST_CHARS:
            del kept[0]
        return ".".join(["$", *["…"] * (len(kept) < len(parts)), *kept])


def _named(part: str | int) -> str:
    if isinstance(part, int) or (PLAIN.fullmatch(part) and len(part) <= MOST_CHARS):
        return str(part)
    return f'"{part}"' if QUOTED.fullmatch(part) and len(part) <= MOST_CHARS else "…"


class DiffFiles:
    """The files whose changes a text tells of, as `git diff` and `git log -p` write them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sections = SECTION.finditer(text)
        self._section: re.Match[str] | None = None
        self._next = next(self._sections, None)

    def inside(self, place: int) -> Hashable:
        """Which file's changes, where a line of them stands at the place."""
        while self._next and self._next.start() < place:
            self._section, self._next = self._next, next(self._sections, None)
        if not self._section or not self._section.lastindex:
            return None
        begin, earliest = self._section.start(), max(0, place - LOOK_BACK)
        line = self._text.rfind("\n", earliest, place) + 1
        if line == 0 < earliest:  # a line too long to be one of a change
            return None
        is_change = line == begin or self._text.startswith(LINE_STARTS, line)
        return begin if is_change else None

    @property
    def name(self) -> str:
        """The file, of a long path the end."""
        file = self._section and (self._section[1] or self._section[2])
        if not file:
            return "another file"
        end = file[1 - MOST_CHARS :]
        return file if len(file) <= MOST_CHARS else f"…{end[max(0, end.find('/')) :]}"
