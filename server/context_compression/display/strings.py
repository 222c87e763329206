"""Strings that others wrote, as we show them: on one line, or in lines without hidden signs.

What a store or a conversation holds may come from anybody. A line break in it must not begin a line
that reads as ours, nor may it move a terminal's cursor, or hide in signs that nobody sees.
"""

import re

ONE_LINE = 300
"""Characters of a string on one line, where nobody says how many."""

_OTHERS = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_IN_LINES = re.compile(f"[{_OTHERS}]")
"""Controls, breaks of lines, directions, signs of no width, halves of characters, tags."""
_IN_A_LINE = re.compile(f"[\\n\\t{_OTHERS}]")
_JOINERS = "\u200c\u200d"
_JOINED = re.compile(f"[^\\x00-\\xad\u2000-\u206f{_OTHERS}]")
"""What a joiner may stand between: letters of scripts that need it, parts of an emoji."""


def one_line(value: object, most: int = ONE_LINE) -> str:
    r"""A string on one line of at most so many characters; what is longer ends with `…`.

    Breaks of lines, controls and signs that are not seen are spelled out: `"a\nb"` -> `"a\\nb"`.
    """
    shown = _IN_A_LINE.sub(_spelled, str(value)[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def in_words(text: str, most: int = ONE_LINE) -> str:
    r"""As `one_line`, but with one blank for each run of blanks: `"a\n b"` -> `"a b"`."""
    return one_line(" ".join(text.split()), most)


def harmless(text: str) -> str:
    """A text in lines, without what moves a terminal's cursor, or is not seen: it is spelled out.

    `one_line` is for what is no text of ours: here, its line breaks stay.
    """
    return _IN_LINES.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    sign, text, start = found[0], found.string, found.start()
    joins = sign in _JOINERS and start and _JOINED.match(text, start - 1)
    if joins and _JOINED.match(text, start + 1):
        return sign
    return sign.encode("unicode_escape").decode("ascii")
