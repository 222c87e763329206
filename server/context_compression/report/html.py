"""The report as a page: one HTML file that needs no network and runs no code but its own.

What left the context, and what came back: a list to search, and the texts side by side. The list is
in the page itself. The texts are data that the script reads when the first one is opened: a hundred
long texts would otherwise make the page slow.

Its pictures are SVG that we write ourselves, in Python. A library that draws (uPlot has 50 KB,
Observable Plot 200, Vega and Plotly over 1,000) would save little: the page has one picture with
areas, and bars. A library would also need JavaScript to show anything, draw on a canvas that a
screen reader or a printer cannot use, and add foreign code to a file full of private texts. With
plain SVG the page works without its script, prints sharply, follows light and dark by style alone,
and the same report always gives the same bytes.

No string of the report becomes markup: `markup` escapes all of them, and the page's policy
(CSP) allows nothing but its one style and its one script, each by its hash.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.resources import files

from context_compression.plurals import how_many
from context_compression.report.markup import (
    Markup,
    Piece,
    bar,
    data,
    element,
    facts,
    joined,
    moment,
    name,
    number,
    path,
    percent,
    section,
    swatch,
    table,
)
from context_compression.report.model import (
    LONGEST_TEXT,
    Archived,
    Consumer,
    Cost,
    Repeated,
    Report,
)
from context_compression.report.picture import heading, key_numbers, title_of, window
from context_compression.strings import harmless

EVIDENCE_IS = {"kept": "in the context", "archived": "can be restored", "lost": "in neither"}
MILLION = 1_000_000


def money(report: Report) -> Markup:
    """The section of costs, with and without compaction."""
    cost = report.cost
    if not cost.requests:
        nothing = element("p", "No request is recorded.", class_="nothing")
        return section("money", "Money, with and without", nothing)
    source = "what the provider charged" if cost.measured else "estimated token counts"
    note = (
        f"All input of {how_many(cost.requests, 'request')}, in tokens at the price of plain "
        f"input: a cache write counts 1.25, a cache read 0.1. From {source}. “Without” is the "
        "same session if nothing had left the context, each request counted up to the window."
    )
    most = max(cost.with_us, cost.without)
    priced = cost.input_price is not None
    rows = [
        [joined(label, bar([(kind, tokens)], most)), number(tokens), *_dollars(cost, tokens)]
        for label, kind, tokens in (
            ("with compaction, as it was", "kept", cost.with_us),
            ("without any compaction", "again", cost.without),
        )
    ]
    columns = ["input", "weighted tokens", *(["US dollars"] if priced else [])]
    shown = table("Cost of the input", columns, rows, class_="bars")
    pieces = [shown, element("p", _verdict(cost), class_="verdict")]
    return section("money", "Money, with and without", *pieces, note=note)


def _dollars(cost: Cost, tokens: int) -> list[str]:
    if cost.input_price is None:
        return []
    answers = cost.output * (cost.output_price or 0) / MILLION
    return [f"{tokens * cost.input_price / MILLION + answers:,.2f}"]


def _verdict(cost: Cost) -> str:
    saved = cost.without - cost.with_us
    if saved > 0:
        first = f"The input cost {percent(saved, cost.without)} less than without compaction."
    elif saved < 0:
        first = f"The input cost {percent(-saved, cost.without)} more than without compaction."
        first += " A request after a compaction writes its context into the cache anew."
    else:
        first = "Compaction changed nothing in the cost."
    if not cost.impossible:
        return first
    would = how_many(cost.impossible, "request")
    return f"{first} Without it, {would} would not have fitted the window."


def evidence(report: Report) -> Markup:
    """The section of evidence by class."""
    note = (
        "Pieces that later work may need, found by code: is each still in the context, only in the "
        "archive, or in neither? What is in neither may still be in the host's own file."
    )
    title = "Evidence"
    if not any(row.total for row in report.evidence):
        return section("evidence", title, element("p", "None was found.", class_="nothing"))
    legend = element(
        "ul",
        (
            element("li", swatch(kind), element("span", label))
            for kind, label in EVIDENCE_IS.items()
        ),
        class_="legend",
    )
    rows = [
        [
            joined(
                name(row.name),
                bar(
                    [("kept", row.in_context), ("archived", row.restorable), ("lost", row.lost)],
                    max(row.total, row.in_context + row.restorable + row.lost),
                ),
            ),
            number(row.total), number(row.in_context), number(row.restorable), number(row.lost),
        ]
        for row in report.evidence
        if row.total
    ]  # fmt: skip
    columns = ["class", "all", *EVIDENCE_IS.values()]
    shown = table("Evidence by class", columns, rows, class_="bars")
    return section("evidence", title, legend, shown, note=note)


def store(report: Report) -> Markup:
    """The section of the store's health."""
    health = report.store
    title = "The store"
    folder = [("Folder", name(health.folder))] if health.folder else []
    if not health.refs and not health.problems:
        nothing = element("p", "It keeps nothing of this session.", class_="nothing")
        return section("store", title, nothing, facts(folder))
    proven = health.proven >= health.refs
    fine = f"All {how_many(health.refs, 'original')} were read back and match their SHA-256."
    some = f"{number(health.proven)} of {how_many(health.refs, 'original')} match their SHA-256."
    well = proven and not health.problems
    state = element("p", fine if proven else some, class_="state good" if well else "state bad")
    problems = element("ul", (element("li", name(text)) for text in health.problems))
    return section(
        "store",
        title,
        state,
        problems if health.problems else "",
        facts([*folder, ("Size", _size(health.bytes))]),
    )


def warnings(report: Report) -> Markup:
    """The section of what could not be read; nothing if all could."""
    if not report.warnings:
        return Markup("")
    texts = element("ul", (element("li", name(text)) for text in report.warnings))
    return section("warnings", "Warnings", texts)


def _size(size: int) -> str:
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= step:
            return f"{size / step:,.1f} {unit}"
    return f"{number(size)} bytes"


SHOWN = 12
"""How many rows a list has."""


def consumers(report: Report) -> Markup:
    """The section of tools and files."""
    note = "Calls and results over the whole session, each counted once, in tokens."
    within = _inside(report.project)
    tools = _list("By tool", "tool", report.by_tool, str, "No tool was called.")
    files = _list("By file", "file", report.by_file, within, "No file was read or written.")
    return section(
        "consumers", "Largest consumers", element("div", tools, files, class_="two"), note=note
    )


def again(report: Report) -> Markup:
    """The section of what was read again and again."""
    note = (
        "Files, commands and searches whose result came more than once, by the tokens of lines "
        "that had come before."
    )
    if not report.repeated:
        nothing = element("p", "Nothing came twice.", class_="nothing")
        return section("again", "Read again and again", nothing)
    rows = report.repeated[:SHOWN]
    most = max(row.again for row in rows)
    within = _inside(report.project)
    shown = table(
        "What came more than once",
        ["file, command or search", "times", "tokens of all", "came again"],
        [[_repeated(row, most, within), number(row.times), number(row.tokens), number(row.again)]
         for row in rows],
        class_="bars",
    )  # fmt: skip
    return section("again", "Read again and again", shown, _left_out(report.repeated), note=note)


def _list(
    title: str, column: str, items: Sequence[Consumer], within: Callable[[str], str], nothing: str
) -> Markup:
    heading = element("h3", title)
    if not items:
        return element("div", heading, element("p", nothing, class_="nothing"))
    rows = items[:SHOWN]
    most = max(item.tokens for item in rows)
    shown = table(
        f"Largest consumers: {title.lower()}",
        [column, "tokens", "calls", "largest"],
        [
            [
                joined(path(within(item.name)), bar([("results", item.tokens)], most)),
                number(item.tokens), number(item.calls), number(item.largest),
            ]
            for item in rows
        ],
        class_="bars",
    )  # fmt: skip
    return element("div", heading, shown, _left_out(items))


def _repeated(row: Repeated, most: int, within: Callable[[str], str]) -> Markup:
    return joined(path(within(row.name)), bar([("again", row.again)], most))


def _left_out(items: Sequence[object]) -> list[Markup]:
    more = len(items) - SHOWN
    text = f"{how_many(more, 'smaller one')} {'is' if more == 1 else 'are'} not shown."
    return [element("p", text, class_="note")] if more > 0 else []


def _inside(project: str) -> Callable[[str], str]:
    """A path without the project's folder in front of it."""
    folder = project.rstrip("/\\")

    def shown(path: str) -> str:
        inside = path.removeprefix(folder)
        return inside[1:] if folder and inside != path and inside[:1] in ("/", "\\") else path

    return shown


SORTS = {"tokens": "largest first", "time": "newest first", "restored": "most restored first"}


def originals(report: Report) -> Markup:
    """The section of archived originals."""
    if not report.archived:
        nothing = element("p", "Nothing left the context for the archive.", class_="nothing")
        return section("originals", "What left, and what came back", nothing)
    listed, total = len(report.archived), report.archived_total
    which = "" if listed >= total else f" These are the largest {listed} of {number(total)}."
    note = (
        "Each original is in the archive, word for word. Open one to see it beside what the model "
        f"sees in its place.{which}"
    )
    without = (
        "The texts are shown by the page's script. `context-compression restore REF` prints one."
    )
    items = [_item(index, original) for index, original in enumerate(report.archived)]
    return section(
        "originals",
        "What left, and what came back",
        _controls(listed),
        element("noscript", element("p", without, class_="note")),
        element("ul", items, id="refs", class_="refs"),
        element("button", "", type="button", id="more", hidden=True),
        element("p", "No original has these words.", class_="nothing", id="none", hidden=True),
        data([_texts(original) for original in report.archived], "texts"),
        note=note,
    )


def _controls(listed: int) -> Markup:
    """The search; the script shows it."""
    search = element("input", type="search", id="words", autocomplete="off", spellcheck="false")
    came_back = element("input", type="checkbox", id="restored")
    order = element(
        "select", (element("option", text, value=key) for key, text in SORTS.items()), id="order"
    )
    found = element("p", f"{listed} of {listed}", id="found", role="status")
    return element(
        "form",
        element("label", element("span", "Search refs and texts"), search, class_="search"),
        element("label", element("span", "Order"), order),
        element("label", came_back, " restored only", class_="tick"),
        found,
        id="controls",
        hidden=True,
        role="search",
        aria_label="Archived originals",
    )


def _item(index: int, original: Archived) -> Markup:
    restored = original.restored
    times = "restored once" if restored == 1 else f"restored {number(restored)} times"
    badge = [element("span", times, class_="badge")] if restored else []
    parts: list[Piece] = [f"{number(original.tokens)} tokens"]
    at = moment(original.time)
    parts += [" · ", at] if at else []
    button = element(
        "button",
        element("code", name(original.ref)),
        element("span", name(original.what), class_="what"),
        badge,
        element("span", joined(*parts), class_="size"),
        type="button",
        aria_expanded="false",
        aria_controls=f"text-{index}",
    )
    return element(
        "li",
        element("h3", button),
        element("div", id=f"text-{index}", class_="texts", hidden=True),
        data_index=index,
        data_tokens=original.tokens,
        data_time=original.time or 0,
        data_restored=restored,
    )


def _texts(original: Archived) -> dict[str, object]:
    """Both texts, with invisible characters spelled out, so that what is read is what is there."""
    cut = original.cut + max(0, len(original.original) - LONGEST_TEXT)
    return {
        "original": harmless(original.original[:LONGEST_TEXT]),
        "shown": harmless(original.shown[:LONGEST_TEXT]),
        "cut": f"{number(cut)} more characters are in the archive." if cut else "",
        "find": harmless(f"{original.ref} {original.what}"[:1_000]),
    }


PARTS = {
    "window": "Window", "consumers": "Consumers", "again": "Again and again",
    "originals": "What left", "money": "Money", "evidence": "Evidence", "store": "Store",
}  # fmt: skip


def page(report: Report) -> str:
    """The report as one HTML file, in UTF-8."""
    parts = PARTS | ({"warnings": "Warnings"} if report.warnings else {})
    links = [element("li", element("a", label, href=f"#{key}")) for key, label in parts.items()]
    main = element(
        "main",
        key_numbers(report),
        window(report),
        consumers(report),
        again(report),
        originals(report),
        money(report),
        element("div", evidence(report), store(report), class_="two"),
        warnings(report),
        id="main",
    )
    footer = (
        "Made by context-compression on this machine. The page loads nothing from the network. It "
        "holds texts of the conversation, so think before you pass it on."
    )
    body = element(
        "body",
        element("a", "Skip to the report", href="#main", class_="skip"),
        heading(report),
        element("nav", element("ul", links), aria_label="Parts of the report"),
        main,
        element("footer", element("p", footer)),
        element("script", _file("page.js")),
    )
    return f"<!doctype html>\n{element('html', _head(report), body, lang='en')}\n"


def _head(report: Report) -> Markup:
    style, script = _file("page.css"), _file("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{title_of(report)[:120]} · context-compression"),
        element("style", style),
    )


def _file(name: str) -> Markup:
    return Markup((files("context_compression.report") / "page" / name).read_text("utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
