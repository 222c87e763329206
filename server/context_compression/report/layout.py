"""The picture of the window over time: where requests, compactions and levels are in it.

The kinds of content that the page tells apart, in the order in which they are stacked. Eight
colours are as many as everyone can tell apart, so rare kinds share one. `page/page.css` has the
colours. They differ by at least 8 (in OKLab, times 100) also for people who do not see red, green
or blue, and each has a contrast of at least 3 with the page, light or dark.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from context_compression.report.course import Numbered, thinned
from context_compression.report.model import Point, Report
from context_compression.transcripts.transcript import Compaction

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
DRAWN = 500
"""How many requests are drawn: about as many as a wide screen can show apart."""
LISTED = 40
"""How many requests the table beside the picture has."""
SCALE_NEEDS = 0.25
"""Which share of the window the context must have reached for the picture to reach the window."""
ROOM_FOR_NAME = 8.0
"""How far apart two lines are that both have their name below, in percent of the height."""
ROOM_FOR_NOW = 0.05
"""Which share of the width the context now has at least, if it is drawn behind the requests."""
ROOM_FOR_NUMBER = 6.0
"""How far apart two marks are that both carry their number, in percent of the width."""


def by_class(by_kind: Mapping[str, int]) -> list[int]:
    """Tokens by kind, in the order of `KINDS`."""
    sizes = dict.fromkeys(KINDS, 0)
    for kind, tokens in by_kind.items():
        sizes[_CLASS_OF.get(kind, "other")] += max(0, tokens)
    return list(sizes.values())


@dataclass(frozen=True)
class Drawn:
    """A request in the picture.

    Attributes:
        point: its facts.
        sizes: its tokens, in the order of `KINDS`.
        x: where it is, in percent from the left.
        follows: the numbers of the compactions right before it, from 1.
        now: whether it is the context now, after a compaction that no request followed.
    """

    point: Point
    sizes: Sequence[int]
    x: float
    follows: Sequence[int] = ()
    now: bool = False

    @property
    def number(self) -> int:
        """Of the request, from 1."""
        return self.point.number

    @property
    def tokens(self) -> int:
        """The size of the context as it is drawn."""
        return sum(self.sizes)


class DrawnMark(NamedTuple):
    """A compaction in the picture: its place, and whether there is room for its number."""

    x: float
    numbered: bool
    compaction: Compaction


@dataclass(frozen=True)
class Layout:
    """The places of requests and compactions, in percent of the picture's width and height.

    Attributes:
        report: what is drawn.
        requests: those that are drawn.
        marks: the compactions.
        top: tokens at the upper edge of the picture.
        first: the number of the first request.
        last: the number of the last request.
        width: of the picture, in requests.
    """

    report: Report
    requests: Sequence[Drawn]
    marks: Sequence[DrawnMark]
    top: float
    first: int
    last: int
    width: float

    def y(self, tokens: float) -> float:
        """How far from the upper edge a size is, in percent."""
        return 100 * (1 - max(0, min(tokens, self.top)) / self.top)

    def outlines(self) -> list[list[tuple[float, float, float]]]:
        """The area of each kind: places from the left, each with its upper and lower edge.

        A compaction is a step: up to its place the context keeps its size, from there on it has
        that of the next request. The areas reach both edges of the picture.
        """
        before = self.requests[0]
        rows: list[tuple[float, Sequence[int]]] = [(0.0, before.sizes)]
        for request in self.requests:
            step = next((x for x, *_ in self.marks if before.x < x < request.x), None)
            if step is not None:
                rows += [(step, before.sizes), (step, request.sizes)]
            rows.append((request.x, request.sizes))
            before = request
        rows.append((100.0, before.sizes))
        edges = [(x, [*accumulate(sizes, initial=0)]) for x, sizes in rows]
        return [
            [(x, self.y(sums[kind + 1]), self.y(sums[kind])) for x, sums in edges]
            for kind in range(len(KINDS))
        ]

    @property
    def areas(self) -> Iterator[tuple[str, str]]:
        """The kinds that are there, each with its area as a path in a square of 100 by 100."""
        for kind, outline in zip(KINDS, self.outlines(), strict=True):
            if any(upper < lower for _, upper, lower in outline):
                above = [f"{x:.2f},{y:.2f}" for x, y, _ in outline]
                below = [f"{x:.2f},{y:.2f}" for x, _, y in reversed(outline)]
                yield kind, f"M{' '.join([*above, *below])}Z"

    @property
    def levels(self) -> list[int]:
        """Sizes with a line across the picture."""
        return ticks(self.top, 5)

    @property
    def limits(self) -> Iterator[tuple[str, int, int]]:
        """The window and the threshold, if they are in the picture: name, size, place of the name.

        Each has its name below its line; with no room there, that of the window is above.
        """
        window, threshold = self.report.window, self.report.threshold
        apart = abs(self.y(window) - self.y(threshold)) > ROOM_FOR_NAME
        for called, tokens, dy in (
            ("window", window, 14 if apart else -5),
            ("threshold", threshold, 14),
        ):
            if 0 < tokens <= self.top:
                yield called, tokens, dy

    @property
    def between(self) -> Iterator[tuple[int, float]]:
        """Numbers of requests between the first and the last, with their places."""
        most = 75 if self.requests[-1].now else 88
        for number in ticks(self.last, 6):
            x = 100 * (number - self.first + 0.5) / self.width
            if self.first < number < self.last and 30 < x < most:
                yield number, x

    @property
    def listed(self) -> list[Drawn]:
        """The requests in the table."""
        return _few(self.requests, self.report, LISTED)

    def kinds_in(self, requests: Sequence[Drawn]) -> list[int]:
        """The places in `KINDS` of the kinds that some of the requests have."""
        return [at for at in range(len(KINDS)) if any(each.sizes[at] for each in requests)]


def layout_of(report: Report) -> Layout | None:
    """The layout of a session's picture; `None` if no request is recorded."""
    if not report.points:
        return None
    points = [*_few(report.points, report, DRAWN)]
    first, last = points[0].number, max(point.number for point in points)
    width = float(max(1, last - first + 1))
    now = _now(report, last)
    if now:
        points.append(now)
        width /= 1 - max(ROOM_FOR_NOW, 1 / (width + 1))

    def x(number: float) -> float:
        return min(100.0, max(0.0, 100 * (number - first + 0.5) / width))

    follows: dict[int, list[int]] = {}
    marks: list[DrawnMark] = []
    numbered = -100.0
    for index, mark in enumerate(report.compactions, 1):
        after = min(mark.after, last)
        follows.setdefault(after + 1, []).append(index)
        at = x(after + 0.5)
        has_room = at - numbered >= ROOM_FOR_NUMBER
        numbered = at if has_room else numbered
        marks.append(DrawnMark(at, has_room, mark.compaction))
    requests = [
        Drawn(
            point,
            by_class(point.by_kind),
            x(point.number) if point is not now else (x(last + 0.5) + 100) / 2,
            follows.get(point.number, ()),
            point is now,
        )
        for point in points
    ]
    peak = max(max(request.tokens for request in requests), 1)
    before = [mark.compaction.tokens_before or 0 for mark in report.compactions]
    peak = max(peak, *(tokens for tokens in before if tokens <= 2 * peak), 1)
    reached = max(report.window, report.threshold)
    top = 1.12 * (max(peak, reached) if peak >= SCALE_NEEDS * reached else peak)
    return Layout(report, requests, marks, top, first, last, width)


def _now(report: Report, last: int) -> Point | None:
    """The context now, if it was compacted since the last request."""
    if not report.compactions or report.compactions[-1].after < last:
        return None
    return Point(last + 1, report.compactions[-1].compaction.time, report.by_kind)


def _few(requests: Sequence[Numbered], report: Report, most: int) -> list[Numbered]:
    """About `most` requests: those beside compactions first, and half of `most` of these."""
    after = {number for mark in report.compactions for number in (mark.after, mark.after + 1)}
    beside = [request.number for request in requests if request.number in after]
    return thinned(requests, {*beside[:: 1 + 2 * len(beside) // most]}, most)


def ticks(top: float, most: int) -> list[int]:
    """Round numbers from 0 up to `top`, at most `most` + 1 of them."""
    step = 1
    while top / step > most:
        leading = int(str(step)[0])
        step = step * 2 if leading == 1 else step * 5 // 2 if leading == 2 else step * 2
    return list(range(0, int(top) + 1, step))
