"""How wide text is on a terminal, counted in cells, and text that fits into a number of cells."""

import unicodedata
from collections.abc import Iterator

CUT = "…"


def cells(text: str) -> int:
    """The cells that a text takes: `cells("a中")` -> `3`; marks over letters take none."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def padded(text: str, width: int, *, right: bool = False) -> str:
    """A text with spaces to a width; with `right`, the spaces stand before it."""
    space = " " * (width - cells(text))
    return space + text if right else text + space


def without_middle(text: str, width: int) -> str:
    """`without_middle("/home/ana/work/chat.jsonl", 15)` -> `"/home/…at.jsonl"`."""
    if cells(text) <= width:
        return text
    end = _beginning(text[::-1], (width - 1) - (width - 1) // 2)[::-1]
    start = _beginning(text, width - 1 - cells(end))
    return f"{start}{CUT}{end}" if width > 1 else CUT


def without_end(text: str, width: int) -> str:
    """`without_end("a long line", 6)` -> `"a lon…"`."""
    return text if cells(text) <= width else f"{_beginning(text, width - 1)}{CUT}"


def wrapped(text: str, width: int, *, hanging: int = 0) -> list[str]:
    """Lines of at most `width` cells; all but the first begin with `hanging` spaces.

    Spaces at the start of the text stay, also before the following lines. A longer word is broken.
    """
    body = text.lstrip(" ")
    indent = " " * min(len(text) - len(body), max(0, width - hanging - 1))
    later = indent + " " * hanging
    lines, line = list[str](), indent
    for word in _pieces(body, max(1, width - len(later))):
        candidate = word if not line.strip(" ") else f" {word}"
        if cells(line) + cells(candidate) > width and line.strip(" "):
            lines.append(line)
            line, candidate = later, word
        line += candidate
    return [*lines, line.rstrip(" ")]


def _pieces(text: str, width: int) -> Iterator[str]:
    """The words of a text, those that are wider than `width` in pieces; double spaces stay."""
    for word in text.split(" "):
        rest = word
        while cells(rest) > width:
            piece = _beginning(rest, width) or rest[0]
            yield piece
            rest = rest[len(piece) :]
        yield rest


def _beginning(text: str, width: int) -> str:
    """As much of a text as fits."""
    taken = 0
    for index, sign in enumerate(text):
        taken += _cells_of(sign)
        if taken > width:
            return text[:index]
    return text
