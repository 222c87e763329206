"""Strings from conversations and stores, made safe to show: on one line, or on several.

Such strings can come from any source. A line break in a string must not begin a line that reads
like a text of this package. A string must not move the cursor of a terminal or hide text from the
reader.
"""

import re

ONE_LINE = 300
"""Default for the most characters of a string on one line."""

_OTHERS = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_IN_LINES = re.compile(f"[{_OTHERS}]")
"""Controls, line breaks, directions, characters of no width, halves of characters, tags."""
_IN_A_LINE = re.compile(f"[\\n\\t{_OTHERS}]")
_HALVES = re.compile("[\ud800-\udfff]")
_JOINERS = "\u200c\u200d"
_JOINED = re.compile(f"[^\\x00-\\xad\u2000-\u206f{_OTHERS}]")
"""Characters that a joiner may join: letters of scripts that need it, parts of an emoji."""


def one_line(value: object, most: int = ONE_LINE) -> str:
    r"""A string on one line of at most `most` characters; a longer one ends with `…`.

    Line breaks, controls and invisible characters are escaped: `"a\nb"` -> `"a\\nb"`.
    """
    shown = _IN_A_LINE.sub(_spelled, str(value)[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def in_words(text: str, most: int = ONE_LINE) -> str:
    r"""Like `one_line`, but each run of whitespace becomes one space: `"a\n b"` -> `"a b"`."""
    return one_line(" ".join(text.split()), most)


def harmless(text: str) -> str:
    """A text with its line breaks; controls and invisible characters are escaped.

    Use `one_line` for names inside a line.
    """
    return _IN_LINES.sub(_spelled, text)


def with_halves_spelled(text: str) -> str:
    r"""The text in a form that UTF-8 can carry: a lone surrogate, legal in JSON, is escaped.

    `"a\ud83d"` -> `"a\\ud83d"`
    """
    return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _spelled(match: re.Match[str]) -> str:
    sign, text, start = match[0], match.string, match.start()
    joins = sign in _JOINERS and start and _JOINED.match(text, start - 1)
    if joins and _JOINED.match(text, start + 1):
        return sign
    return sign.encode("unicode_escape").decode("ascii")
