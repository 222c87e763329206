"""The report as a page: one HTML file that needs no network and runs no code but its own.

`page/page.html` is the template of one session, `page/all.html` that of all sessions; both have one
frame, parts, style and script. They are filled from a report, whose facts `--json` has, too.

What left the context, and what came back: a list to search, and the texts side by side. The list is
in the page itself. The texts are data that the script reads when the first one is opened: a hundred
long texts would otherwise make the page slow.

Its pictures are SVG of the template. A library that draws (uPlot has 50 KB, Observable Plot 200,
Vega and Plotly over 1,000) would need JavaScript to show anything, draw on a canvas that a screen
reader or a printer cannot use, and add foreign code to a file full of private texts. With plain SVG
the page works without its script, prints sharply, follows light and dark by style alone, and the
same report always gives the same bytes.

No string of the report becomes markup: the template escapes all of them.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from context_compression.hosts.table import TITLES
from context_compression.plurals import how_many, short_number
from context_compression.report.layout import KINDS, Drawn, Layout, by_class, layout_of
from context_compression.report.model import LONGEST_TEXT, Archived, Cost, Report
from context_compression.report.text import (
    basis,
    basis_of_all,
    cleared,
    cost_in_words,
    how,
    project_in_words,
)
from context_compression.report.totals import AllSessions
from context_compression.strings import harmless, in_words
from context_compression.tokens.prices import in_dollars
from context_compression.transcripts.transcript import OURS, PROXY, Compaction

HOSTS = {**TITLES, "messages": "a file of messages", PROXY: "the proxy"}
MOST = 10**15
"""Larger numbers are damaged ones; they are shown as this one."""
SHOWN = 12
"""How many rows a list has."""
MOST_MARKS = 200
"""How many compactions are drawn and listed."""
UNFOLDED = 12
"""How many are listed without being asked for."""
MOST_ROWS = 60
"""How many weeks, projects or hosts are listed."""
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def page(report: Report) -> str:
    """The report as one HTML file, in UTF-8."""
    layout = layout_of(report)
    peak = max((sum(by_class(point.by_kind)) for point in report.points), default=report.used)
    return _template("page.html").render(
        report=report,
        layout=layout,
        rows=[_values(request, layout) for request in layout.requests] if layout else [],
        peak=peak,
        by_whom=_by_whom([mark.compaction for mark in report.compactions]),
        saving=_saving(report.cost),
    )


def page_of_all(totals: AllSessions, home: Path) -> str:
    """The totals of all sessions as one HTML file; projects below `home` begin with `~`."""
    return _template("all.html").render(report=totals, home=home)


@cache
def _template(name: str) -> Any:
    """A template with its words.

    Names are on one line, and invisible characters are spelled out, so that what is read is what is
    there.
    """
    made: Any = Environment(
        autoescape=True, finalize=_shown, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, loader=FunctionLoader(_file),
    )  # fmt: skip
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    filters = (
        amount,
        exact,
        line,
        moment,
        number,
        of,
        pieces,
        place,
        policy,
        share,
        short,
        size,
        texts,
    )
    functions = (
        basis, basis_of_all, cleared, cost_in_words, freed, how, how_many, in_dollars, percent,
    )  # fmt: skip
    made.filters |= {word.__name__: word for word in filters} | {"project": project_in_words}
    made.globals |= {word.__name__: word for word in functions} | {
        "style": _file("page.css"), "script": _file("page.js"), "hosts": HOSTS, "shown": SHOWN,
        "most_marks": MOST_MARKS, "most_rows": MOST_ROWS, "unfolded": UNFOLDED, "kinds": [*KINDS],
        "labels": [*KINDS.values()],
    }  # fmt: skip
    return made.get_template(name)


def _file(name: str) -> Markup:
    return Markup((files("context_compression.report") / "page" / name).read_text("utf-8"))


def policy(text: str) -> Markup:
    """What allows just this style or script."""
    return Markup(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")


def _shown(value: Any) -> Any:
    return value if isinstance(value, Markup) else harmless(str(value))


def line(text: str, most: int = 300) -> str:
    """A string of a conversation on one line."""
    return in_words(text[: 4 * most], most)  # a name may be a megabyte


def pieces(text: str, project: str) -> list[str]:
    """A path without its project, or a name, divided after each slash and each `__` of a tool."""
    folder = project.rstrip("/\\")
    inside = text.removeprefix(folder)
    within = folder and inside != text and inside[:1] in ("/", "\\")
    return re.split(r"(?<=[/\\])|(?<=__)", line(inside[1:] if within else text))


def moment(time: float | None) -> str | None:
    """`"12 Mar 2026, 14:03"` of this machine; `None` if the time is unknown or no time."""
    try:
        at = datetime.fromtimestamp(time if time is not None else float("nan"), UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}, {at:%H:%M}"


def exact(time: float) -> str:
    """The same time as HTML writes it."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def number(value: int | str | None) -> str:
    """`12345` -> `"12,345"`; a text stays as it is."""
    if value is None:
        return "unknown"
    return value if isinstance(value, str) else f"{max(-MOST, min(MOST, value)):,}"


def short(tokens: int) -> str:
    """`156203` -> `"156K"`."""
    return short_number(max(0, min(MOST, tokens)))


def size(of_bytes: int) -> str:
    """`2345678` -> `"2.3 MB"`."""
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if of_bytes >= step:
            return f"{of_bytes / step:,.1f} {unit}"
    return f"{number(of_bytes)} bytes"


def place(percent: float) -> str:
    """A place or a length in a picture."""
    return f"{percent:.2f}%"


def share(part: float, whole: float) -> float:
    """In percent."""
    return 100 * max(0.0, part) / whole if whole > 0 else 0.0


def percent(part: float, whole: float) -> str:
    """`(1, 3)` -> `"33 %"`, `(1, 300)` -> `"under 1 %"`; `"0 %"` of nothing."""
    of_whole = 100 * part / whole if whole > 0 else 0
    return "under 1 %" if 0 < of_whole < 0.5 else f"{of_whole:.0f} %"


def of(at: int, values: Sequence[Any]) -> Any:
    """The value at a place."""
    return values[at]


def freed(by: Compaction) -> int | None:
    """How many tokens a compaction freed; `None` if that is unknown."""
    before, after = by.tokens_before, by.tokens_after
    return None if before is None or after is None else before - after


def texts(original: Archived) -> dict[str, str]:
    """What the script shows and searches of an original."""
    cut = original.cut + max(0, len(original.original) - LONGEST_TEXT)
    return {
        "original": harmless(original.original[:LONGEST_TEXT]),
        "shown": harmless(original.shown[:LONGEST_TEXT]),
        "cut": f"{number(cut)} more characters are in the archive." if cut else "",
        "find": harmless(f"{original.ref} {original.what}"[:1_000]),
    }


def amount(value: float, cost: Cost) -> int | str:
    """Dollars, or tokens if no price is known."""
    return round(value) if cost.dollars is None else in_dollars(value)


def _values(request: Drawn, layout: Layout) -> dict[str, Any]:
    """What the script shows of a request."""
    charged = request.point.charged
    last, tokens = number(layout.last), number(request.tokens)
    called = "Now" if request.now else f"Request {number(request.number)} of {last}"
    note = [f"after compaction {index}" for index in request.follows[:3]]
    if charged is not None and charged != request.tokens:
        note.append(f"charged as {number(charged)}")
    if at := moment(request.point.time):
        note.append(at)
    return {
        "x": round(request.x, 2),
        "title": f"{called}: {tokens} tokens",
        "note": ", ".join(note),
        "sizes": [number(each) for each in request.sizes],
    }


def _by_whom(compactions: Sequence[Compaction]) -> str:
    ours = sum(each.by == OURS for each in compactions)
    by_host = len(compactions) - ours
    if not compactions:
        return "nothing was compacted"
    if not ours:
        return "by the host"
    return f"{number(ours)} by us, {number(by_host)} by the host" if by_host else f"by {OURS}"


def _saving(cost: Cost) -> tuple[str, str]:
    """What compaction saved of the cost of input, and compared with what."""
    with_us, without = cost.compared
    if without <= 0:
        return "unknown", "no request is recorded"
    change = 100 * (without - with_us) / without
    too_large = f", where {how_many(cost.impossible, 'request')} would not have fitted"
    beyond = too_large if cost.impossible and change < 0.5 else ""
    if abs(change) < 0.5:
        return "the same", f"as without compaction{beyond}"
    word = "less" if change > 0 else "more"
    return f"{abs(change):.0f} % {word}", f"than without compaction{beyond}"
