"""What left the context, and what came back: a list to search, and the texts side by side.

The list is in the page itself. The texts are data that the script reads when the first one is
opened: a hundred long texts would otherwise make the page slow.
"""

from context_compression.display.strings import harmless
from context_compression.report.model import LONGEST_TEXT, Archived, Report
from context_compression.report.page.markup import (
    Markup,
    Piece,
    data,
    element,
    joined,
    moment,
    name,
)
from context_compression.report.page.sections import number, section

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
