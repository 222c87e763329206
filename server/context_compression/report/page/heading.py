"""The head of the page: which session it is, and its key numbers."""

from context_compression.display.plurals import how_many, short_number
from context_compression.hosts.titles import TITLES
from context_compression.report.model import Cost, Report
from context_compression.report.page.kinds import by_class
from context_compression.report.page.markup import Markup, Piece, element, name, span
from context_compression.report.page.sections import MOST, bar, facts, number, percent
from context_compression.transcripts.history import OURS

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
