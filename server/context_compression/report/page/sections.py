"""What the sections of the page are made of: headings, tables, bars."""

from collections.abc import Iterable, Sequence

from context_compression.report.page.markup import Markup, Piece, element

MOST = 10**15
"""Larger numbers are damaged ones; they are shown as this one."""


def section(key: str, title: str, *pieces: Piece, note: str = "") -> Markup:
    """A section with its heading, and a sentence that explains it."""
    about = [element("p", note, class_="note")] if note else []
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, about, *pieces, id=key, aria_labelledby=f"{key}-title")


def number(value: int) -> str:
    """`12345` -> `"12,345"`."""
    return f"{max(-MOST, min(MOST, value)):,}"


def percent(part: float, whole: float) -> str:
    """`(1, 3)` -> `"33 %"`, `(1, 300)` -> `"under 1 %"`; `"0 %"` of nothing."""
    share = 100 * part / whole if whole > 0 else 0
    return "under 1 %" if 0 < share < 0.5 else f"{share:.0f} %"


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Piece]],
    *,
    keys: Sequence[str] = (),
    class_: str = "",
) -> Markup:
    """A table whose first column names its rows; all other columns are numbers.

    Args:
        caption: what the table shows, for those who do not see the heading above it.
        columns: their headings.
        rows: a cell for each column.
        keys: an id for each row, if other parts of the page point to it.
        class_: how it looks.
    """
    first, *others = columns
    headings = [
        element("th", first, scope="col"),
        *(element("th", text, scope="col", class_="number") for text in others),
    ]
    body = [
        element(
            "tr",
            element("th", cells[0], scope="row"),
            *(element("td", cell, class_="number") for cell in cells[1:]),
            id=keys[index] if keys else None,
        )
        for index, cells in enumerate(rows)
    ]
    return element(
        "table",
        element("caption", caption, class_="unseen"),
        element("thead", element("tr", headings)),
        element("tbody", body),
        class_=class_ or None,
    )


def bar(parts: Sequence[tuple[str, float]], whole: float) -> Markup:
    """A bar of parts, each with the class of its colour. The numbers beside it say the same."""
    pieces: list[Markup] = []
    at = 0.0
    for kind, size in parts:
        width = 100 * max(0.0, size) / whole if whole > 0 else 0.0
        if width > 0:
            pieces.append(
                element(
                    "rect",
                    x=f"{at:.2f}%",
                    width=f"{max(width, 0.3):.2f}%",
                    height="100%",
                    class_=kind,
                )
            )
        at += width
    return element("svg", pieces, class_="bar", aria_hidden="true", focusable="false")


def swatch(kind: str) -> Markup:
    """A small square of a kind's colour."""
    square = element("rect", width="100%", height="100%", class_=kind)
    return element("svg", square, class_="swatch", aria_hidden="true", focusable="false")


def facts(pairs: Iterable[tuple[str, Piece]], class_: str = "facts") -> Markup:
    """Names with their values."""
    groups = [element("div", element("dt", key), element("dd", value)) for key, value in pairs]
    return element("dl", groups, class_=class_)


def folded(summary: str, *pieces: Piece) -> Markup:
    """What is shown when it is asked for, and on paper."""
    return element("details", element("summary", summary), *pieces, class_="folded")
