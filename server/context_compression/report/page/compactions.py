"""The compactions, numbered as in the picture of the window."""

from context_compression.report.model import CompactionMark, Report
from context_compression.report.page.heading import HOSTS
from context_compression.report.page.markup import Markup, Piece, element, joined, moment, name
from context_compression.report.page.sections import folded, number, table

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
