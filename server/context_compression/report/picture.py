"""The head of the page, and the window over time: a picture, requests, compactions.

Areas are drawn in a square that stretches. Lines and words lie over it in percent of its width and
height, so that strokes and letters keep their size on a phone and on a wide screen.
"""

from dataclasses import asdict, dataclass

from context_compression.hosts.table import TITLES
from context_compression.plurals import how_many, short_number
from context_compression.report.markup import (
    KINDS,
    LISTED,
    MOST,
    Drawn,
    Layout,
    Markup,
    Piece,
    bar,
    by_class,
    data,
    element,
    facts,
    folded,
    joined,
    layout_of,
    local_time,
    moment,
    name,
    number,
    percent,
    section,
    span,
    swatch,
    table,
    thinned,
    ticks,
)
from context_compression.report.model import CompactionMark, Cost, Report
from context_compression.transcripts.transcript import OURS

HOSTS = {**TITLES, "messages": "a file of messages"}


LONGEST_TITLE = 160
"""How many characters of a title are shown; some are the whole first message."""


def heading(report: Report) -> Markup:
    """The title, and what is known of the session. What is unknown is left out."""
    pairs: list[tuple[str, Piece | None]] = [
        ("Project", name(report.project) if report.project else None),
        ("Host", name(HOSTS.get(report.host, report.host)) if report.host else None),
        ("Model", name(report.model) if report.model else None),
        ("Time", span(report.began, report.ended)),
        ("Messages", number(report.messages)),
        ("Session", name(report.session) if report.session else None),
    ]
    long = len(title_of(report)) > 60
    known = [(key, value) for key, value in pairs if value]
    return element(
        "header",
        element("p", "Report of a session", class_="kicker"),
        element("h1", name(title_of(report), LONGEST_TITLE), class_="long" if long else None),
        facts(known, "about"),
    )


def title_of(report: Report) -> str:
    """The session's title, or something in its place."""
    return report.title.strip() or "A session without a title"


def key_numbers(report: Report) -> Markup:
    """The numbers that say how the session stands."""
    peak = max((sum(by_class(point.by_kind)) for point in report.points), default=report.used)
    tiles = [
        _tile(
            "In the context now",
            short(report.used),
            f"{percent(report.used, report.window)} of {short(report.window)}",
            bar([("results", report.used)], max(report.window, report.used)),
        ),
        _tile(
            "Largest request",
            short(peak),
            f"{percent(peak, report.window)} of the window",
            bar([("results", peak)], max(report.window, peak)),
        ),
        _tile("Compactions", number(len(report.compactions)), _by_whom(report)),
        _tile(
            "Archived",
            number(report.archived_total),
            f"originals, {short(report.archived_tokens)} tokens"
            if report.archived_tokens
            else "originals",
        ),
        _tile("Restored", number(report.archived_restored), "originals that came back"),
        _saving(report.cost),
    ]
    title = element("h2", "Key numbers", class_="unseen", id="numbers-title")
    tiles_ = element("dl", tiles, class_="tiles")
    return element("section", title, tiles_, id="numbers", aria_labelledby="numbers-title")


def short(tokens: int) -> str:
    """`156203` -> `"156K"`."""
    return short_number(max(0, min(MOST, tokens)))


def _tile(label: str, value: str, note: str, picture: Markup | None = None) -> Markup:
    below = element("dd", note, class_="beside")
    shown = element("dd", value, class_="value")
    drawn = [element("dd", picture, class_="drawn")] if picture else []
    return element("div", element("dt", label), shown, below, *drawn)


def _by_whom(report: Report) -> str:
    ours = sum(mark.compaction.by == OURS for mark in report.compactions)
    by_host = len(report.compactions) - ours
    if not report.compactions:
        return "nothing was compacted"
    if not ours:
        return "by the host"
    return f"{number(ours)} by us, {number(by_host)} by the host" if by_host else f"by {OURS}"


def _saving(cost: Cost) -> Markup:
    label = "Cost of input"
    if cost.without <= 0:
        return _tile(label, "unknown", "no request is recorded")
    change = 100 * (cost.without - cost.with_us) / cost.without
    too_large = f", where {how_many(cost.impossible, 'request')} would not have fitted"
    beyond = too_large if cost.impossible and change < 0.5 else ""
    if abs(change) < 0.5:
        return _tile(label, "the same", f"as without compaction{beyond}")
    word = "less" if change > 0 else "more"
    return _tile(label, f"{abs(change):.0f} % {word}", f"than without compaction{beyond}")


MOST_MARKS = 200
"""How many compactions are drawn and listed."""
UNFOLDED = 12
"""How many are listed without being asked for."""


def compactions(report: Report) -> Markup:
    """The compactions, numbered as in the picture."""
    if not report.compactions:
        return element("p", "There was no compaction.", class_="nothing")
    rows = [
        _compaction(index, mark) for index, mark in enumerate(report.compactions[:MOST_MARKS], 1)
    ]
    shown = table("Compactions", ["compaction", "before", "after", "freed"], rows)
    all_ = len(report.compactions)
    if all_ <= UNFOLDED:
        return joined(element("h3", "Compactions"), shown)
    which = f"All {all_}" if all_ <= MOST_MARKS else f"The first {MOST_MARKS} of {number(all_)}"
    return folded(f"{which} compactions", shown)


def _compaction(index: int, mark: CompactionMark) -> list[Piece]:
    compaction = mark.compaction
    before, after = compaction.tokens_before, compaction.tokens_after
    freed = None if before is None or after is None else before - after
    by = HOSTS.get(compaction.by, compaction.by)
    cause = ", ".join(part for part in (by, compaction.trigger) if part)
    parts = [moment(compaction.time), name(cause), f"after request {number(mark.after)}"]
    shown = [element("span", part) for part in parts if part]
    return [
        element("div", element("b", str(index), class_="mark"), *shown, class_="compacted"),
        *("unknown" if size is None else number(size) for size in (before, after, freed)),
    ]


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
