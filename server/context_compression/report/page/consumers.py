"""The largest consumers by tool and by file, and what came again and again."""

from collections.abc import Callable, Sequence

from context_compression.display.plurals import how_many
from context_compression.report.model import Consumer, Repeated, Report
from context_compression.report.page.markup import Markup, element, joined, path
from context_compression.report.page.sections import bar, number, section, table

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
