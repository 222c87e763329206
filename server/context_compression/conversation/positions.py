"""Positions in structured text: a path in JSON (`$.issues.2.body`), the changed file in a diff.

The mark of a gap in a shortened text shows the position at which the text continues.
"""

import re
from collections.abc import Hashable
from typing import Protocol

JSON = re.compile(r'\s*+[{\[]\s*+["{\[]')
"""The beginning of a text that may be JSON with paths in it."""
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
SCALAR = rf"(?:{STRING}|-?\d[\d.eE+-]*+|true|false|null|NaN|-?Infinity)"
TOKEN = re.compile(
    rf"\s*+(?:({STRING})\s*+:(?:\s*+({SCALAR})(?:\s*+,)?+)?+|([{{[])|([}}\]])|(,)|{SCALAR})",
    re.DOTALL,
)
"""A bracket, a comma, an element or a member. A member that holds an object or array ends before
that value."""
NAME, VALUE, OPENS, CLOSES, COMMA = range(1, 6)
"""The groups of `TOKEN`."""
PLAIN, QUOTED = re.compile(r"[\w$-]+"), re.compile(r"[\w.@/$ -]+")
"""Names that are shown unchanged, and names that are shown in quotes. Any other name might end the
mark, so it is shown as `…`."""
MOST_PARTS = 4
"""How many names and indices of a path are shown at most: the last ones."""
MOST_CHARS = 40
"""How many characters of a path or file name are shown at most."""
SECTION = re.compile(
    r"^(?:diff --git \S+ b/([\w.@/+-]+)\r?$|diff --(?:cc|combined) ([\w.@/+-]+)\r?$|(diff -)"
    r"|commit [0-9a-f]{7,64}\b|From [0-9a-f]{40} )",
    re.MULTILINE,
)
"""The beginning of a section in a diff or a log with diffs: the changes of a file, or a commit."""
LINE_STARTS = (
    " ", "+", "-", "@", "\\",
    "index ", "new ", "old ", "deleted ", "similarity ", "rename ", "copy ",
)  # fmt: skip
"""The beginnings of lines within the changes of a file."""
LOOK_BACK = 2_000
"""How many characters back the beginning of a line is searched. No line of code is that long."""


class Positions(Protocol):
    """Finds the part of a text that a place is in; places are passed in ascending order.

    A place is an index of a character. The text is read once, up to the last place passed.
    """

    def inside(self, place: int) -> Hashable:
        """A key for the part of the text that a place is in; `None` if it is in no known part.

        Places in the same part of the text have equal keys.
        """
        ...

    @property
    def name(self) -> str:
        """The name of the part that the last place passed is in."""
        ...


def positions_in(text: str) -> Positions | None:
    """The positions in a text that may be JSON or a diff; `None` for any other text."""
    if JSON.match(text):
        return JsonPaths(text)
    return DiffFiles(text) if "diff -" in text else None


class JsonPaths:
    """The paths in a text of one JSON value, or of several one after another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._token = TOKEN.match(text)
        self._path: list[str | int | None] = []
        """For each open value: the index of the current element, or the name of the member."""
        self._values: list[int] = []
        """The numbers of the open values."""
        self._opened = 0
        self._last: list[str | int | None] = []
        """The end of the path to the last place passed."""

    def inside(self, place: int) -> Hashable:
        """The value at a place with its element or member; `None` outside, or if it is not JSON."""
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
                token = None  # JSON has no such token here
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
        self._last = [*path[-MOST_PARTS - 2 : -1], inner]
        return (values[-1], inner) if values else None

    @property
    def name(self) -> str:
        """The path to the last place passed: `$.issues.2.body`; `$` is the complete value."""
        parts = [_named(part) for part in self._last if part is not None]
        kept = parts[-MOST_PARTS:]
        while len(kept) > 1 and len(".".join(kept)) > MOST_CHARS:
            del kept[0]
        return ".".join(["$", *["…"] * (len(kept) < len(parts)), *kept])


def _named(part: str | int) -> str:
    if isinstance(part, int) or (PLAIN.fullmatch(part) and len(part) <= MOST_CHARS):
        return str(part)
    return f'"{part}"' if QUOTED.fullmatch(part) and len(part) <= MOST_CHARS else "…"


class DiffFiles:
    """The files whose changes are in a text, as `git diff` and `git log -p` write them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sections = SECTION.finditer(text)
        self._section: re.Match[str] | None = None
        self._next = next(self._sections, None)

    def inside(self, place: int) -> Hashable:
        """The start of the file's changes that a place is in; `None` outside of changes."""
        while self._next and self._next.start() < place:
            self._section, self._next = self._next, next(self._sections, None)
        if not self._section or not self._section.lastindex:
            return None
        begin, earliest = self._section.start(), max(0, place - LOOK_BACK)
        line = self._text.rfind("\n", earliest, place) + 1
        if line == 0 < earliest:  # the line is too long to be part of a change
            return None
        is_change = line == begin or self._text.startswith(LINE_STARTS, line)
        return begin if is_change else None

    @property
    def name(self) -> str:
        """The path of the changed file; only the end of a long path."""
        file = self._section and (self._section[1] or self._section[2])
        if not file:
            return "another file"
        end = file[1 - MOST_CHARS :]
        return file if len(file) <= MOST_CHARS else f"…{end[max(0, end.find('/')) :]}"
