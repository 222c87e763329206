"""What the session cost with and without compaction, its evidence, its store, and warnings."""

from context_compression.display.plurals import how_many
from context_compression.report.model import Cost, Report
from context_compression.report.page.markup import Markup, element, joined, name
from context_compression.report.page.sections import (
    bar,
    facts,
    number,
    percent,
    section,
    swatch,
    table,
)

PARTS = {"kept": "in the context", "archived": "can be restored", "lost": "in neither"}
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
        (element("li", swatch(kind), element("span", label)) for kind, label in PARTS.items()),
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
    columns = ["class", "all", *PARTS.values()]
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
