"""The window over time: a picture, the values of each request, and the compactions."""

from dataclasses import asdict, dataclass

from context_compression.report.model import Report
from context_compression.report.page.compactions import compactions
from context_compression.report.page.kinds import KINDS
from context_compression.report.page.layout import LISTED, Drawn, Layout, layout_of, thinned
from context_compression.report.page.markup import Markup, data, element, local_time
from context_compression.report.page.picture import picture
from context_compression.report.page.sections import folded, number, section, swatch, table


@dataclass(frozen=True)
class Values:
    """What is shown of a request: its place in percent from the left, texts, tokens by kind."""

    x: float
    title: str
    note: str
    sizes: list[str]


def window(report: Report) -> Markup:
    """The section with the picture, its values and its tables."""
    layout = layout_of(report)
    if layout is None:
        nothing = element("p", "No request is recorded.", class_="nothing")
        return section("window", "The window over time", nothing, compactions(report))
    note = "The tokens of each request, by kind of content. Choose a request to see its values."
    if any(mark.compaction.tokens_before for mark in report.compactions):
        note += " A bold stroke goes from the size before a compaction to the size after it."
    if report.window > layout.top:
        note += f" The window of {number(report.window)} lies far above the picture."
    return section(
        "window",
        "The window over time",
        picture(layout, report),
        _values(layout),
        data([asdict(_row(request, layout.last)) for request in layout.requests], "requests"),
        folded("The same as a table", _table(layout, report)),
        compactions(report),
        note=note,
    )


def _values(layout: Layout) -> Markup:
    """The values of a request; without the script, those of the last one."""
    last = layout.requests[-1]
    present = [any(request.sizes[at] for request in layout.requests) for at in range(len(KINDS))]
    items = [
        element(
            "li",
            swatch(kind),
            element("span", label),
            " ",
            element("b", number(last.sizes[at]), data_kind=at),
        )
        for at, (kind, label) in enumerate(KINDS.items())
        if present[at]
    ]
    row = _row(last, layout.last)
    chosen = element("p", element("b", row.title), " ", element("span", row.note), id="chosen")
    return element("div", chosen, element("ul", items, class_="legend"), class_="values")


def _row(request: Drawn, last: int) -> Values:
    """What the script shows of a request."""
    point = request.point
    title = f"Request {number(point.number)} of {number(last)}: {number(request.tokens)} tokens"
    known = point.charged is not None and point.charged != request.tokens
    charged = f"charged as {number(point.charged or 0)}" if known else ""
    before = [f"after compaction {index}" for index in request.follows[:3]]
    note = [*before, charged, local_time(point.time) or ""]
    shown = ", ".join(part for part in note if part)
    return Values(round(request.x, 2), title, shown, [number(size) for size in request.sizes])


def _table(layout: Layout, report: Report) -> Markup:
    points = thinned([each.point for each in layout.requests], report.compactions, LISTED)
    kept = {id(point) for point in points}
    rows = [each for each in layout.requests if id(each.point) in kept]
    present = [at for at in range(len(KINDS)) if any(row.sizes[at] for row in rows)]
    labels = list(KINDS.values())
    shown = table(
        f"The context in {len(rows)} of {number(len(report.points))} requests, in tokens",
        ["request", "all", *(labels[at] for at in present)],
        [
            [
                number(row.point.number),
                number(row.tokens),
                *(number(row.sizes[at]) for at in present),
            ]
            for row in rows
        ],
    )
    return element(
        "div", shown, class_="wide", tabindex="0", role="region", aria_label="Values by request"
    )
