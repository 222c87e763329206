"""Where in a text something stands: in JSON in `$.issues.2.body`, in a diff in a file's changes.

Places are asked for in ascending order; a text is read once, as far as one asks.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

Whereabouts: TypeAlias = Callable[[int], str | None]
"""Where in a text a place is; `None` where that cannot be told."""

JSON = re.compile(r'\s*+[{\[]\s*+["{\[]')
"""How a text begins that may be JSON in which there are paths."""
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
SCALAR = rf"(?:{STRING}|-?\d[\d.eE+-]*+|true|false|null)"
TOKEN = re.compile(
    rf"\s*+(?:({STRING})\s*+:(?:\s*+({SCALAR})(?:\s*+,)?+)?+|([{{[])|([}}\]])|(,)|{SCALAR})",
    re.DOTALL,
)
"""A member, whole or up to its value that is an object or an array; or a sign, or an element."""
NAME, VALUE, OPENS, CLOSES, COMMA = range(1, 6)
PLAIN = re.compile(r"[\w.@/$ -]{1,40}")
"""A name that is told as it is: it could not be taken for the end of what it stands in."""
DEEPEST = 4
"""Names and positions of a path that are told, the last ones."""
FILE = re.compile(r"diff --git .* b/([\w.@/+-]{1,200})\r?\n")
HEADS = ("diff --git ", "index ", "--- ", "+++ ")
"""How lines begin that tell themselves of which file the changes are."""


def whereabouts(text: str) -> Whereabouts:
    """Tells of places in a text where in it they are."""
    return JsonPaths(text).path if JSON.match(text) else DiffFiles(text).file


class JsonPaths:
    """The paths in a text that is JSON, or several values of it one after another.

    Whether it is JSON is not made sure of, only that nothing stands in it that JSON never holds.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[str | int] = []
        """Of each value that is open the element that is read, or the name of the member."""

    def path(self, place: int) -> str | None:
        """The names and positions that lead to a place: `$.issues.2.body`.

        `$` for what stands at the top; `None` where the text up to there is no JSON, and behind its
        end.
        """
        read, text, at, path = TOKEN.match, self._text, self._at, self._open
        while (token := read(text, at)) and (end := token.end()) <= place:
            at, kind = end, token.lastindex
            if kind == OPENS:
                path.append(0 if text[end - 1] == "[" else "")
            elif not path:
                token = None
                break
            elif kind == NAME:
                path[-1] = token[NAME][1:-1]
            elif kind == COMMA:
                inside = path[-1]
                path[-1] = inside + 1 if isinstance(inside, int) else ""
            elif kind == CLOSES:
                path.pop()
        self._at = at
        if token is None:
            self._at = len(text)
            return None
        parts: list[str | int] = path[-DEEPEST - 2 :]  # an empty one and one too many at most
        if token[NAME] and 0 <= token.start(VALUE) <= place:
            parts.append(token[NAME][1:-1])
        known = [str(part) for part in parts if part != ""]
        named = [part if PLAIN.fullmatch(part) else "…" for part in known[-DEEPEST:]]
        return ".".join(["$", *["…"] * (len(known) > DEEPEST), *named])


class DiffFiles:
    """The files whose changes a text tells of, as `git diff` writes them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._file = ""
        self._next = self._header(0)

    def file(self, place: int) -> str | None:
        """The file whose changes a place is in.

        Empty before the first; `None` where a line begins that tells it, and behind the end.
        """
        while 0 <= self._next < place:
            named = FILE.match(self._text, self._next)
            self._file = named[1] if named else "another file"
            self._next = self._header(self._next + 1)
        is_told = place >= len(self._text) or self._text.startswith(HEADS, place)
        return None if is_told else self._file

    def _header(self, start: int) -> int:
        """Where the changes of the next file begin."""
        if self._text.startswith(HEADS[0], start):
            return start
        found = self._text.find(f"\n{HEADS[0]}", start)
        return found + 1 if found >= 0 else -1
