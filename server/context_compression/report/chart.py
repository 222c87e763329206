"""A small chart of the context over time, in characters."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from context_compression.display.plurals import short_number
from context_compression.report.model import CompactionMark, Point

ROWS = 5
EIGHTHS = " ▁▂▃▄▅▆▇█"
LABEL = 11
SMALL = 0.4
"""Below this share of the window, the scale ends with the largest context instead."""


def chart(
    points: Sequence[Point],
    marks: Sequence[CompactionMark],
    window: int,
    threshold: int,
    width: int,
    now: int | None = None,
) -> Iterator[str]:
    """Lines with bars for the context, each for some requests, and a mark for each compaction.

    Args:
        points: the context in each request.
        marks: the compactions.
        window: the size of the context window.
        threshold: from how many tokens on a compression is due.
        width: of a line.
        now: the context now, if it is to be shown beside the requests.
    """
    if len(points) < 2:
        return
    last = [] if now is None else [now]
    columns = max(1, min(width - LABEL, max(len(points), 40)) - len(last))
    heights = [*_heights(points, columns), *last]
    largest = max(heights)
    top = window if largest >= SMALL * window else largest
    for row in reversed(range(ROWS)):
        low, high = top * row / ROWS, top * (row + 1) / ROWS
        cells = (EIGHTHS[_eighths(height, low, high)] for height in heights)
        due = low < threshold <= high
        yield f"{_label(row, top, window, due):>{LABEL - 1}} {''.join(cells)}".rstrip()
    if marks:
        yield f"{'':{LABEL}}{_marks(points, marks, columns + len(last))}".rstrip()
    many = f"request {points[0].number} to {points[-1].number:,}{' and now' if last else ''}"
    yield f"{'':{LABEL}}{many}{', ▲ compaction' if marks else ''}"


def _heights(points: Sequence[Point], columns: int) -> Iterator[int]:
    """The largest context of each column."""
    for column in range(columns):
        start = column * len(points) // columns
        stop = max(start + 1, (column + 1) * len(points) // columns)
        yield max(point.tokens for point in points[start:stop])


def _eighths(height: int, low: float, high: float) -> int:
    """How many eighths of a cell are filled; a context is never without a mark."""
    if high <= low:
        return 0
    filled = round(8 * (height - low) / (high - low))
    return max(1 if low == 0 and height else 0, min(8, filled))


def _label(row: int, top: int, window: int, due: bool) -> str:
    if row == ROWS - 1:
        return f"{short_number(top)}" if top == window else f"max {short_number(top)}"
    return "due " if due else ""


def _marks(points: Sequence[Point], marks: Sequence[CompactionMark], columns: int) -> str:
    """A line with a mark below the column of the first request after each compaction."""
    cells = [" "] * columns
    numbers = [point.number for point in points]
    for mark in marks:
        place = bisect_right(numbers, mark.after)
        cells[min(columns - 1, place * columns // len(points))] = "▲"
    return "".join(cells)
