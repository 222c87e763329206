"""The picture of the window: areas by kind, lines for threshold and window, compactions.

Areas are drawn in a square that stretches. Lines and words lie over it in percent of its width and
height, so that strokes and letters keep their size on a phone and on a wide screen.
"""

from context_compression.display.plurals import how_many
from context_compression.report.model import Report
from context_compression.report.page.compactions import MOST_MARKS
from context_compression.report.page.heading import short
from context_compression.report.page.kinds import KINDS
from context_compression.report.page.layout import Layout, ticks
from context_compression.report.page.markup import Markup, element, joined, local_time
from context_compression.report.page.sections import number

ROOM_FOR_NAME = 8.0
"""How far apart two lines are that both have their name below, in percent of the height."""
ROOM_FOR_NUMBER = 6.0
"""How far apart two marks are that both carry their number, in percent of the width."""


def picture(layout: Layout, report: Report) -> Markup:
    """The areas with their lines, scales, and the slider that chooses a request."""
    apart = abs(layout.y(report.window) - layout.y(report.threshold)) > ROOM_FOR_NAME
    shown = [
        _level(layout, report.window, "window", above=not apart),
        _level(layout, report.threshold, "threshold"),
    ]
    areas = [
        element("path", d=_path(outline), class_=kind)
        for kind, outline in zip(KINDS, layout.outlines(), strict=True)
        if any(upper < lower for _, upper, lower in outline)
    ]
    square = element(
        "svg", areas, viewBox="0 0 100 100", preserveAspectRatio="none", width="100%",
        height="100%", class_="areas",
    )  # fmt: skip
    levels = ticks(layout.top, 5)
    grid = [_across(layout.y(level), "grid") for level in levels]
    cursor = element("line", x1="0", x2="0", y1="0", y2="100%", class_="cursor")
    plot = element(
        "svg", grid, square, shown, _marks(layout), cursor, class_="plot", role="img",
        aria_label=_in_words(layout, report), focusable="false",
    )  # fmt: skip
    scale = [
        element("text", short(level), x="100%", y=f"{layout.y(level):.2f}%", dy="0.32em")
        for level in levels
    ]
    slider = element(
        "input", type="range", min="0", max=len(layout.requests) - 1, step="1",
        value=len(layout.requests) - 1, id="request", hidden=True, aria_label="Request",
    )  # fmt: skip
    return element(
        "div",
        element("svg", scale, class_="scale", aria_hidden="true", focusable="false"),
        plot,
        element("div", slider, _requests(layout, report), class_="below"),
        class_="picture",
    )


def _path(outline: list[tuple[float, float, float]]) -> str:
    upper = [f"{x:.2f},{y:.2f}" for x, y, _ in outline]
    lower = [f"{x:.2f},{y:.2f}" for x, _, y in reversed(outline)]
    return f"M{' '.join([*upper, *lower])}Z"


def _level(layout: Layout, tokens: int, called: str, *, above: bool = False) -> Markup:
    """The line of the window or the threshold, with its name below or above it."""
    if not 0 < tokens <= layout.top:
        return Markup("")
    y = layout.y(tokens)
    text = element(
        "text", f"{called} {number(tokens)}", x="8", y=f"{y:.2f}%",
        dy="-5" if above else "14", class_="level",
    )  # fmt: skip
    return joined(_across(y, called), text)


def _across(y: float, class_: str) -> Markup:
    return element("line", x1="0", x2="100%", y1=f"{y:.2f}%", y2=f"{y:.2f}%", class_=class_)


def _marks(layout: Layout) -> list[Markup]:
    """Each compaction as a line; those with room for it carry their number."""
    drawn: list[Markup] = []
    numbered = -100.0
    for index, (x, mark) in enumerate(layout.marks[:MOST_MARKS], 1):
        at = f"{x:.2f}%"
        drawn.append(element("line", x1=at, x2=at, y1="0", y2="100%", class_="compaction"))
        before, after = mark.compaction.tokens_before, mark.compaction.tokens_after
        if before and after:
            upper, lower = f"{layout.y(before):.2f}%", f"{layout.y(after):.2f}%"
            drawn.append(element("line", x1=at, x2=at, y1=upper, y2=lower, class_="drop"))
        if x - numbered < ROOM_FOR_NUMBER:
            drawn.append(element("circle", cx=at, cy="11", r="3.5", class_="mark"))
            continue
        numbered = x
        drawn.append(element("circle", cx=at, cy="11", r="9", class_="mark"))
        drawn.append(element("text", str(index), x=at, y="11", dy="0.35em", class_="mark"))
    return drawn


def _requests(layout: Layout, report: Report) -> Markup:
    """The numbers of the requests below the picture, and when the session began and ended."""
    span = layout.last - layout.first + 1
    inner = [tick for tick in ticks(layout.last, 6) if layout.first < tick < layout.last]
    shown = [
        (at, 100 * (at - layout.first + 0.5) / span)
        for at in inner
        if 20 < 100 * (at - layout.first) / span < 91
    ]
    texts = [element("text", f"request {number(layout.first)}", x="0", y="14", class_="start")]
    texts += [
        element("text", number(at), x=f"{x:.2f}%", y="14", class_="middle") for at, x in shown
    ]
    if layout.last > layout.first:
        texts.append(element("text", number(layout.last), x="100%", y="14", class_="end"))
    began = local_time(layout.requests[0].point.time)
    ended = local_time(layout.requests[-1].point.time)
    if began and ended:
        texts.append(element("text", began, x="0", y="31", class_="start"))
        if layout.last > layout.first:
            texts.append(element("text", ended, x="100%", y="31", class_="end"))
    return element("svg", texts, class_="numbers", aria_hidden="true", focusable="false")


def _in_words(layout: Layout, report: Report) -> str:
    peak = max(layout.requests, key=lambda request: request.tokens)
    last = layout.requests[-1]
    return (
        f"Stacked areas by kind of content. The context reached {number(peak.tokens)} tokens in "
        f"request {number(peak.point.number)} and has {number(last.tokens)} in the last one. The "
        f"threshold is {number(report.threshold)}, the window {number(report.window)}. "
        f"There were {how_many(len(report.compactions), 'compaction')}. The table below has the "
        "values."
    )
