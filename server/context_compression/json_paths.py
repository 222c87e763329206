"""Where in JSON something stands: `issues.2.body` is in the third of the issues."""

import re

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


class JsonPaths:
    """The paths in a text that is JSON, or several values of it one after another.

    It is read once, as far as one asks; places are asked for in ascending order. Whether it is JSON
    is not made sure of: only that nothing stands in it that never stands in JSON.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[str | int] = []
        """Of each value that is open the element that is read, or the name of the member."""

    def path(self, place: int) -> str | None:
        """The names and positions that lead to a place: `issues.2.body`.

        Empty for what stands at the top; `None` where the text up to there is no JSON, and behind
        its end.
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
        return ".".join(["…", *named] if len(known) > DEEPEST else named)
