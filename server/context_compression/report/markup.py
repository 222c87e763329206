"""What the page of a report is made of: escaped HTML, headings, tables, bars, kinds, places.

HTML by functions: what is not `Markup` is escaped, so no string of a report becomes markup.
`element("b", "1 < 2", title='"')` -> `<b title="&quot;">1 &lt; 2</b>`

The kinds of content that the page tells apart, in the order in which they are stacked. Eight
colours are as many as everyone can tell apart, so rare kinds share one. `page.css` has the colours.
They differ by at least 8 (in OKLab, times 100) also for people who do not see red, green or blue,
and each has a contrast of at least 3 with the page, light or dark.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, TypeAlias

from context_compression.report.model import CompactionMark, Point, Report
from context_compression.strings import harmless, in_words


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


KINDS = {
    "other": "other",
    "system": "system and host",
    "user": "user text",
    "assistant": "assistant text",
    "thinking": "thinking",
    "calls": "tool calls",
    "results": "tool results",
    "notes": "our notes",
}
"""What each kind is called on the page, by the class of its colour."""

_CLASS_OF = {
    "system prompt, tools and the like": "system",
    "system text": "system",
    "developer text": "system",
    "host text": "system",
    **{label: kind for kind, label in KINDS.items()},
}


def by_class(by_kind: Mapping[str, int]) -> list[int]:
    """Tokens by kind, in the order of `KINDS`."""
    sizes = dict.fromkeys(KINDS, 0)
    for kind, tokens in by_kind.items():
        sizes[_CLASS_OF.get(kind, "other")] += max(0, tokens)
    return list(sizes.values())


DRAWN = 500
"""How many requests are drawn: about as many as a wide screen can show apart."""
LISTED = 40
"""How many requests the table beside the picture has."""
SCALE_NEEDS = 0.25
"""Which share of the window the context must have reached for the picture to reach the window."""


@dataclass(frozen=True)
class Drawn:
    """A request in the picture.

    Attributes:
        point: its facts.
        sizes: its tokens, in the order of `KINDS`.
        x: where it is, in percent from the left.
        follows: the numbers of the compactions right before it, from 1.
    """

    point: Point
    sizes: Sequence[int]
    x: float
    follows: Sequence[int] = ()

    @property
    def tokens(self) -> int:
        """The size of the context as it is drawn."""
        return sum(self.sizes)


@dataclass(frozen=True)
class Layout:
    """The places of requests and compactions, in percent of the picture's width and height.

    Attributes:
        requests: those that are drawn.
        marks: each compaction with its place from the left.
        top: tokens at the upper edge of the picture.
        first: the number of the first request.
        last: the number of the last request.
    """

    requests: Sequence[Drawn]
    marks: Sequence[tuple[float, CompactionMark]]
    top: float
    first: int
    last: int

    def y(self, tokens: float) -> float:
        """How far from the upper edge a size is, in percent."""
        return 100 * (1 - min(tokens, self.top) / self.top)

    def outlines(self) -> list[list[tuple[float, float, float]]]:
        """The area of each kind: places from the left, each with its upper and lower edge.

        A compaction is a step: up to its place the context keeps its size, from there on it has
        that of the next request. The areas reach both edges of the picture.
        """
        steps = [x for x, _ in self.marks]
        rows: list[tuple[float, Sequence[int]]] = []
        before = self.requests[0]
        rows.append((0.0, before.sizes))
        for request in self.requests:
            step = next((x for x in steps if before.x < x < request.x), None)
            if step is not None:
                rows += [(step, before.sizes), (step, request.sizes)]
            rows.append((request.x, request.sizes))
            before = request
        rows.append((100.0, before.sizes))
        edges = [(x, [0, *_sums(sizes)]) for x, sizes in rows]
        return [
            [(x, self.y(sums[kind + 1]), self.y(sums[kind])) for x, sums in edges]
            for kind in range(len(rows[0][1]))
        ]


def layout_of(report: Report) -> Layout | None:
    """The layout of a session's picture; `None` if no request is recorded."""
    if not report.points:
        return None
    points = thinned(report.points, report.compactions, DRAWN)
    first, last = points[0].number, max(point.number for point in points)
    width = max(1, last - first + 1)

    def x(number: float) -> float:
        return min(100.0, max(0.0, 100 * (number - first + 0.5) / width))

    follows: dict[int, list[int]] = {}
    for index, mark in enumerate(report.compactions, 1):
        follows.setdefault(mark.after + 1, []).append(index)
    requests = [
        Drawn(point, by_class(point.by_kind), x(point.number), follows.get(point.number, ()))
        for point in points
    ]
    peak = max(max(request.tokens for request in requests), 1)
    before = [mark.compaction.tokens_before or 0 for mark in report.compactions]
    peak = max(peak, *(tokens for tokens in before if tokens <= 2 * peak), 1)
    reached = max(report.window, report.threshold)
    top = 1.12 * (max(peak, reached) if peak >= SCALE_NEEDS * reached else peak)
    marks = [(x(mark.after + 0.5), mark) for mark in report.compactions]
    return Layout(requests, marks, top, first, last)


def thinned(points: Sequence[Point], marks: Sequence[CompactionMark], most: int) -> Sequence[Point]:
    """Points spread evenly: the largest of each part, the first, the last, those at compactions.

    With more compactions than `most`, those at compactions are thinned, too.
    """
    if len(points) <= most:
        return points
    beside = {number for mark in marks for number in (mark.after, mark.after + 1)}
    kept = {0, len(points) - 1}
    at_marks = [index for index, point in enumerate(points) if point.number in beside]
    kept.update(at_marks[:: 1 + 2 * len(at_marks) // most])
    parts = max(1, most - len(kept))
    for part in range(parts):
        start, stop = part * len(points) // parts, (part + 1) * len(points) // parts
        kept.add(max(range(start, stop), key=lambda index: points[index].tokens))
    return [points[index] for index in sorted(kept)]


def ticks(top: float, most: int) -> list[int]:
    """Round numbers from 0 up to `top`, at most `most` + 1 of them."""
    step = 1
    while top / step > most:
        leading = int(str(step)[0])
        step = step * 2 if leading == 1 else step * 5 // 2 if leading == 2 else step * 2
    return list(range(0, int(top) + 1, step))


def _sums(sizes: Sequence[int]) -> list[int]:
    total, sums = 0, list[int]()
    for size in sizes:
        total += size
        sums.append(total)
    return sums


MOST = 10**15
"""Larger numbers are damaged ones; they are shown as this one."""


def section(key: str, title: str, *pieces: Piece, note: str = "") -> Markup:
    """A section with its heading, and a sentence that explains it."""
    about = [element("p", note, class_="note")] if note else []
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, about, *pieces, id=key, aria_labelledby=f"{key}-title")


def number(value: int) -> str:
    """`12345` -> `"12,345"`."""
    return f"{max(-MOST, min(MOST, value)):,}"


def percent(part: float, whole: float) -> str:
    """`(1, 3)` -> `"33 %"`, `(1, 300)` -> `"under 1 %"`; `"0 %"` of nothing."""
    share = 100 * part / whole if whole > 0 else 0
    return "under 1 %" if 0 < share < 0.5 else f"{share:.0f} %"


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Piece]],
    *,
    keys: Sequence[str] = (),
    class_: str = "",
) -> Markup:
    """A table whose first column names its rows; all other columns are numbers.

    Args:
        caption: what the table shows, for those who do not see the heading above it.
        columns: their headings.
        rows: a cell for each column.
        keys: an id for each row, if other parts of the page point to it.
        class_: how it looks.
    """
    first, *others = columns
    headings = [
        element("th", first, scope="col"),
        *(element("th", text, scope="col", class_="number") for text in others),
    ]
    body = [
        element(
            "tr",
            element("th", cells[0], scope="row"),
            *(element("td", cell, class_="number") for cell in cells[1:]),
            id=keys[index] if keys else None,
        )
        for index, cells in enumerate(rows)
    ]
    return element(
        "table",
        element("caption", caption, class_="unseen"),
        element("thead", element("tr", headings)),
        element("tbody", body),
        class_=class_ or None,
    )


def bar(parts: Sequence[tuple[str, float]], whole: float) -> Markup:
    """A bar of parts, each with the class of its colour. The numbers beside it say the same."""
    pieces: list[Markup] = []
    at = 0.0
    for kind, size in parts:
        width = 100 * max(0.0, size) / whole if whole > 0 else 0.0
        if width > 0:
            pieces.append(
                element(
                    "rect",
                    x=f"{at:.2f}%",
                    width=f"{max(width, 0.3):.2f}%",
                    height="100%",
                    class_=kind,
                )
            )
        at += width
    return element("svg", pieces, class_="bar", aria_hidden="true", focusable="false")


def swatch(kind: str) -> Markup:
    """A small square of a kind's colour."""
    square = element("rect", width="100%", height="100%", class_=kind)
    return element("svg", square, class_="swatch", aria_hidden="true", focusable="false")


def facts(pairs: Iterable[tuple[str, Piece]], class_: str = "facts") -> Markup:
    """Names with their values."""
    groups = [element("div", element("dt", key), element("dd", value)) for key, value in pairs]
    return element("dl", groups, class_=class_)


def folded(summary: str, *pieces: Piece) -> Markup:
    """What is shown when it is asked for, and on paper."""
    return element("details", element("summary", summary), *pieces, class_="folded")
