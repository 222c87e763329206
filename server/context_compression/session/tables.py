"""Tables in a text as rows with names: CSV and TSV, Markdown and boxes, and aligned columns.

A table begins with a line that has the wanted names. Its rows have the names of that line:

    NAME    READY   STATUS
    web-1   1/1     Running        -> {"NAME": "web-1", "READY": "1/1", "STATUS": "Running"}
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, takewhile

Cells = list[str]
Contains = Callable[[str], bool]
"""Whether a name is there."""

SEPARATORS = ("\t", ",", ";", "|")
BARS = re.compile(r"(?<!\\)\||[│┃║]")
"""What stands between the cells of a table with bars; `\\|` is a bar in a cell."""
RULE = frozenset("-+|:= \t─━═│┃║┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬┡┩╇╞╡╪╭╮╰╯┠┨╂")
"""What a line between the rows of a table consists of."""
DASHES = frozenset("-=─━═")
GAP = re.compile(r"(?: {2,}|\t)[ \t]*+")
NEAR = 12
"""Lines in which the names of columns are looked for, for an error."""
ROWS = 100
"""Lines between two looks at the clock."""
TRIED = 20
"""How many lines are tried that may begin a table."""


@dataclass(frozen=True)
class Row:
    """The cells of a row by the name of their column, and the number of its line."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True)
class TextTable:
    """Rows under a line with the names of the columns."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]


def table_in(
    text: str, fits: Callable[[Contains], bool], check_time: Callable[[], None]
) -> TextTable | None:
    """The first table whose header fits, and further ones with the same; `None` if there is none.

    Args:
        text: may have other lines before a table and behind it.
        fits: whether a header is the wanted one, by the names that it contains.
        check_time: raises an error if there is no time left.
    """
    lines = text.split("\n")
    found: TextTable | None = None
    start = tried = 0

    def is_wanted(header: Cells) -> bool:
        held = {name.casefold() for name in header}
        return fits(lambda name: name.casefold() in held)

    while start < len(lines) and tried < TRIED:
        lowered = lines[start].casefold()
        if fits(lambda name, lowered=lowered: name.casefold() in lowered):
            table = next(_tables_at(_Lines(lines, start, is_wanted, check_time)), None)
            if table is None:
                tried += 1
            elif found is None:
                found = table
            elif table.header == found.header:
                found = TextTable(found.header, found.rows + table.rows)
            start = table.rows[-1].line - 1 if table else start  # the next line begins behind it
        start += 1
    return found


def header_of(text: str) -> tuple[str, ...]:
    """The names of the columns if a text begins with a table of several rows; else none."""
    lines = text.split("\n", NEAR)[:NEAR]
    several = (_Lines(lines, start, lambda header: len(header) > 1) for start in range(NEAR // 2))
    tables = (table for each in several for table in _tables_at(each))
    headers = [table.header for table in tables if len(table.rows) > 1]
    return max(headers, key=len) if headers else ()


@dataclass(frozen=True)
class _Lines:
    """The lines of a text, from a header on that may begin a table."""

    lines: Sequence[str]
    start: int
    is_wanted: Callable[[Cells], bool]
    check_time: Callable[[], None] = lambda: None

    @property
    def head(self) -> str:
        return self.lines[self.start] if self.start < len(self.lines) else ""

    def below(self, first: int = 1) -> Iterator[tuple[int, str]]:
        """The following lines, each with its distance to the header."""
        for at in range(first, len(self.lines) - self.start):
            if not at % ROWS:
                self.check_time()
            yield at, self.lines[self.start + at]


Reading = tuple[Cells, Iterable[tuple[int, Cells]]]
"""The names of the columns, and the cells of each row with its distance to the header in lines."""


def _tables_at(lines: _Lines) -> Iterator[TextTable]:
    """The table that begins here in all ways to read it that have rows, the surest first."""
    for read in (_with_bars, _separated, _aligned):
        for header, rows in read(lines):
            with suppress(csv.Error):
                numbered = ((lines.start + 1 + at, cells) for at, cells in rows)
                if named := tuple(_named(header, numbered)):
                    yield TextTable(tuple(header), named)


def _named(header: Cells, rows: Iterable[tuple[int, Cells]]) -> Iterator[Row]:
    for line, cells in rows:
        missing = len(header) - len(cells)
        filled = [*cells, *[""] * missing] if missing > 0 else cells
        yield Row(line, dict(zip(header, filled, strict=False)))


def _with_bars(lines: _Lines) -> Iterator[Reading]:
    """A table of Markdown, of `psql` or `mysql`, or in a box: a rule follows the header."""
    header = _between_bars(lines.head)
    _, rule = next(lines.below(), (1, ""))
    if len(header) == 1 and not BARS.match(lines.head.strip()):
        return
    if _is_rule(rule) and not DASHES.isdisjoint(rule) and lines.is_wanted(header):
        yield header, _rows_between_bars(lines)


def _rows_between_bars(lines: _Lines) -> Iterator[tuple[int, Cells]]:
    for at, line in lines.below(2):
        if not (_is_rule(line) and line.strip()):
            if not BARS.search(line):
                break
            yield at, _between_bars(line)


def _between_bars(line: str) -> Cells:
    cells = BARS.split(line.strip())
    if len(cells) > 1 and not cells[0]:
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1]:
        cells = cells[:-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _is_rule(line: str) -> bool:
    return RULE.issuperset(line)


def _separated(lines: _Lines) -> Iterator[Reading]:
    """Values with a separator, as the module `csv` reads them."""
    is_first = not any(map(str.strip, lines.lines[: lines.start]))
    for sign in SEPARATORS:
        if sign in lines.head or (sign == "," and is_first):
            spaced = f"{sign} " in lines.head and sign != "\t"
            texts = (f"{line}\n" for _, line in lines.below(0))
            reader = csv.reader(texts, delimiter=sign, skipinitialspace=spaced)
            with suppress(csv.Error, StopIteration):
                header = [name.strip().removeprefix("\ufeff") for name in next(reader)]
                if lines.is_wanted(header):
                    rows = ((reader.line_num - 1, cells) for cells in reader if cells)
                    first = next(rows)
                    if len(first[1]) == len(header):
                        yield header, chain([first], rows)


def _aligned(lines: _Lines) -> Iterator[Reading]:
    """Columns that stand below one another, as `ps`, `df` and `kubectl get` print them.

    The table ends at an empty line.
    """
    head = lines.head.rstrip().expandtabs()
    if not head.strip():
        return
    until_empty = takewhile(lambda each: each[1].strip(), lines.below())
    block = [(at, line.rstrip().expandtabs()) for at, line in until_empty if not _is_rule(line)]
    header = GAP.split(head.strip())
    if lines.is_wanted(header):
        apart = [(at, GAP.split(line.strip())) for at, line in block]
        if all(len(cells) == len(header) for _, cells in apart):
            yield header, apart
    spans = _columns(head, [line for _, line in block])
    header = [head[begin:end].strip() for begin, end in spans]
    if len(spans) > 1 and lines.is_wanted(header):
        cut = ((at, [line[begin:end].strip() for begin, end in spans]) for at, line in block)
        yield header, cut
    header = head.split()
    if len(header) > 1 and lines.is_wanted(header):
        split = [(at, line.split(None, len(header) - 1)) for at, line in block]
        if all(len(cells) == len(header) for _, cells in split):
            yield header, split


def _columns(head: str, rows: Sequence[str]) -> list[tuple[int, int | None]]:
    """Where the columns begin and end: between them, all lines are blank.

    A part without a name belongs to the column before it, and so does a name without values, as
    `on` in `Mounted on`. The last column goes to the end of the line.
    """
    gaps = {at for at, sign in enumerate(head) if sign == " "}
    for row in rows:
        if not gaps:
            break
        gaps.difference_update(at for at, sign in enumerate(row[: len(head)]) if sign != " ")
    begins = [at for at in range(len(head)) if at not in gaps and (at == 0 or at - 1 in gaps)]
    kept: list[int] = []
    for begin, end in zip(begins, [*begins[1:], len(head)], strict=True):
        nameless = not head[begin:end].strip()
        single = (
            begin > 1
            and head[begin - 2 : begin].strip()
            and not any(row[begin : (None if end == len(head) else end)].strip() for row in rows)
        )
        if not kept or not (nameless or single):
            kept.append(begin)
    return [*zip([0, *kept[1:]], [*kept[1:], None], strict=True)] if kept else [(0, None)]
