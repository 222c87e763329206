"""Pages for people: lines, facts, tables and gauges, and their layout with or without a width.

A page is a list of blocks. `laid_out` turns it into lines of styled spans: for a pipe each block as
wide as it is, for a terminal no line wider than that. Strings in a page may come from anywhere:
they are shown as they are, with control characters escaped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from context_compression.strings import (
    cells,
    harmless,
    one_line,
    padded,
    without_end,
    without_middle,
    wrapped,
)

Style: TypeAlias = Literal["", "strong", "quiet", "good", "bad", "warning", "command"]
Span: TypeAlias = tuple[str, Style]
GAP = "  "
NARROWEST = 12
"""A text column of a table is not made narrower; then the table becomes a list of records."""
SHORTEST = 8
"""The same where rows take one line."""
PROSE = 34
"""The same for a column of sentences; then they go under their rows."""
TITLE = 36
"""A title that is longer is not made narrower; then it gets a line of its own."""
LONGEST = 10_000  # characters of a line
BAR = 40
WARNING = "warning: "
TAB = "    "
NOTE = "note: "
ERROR = "Error: "


@dataclass(frozen=True)
class StyledLine:
    """One line, in one style."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Fact:
    """A text with a label before it: `target   6,000 tokens, met`."""

    label: str
    text: str
    width: int = 8
    """The least width of the label."""
    style: Style = "quiet"
    """Of the label."""


@dataclass(frozen=True)
class Table:
    """Rows of cells, each on one line if there is room.

    Attributes:
        rows: the rows, the first of them the head unless `head` is off.
        left: how many columns are flush left; the others hold numbers, which are never cut.
        flexible: the columns that may be wrapped, or shortened in the middle if their text has no
            spaces. Default: the last one that is flush left.
        prose: whether the last column holds sentences, which may go under their rows.
        head: whether the first row is a head.
        one_line: whether cells that do not fit are cut, so that every row takes one line.
        long: whether a terminal shows only as many rows as fit on a screen.
        title: the column by which a reader knows a row, cut last and at its end; where it would get
            less than `TITLE` cells, it stands behind the first cell, the others on a line below.
    """

    rows: Sequence[Sequence[str]]
    left: int = 1
    flexible: tuple[int, ...] | None = None
    prose: bool = False
    head: bool = True
    one_line: bool = False
    long: bool = False
    title: int | None = None


@dataclass(frozen=True)
class Gauge:
    """How full something is, as a bar and in percent."""

    percent: float
    style: Style = ""


Block: TypeAlias = str | StyledLine | Fact | Table | Gauge
Page: TypeAlias = Sequence[Block]


def as_text(page: Page) -> str:
    """A page as plain text, as wide as it is."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in laid_out(page))


def laid_out(
    page: Page, width: int | None = None, height: int | None = None
) -> Iterator[list[Span]]:
    """The lines of a page, none of them wider than `width` cells."""
    for block in page:
        match block:
            case str():
                for line in harmless(block).split("\n"):
                    yield from _line(StyledLine(line, _style_of(line)), width)
            case StyledLine():
                yield from _line(block, width)
            case Fact():
                yield from _fact(block, width)
            case Gauge():
                yield _gauge(block, width)
            case Table():
                yield from _table(block, width, height)


def _style_of(line: str) -> Style:
    if line.startswith(ERROR):
        return "bad"
    return "warning" if line.startswith((WARNING, NOTE)) else ""


def _line(line: StyledLine, width: int | None) -> Iterator[list[Span]]:
    text = harmless(line.text).replace("\n", " ")
    text = text if width is None else text.replace("\t", TAB)
    copied = line.style == "command"  # to be copied in one piece
    for part in [text] if width is None or copied else wrapped(text, width):
        yield [(part, line.style)]


def _fact(fact: Fact, width: int | None) -> Iterator[list[Span]]:
    label, text = padded(one_line(fact.label), fact.width), one_line(fact.text, LONGEST)
    if width is not None and cells(label) > width // 2:
        yield from _line(StyledLine(f"{label} {text}", fact.style), width)
        return
    room = None if width is None else width - cells(label) - 1
    for number, part in enumerate([text] if room is None else wrapped(text, room)):
        start = label if number == 0 else " " * cells(label)
        yield [(f"{start} ", fact.style), (part, "")]


def _gauge(gauge: Gauge, width: int | None) -> list[Span]:
    size = BAR if width is None else max(4, min(BAR, width - 10))
    filled = min(size, round(size * gauge.percent / 100))
    return [
        ("[", ""),
        ("█" * filled, gauge.style),
        ("·" * (size - filled), "quiet"),
        (f"] {round(gauge.percent, 1):g}%", ""),
    ]


def _table(table: Table, width: int | None, height: int | None) -> Iterator[list[Span]]:
    rows = [[*map(one_line, row)] for row in table.rows]
    if not rows:
        return
    more = 0
    if table.long and width is not None and height is not None:
        shown = max(5, height - 8)
        more = max(0, len(rows) - shown)
        rows = rows[: len(rows) - more]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    styles: list[Style] = ["" for _ in rows]
    if table.head:
        styles[0] = "strong"
    over = 0 if width is None else sum(widths) + len(GAP) * (len(widths) - 1) - width
    if over <= 0:
        yield from _rows(rows, widths, table, styles)
    elif width is not None and table.prose and widths[-1] - over < PROSE:
        yield from _prose_under(rows, width, table)
    elif width is not None:
        narrow = _narrowed(widths, over, table)
        at = table.title
        if at is not None and (narrow is None or narrow[at] < min(TITLE, widths[at])):
            yield from _titled(rows, width, table, at)
        elif narrow:
            yield from _rows(rows, narrow, table, styles)
        else:
            yield from _records(rows, width, table)
    if more:
        yield [(f"… and {more:,} more; `| less` shows all", "quiet")]


def _narrowed(widths: Sequence[int], over: int, table: Table) -> list[int] | None:
    """Widths that are smaller by `over` together, the widest flexible column first, or `None`."""
    narrow = [*widths]
    flexible = (table.left - 1,) if table.flexible is None else table.flexible
    for _ in range(over):
        spare = {at: narrow[at] - TITLE // 2 * (at == table.title) for at in flexible}
        widest = max(spare, key=spare.__getitem__, default=None)
        if widest is None or narrow[widest] <= (SHORTEST if table.one_line else NARROWEST):
            return None
        narrow[widest] -= 1
    return narrow


def _titled(
    rows: Sequence[Sequence[str]], width: int, table: Table, title: int
) -> Iterator[list[Span]]:
    """Each row on two lines: its first cell and its title, then the other cells as a table.

    Where even these have no room, their head is left out.
    """
    edge = max(cells(row[0]) for row in rows)
    room = width - edge - len(GAP)
    others = [at for at in range(1, len(rows[0])) if at != title]
    flexible = tuple(others.index(at) for at in table.flexible or () if at in others)
    below = Table(
        [[row[at] for at in others] for row in rows],
        left=sum(at < table.left for at in others),
        flexible=flexible,
        one_line=True,
    )
    for start in range(1 + table.head) if room >= SHORTEST else ():
        cut = below.rows[start:]
        widths = [max(map(cells, column)) for column in zip(*cut, strict=True)]
        over = sum(widths) + len(GAP) * (len(widths) - 1) - room
        if narrow := _narrowed(widths, over, below):
            styles: list[Style] = ["quiet" for _ in cut]
            lines = _rows(cut, narrow, below, styles)
            for row, spans in zip(rows[start:], lines, strict=True):
                name = f"{padded(row[0], edge)}{GAP}{without_end(row[title], room)}"
                head = table.head and row is rows[0]
                yield [(name, "quiet" if head else "strong")]
                yield [(" " * (edge + len(GAP)), ""), *spans]
            return
    yield from _records(rows, width, table)


def _rows(
    rows: Sequence[Sequence[str]], widths: Sequence[int], table: Table, styles: Sequence[Style]
) -> Iterator[list[Span]]:
    for row, style in zip(rows, styles, strict=True):
        cut = [_fitted(*each, table, at) for at, each in enumerate(zip(row, widths, strict=True))]
        for number in range(max(map(len, cut))):
            parts = [lines[number] if number < len(lines) else "" for lines in cut]
            line = GAP.join(
                padded(part, width, right=at >= table.left)
                for at, (part, width) in enumerate(zip(parts, widths, strict=True))
            )
            yield [(line.rstrip(), style)]


def _fitted(cell: str, width: int, table: Table, at: int) -> list[str]:
    """The lines of a cell: sentences are wrapped, a path or a name is shortened in the middle."""
    if cells(cell) <= width:
        return [cell]
    if at == table.title or (table.one_line and " " in cell):
        return [without_end(cell, width)]
    return wrapped(cell, width) if " " in cell else [without_middle(cell, width)]


def _prose_under(rows: Sequence[Sequence[str]], width: int, table: Table) -> Iterator[list[Span]]:
    """Rows without their last cell, which stands under each; there is no head."""
    body = rows[1:] if table.head else rows
    short = [row[:-1] for row in body]
    widths = [max(map(cells, column)) for column in zip(*short, strict=True)]
    for row, whole in zip(short, body, strict=True):
        padded_cells = GAP.join(map(padded, row, widths)).rstrip()
        line = padded_cells if cells(padded_cells) <= width else GAP.join(filter(None, row))
        for part in wrapped(line, width):
            yield [(part, "strong")]
        for part in wrapped(f"    {whole[-1]}", width) if whole[-1] else ():
            yield [(part, "quiet")]


def _records(rows: Sequence[Sequence[str]], width: int, table: Table) -> Iterator[list[Span]]:
    """Each row as a record of several lines, for a terminal that is too narrow for the table."""
    head, body = (rows[0], rows[1:]) if table.head else ([""] * len(rows[0]), rows)
    names = [without_end(name, width // 2 - len(GAP)) for name in head[1:]]
    label = max(map(cells, names), default=0)
    for row in body:
        for part in wrapped(row[0], width):
            yield [(part, "strong")]
        for name, cell in zip(names, row[1:], strict=True):
            if cell:
                start = f"  {padded(name, label)}{GAP if label else ''}"
                for number, part in enumerate(wrapped(cell, max(NARROWEST, width - cells(start)))):
                    yield [(start if number == 0 else " " * cells(start), "quiet"), (part, "")]
