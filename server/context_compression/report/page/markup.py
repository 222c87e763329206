"""HTML by functions: what is not `Markup` is escaped, so no string of a report becomes markup.

`element("b", "1 < 2", title='"')` -> `<b title="&quot;">1 &lt; 2</b>`
"""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any, TypeAlias

from context_compression.display.strings import harmless, in_words


class Markup(str):
    """A piece of a page, as it stands in the file."""

    __slots__ = ()


Piece: TypeAlias = "str | Iterable[Piece]"
VOID = frozenset({"input", "meta"})
MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
LONGEST_NAME = 300
"""How many characters of a name are shown."""


def element(tag: str, *pieces: Piece, **attributes: str | float | bool | None) -> Markup:
    """An element. `class_` is written `class`, and `aria_label` `aria-label`.

    An attribute that is `None` or `False` is left out, one that is `True` has no value.
    """
    opening = [tag]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name = key.rstrip("_").replace("_", "-")
        opening.append(name if value is True else f'{name}="{_escaped(_written(value))}"')
    start = f"<{' '.join(opening)}>"
    return Markup(start if tag in VOID else f"{start}{joined(*pieces)}</{tag}>")


def joined(*pieces: Piece) -> Markup:
    """Pieces one after the other; texts among them are escaped."""
    parts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece if isinstance(piece, Markup) else _escaped(piece))
        else:
            parts.append(joined(*piece))
    return Markup("".join(parts))


def name(text: str, most: int = LONGEST_NAME) -> Markup:
    """A string of a conversation on one line, with a direction of its own."""
    return element("bdi", _in_words(text, most))


BREAK = Markup("<wbr>")
"""Where a long name may go on in the next line."""


def path(text: str) -> Markup:
    """A name that may be broken after each slash of a path and each `__` of a tool."""
    parts = re.split(r"(?<=[/\\])|(?<=__)", _in_words(text, LONGEST_NAME))
    return element("bdi", ((part, BREAK) for part in parts))


def data(value: Any, key: str) -> Markup:
    """JSON for the page's script. No `<` is in it, so that it cannot close its element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", Markup(text), type="application/json", id=key)


def moment(time: float | None) -> Markup | None:
    """A time of this machine, to the minute; `None` if it is unknown or no time."""
    if (shown := local_time(time)) is None or time is None:
        return None
    return _timed(shown, time)


def span(began: float | None, ended: float | None) -> Markup | None:
    """From when to when; a day that is the same is written once. `None` if both are unknown."""
    first, last = moment(began), moment(ended)
    if first is None or last is None:
        return first or last
    day, _, _ = (local_time(began) or "").rpartition(" ")
    shown = (local_time(ended) or "").removeprefix(f"{day} ")
    return joined(first, " to ", _timed(shown, ended or 0))


def local_time(time: float | None) -> str | None:
    """`"12 Mar 2026, 14:03"`; `None` if the time is unknown or no time."""
    try:
        at = datetime.fromtimestamp(time if time is not None else float("nan"), UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}, {at:%H:%M}"


def _timed(shown: str, time: float) -> Markup:
    exact = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return element("time", shown, datetime=exact)


def _in_words(text: str, most: int) -> str:
    return in_words(text[: 4 * most], most)  # a name may be a megabyte


def _written(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _escaped(text: str) -> str:
    return escape(harmless(text))
