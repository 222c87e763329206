"""Where each request and compaction lies in the picture of the window, in percent."""

from collections.abc import Sequence
from dataclasses import dataclass

from context_compression.report.model import CompactionMark, Point, Report
from context_compression.report.page.kinds import by_class

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
