"""Tables that compare methods, and what they say where another method is better than ours.

A table has a row for each method and a column for each thing that was measured. A figure stands
beside the true size of the view that it was measured on, because several methods miss their target.
Tables are saved as JSON; `tables.py` writes the page from what is saved.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from plain_rules import PLAIN

OURS = "context-compression"
SAME_SIZE = 1.1
"""Factor of our view's size up to which another view is about as large."""

MANY = 3  # columns, from which a sentence does not list all


def _seconds(value: float) -> str:
    milliseconds = 1000 * value
    if milliseconds >= 1000:
        return f"{value:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2g} ms"


UNITS: Mapping[str, Callable[[float], str]] = {
    "percent": lambda value: f"{100 * value:.0f}",
    "tenths": lambda value: f"{100 * value:.1f}",
    "score": lambda value: f"{value:.2f}",
    "millions": lambda value: f"{value / 1e6:.1f}M",
    "thousands": lambda value: f"{value / 1e3:,.0f}K",
    "count": lambda value: f"{value:,.0f}",
    "seconds": _seconds,
}
"""How a value is written, by the unit of its table."""


@dataclass(frozen=True)
class Figure:
    """A value, and the size of the views behind it as a share of the originals in o200k tokens."""

    value: float
    size: float | None = None


@dataclass(frozen=True)
class Table:
    """Figures by method and column.

    Attributes:
        name: the name of its place in the page.
        heading: what the rows and the values are.
        rows: figures by method, then by column; a figure may be missing.
        unit: a name in `UNITS`; a percentage is stored as a share.
        lower_is_better: whether a small value is a good one.
        units: the units of columns that differ from it.
        notes: what else must be known, such as why a method could not run.
    """

    name: str
    heading: str
    columns: Sequence[str]
    rows: Mapping[str, Mapping[str, Figure]]
    unit: str = "percent"
    lower_is_better: bool = False
    notes: Sequence[str] = field(default_factory=tuple[str, ...])
    units: Mapping[str, str] = field(default_factory=dict[str, str])

    def lines(self) -> Iterator[str]:
        """The table in Markdown; our row is bold."""
        yield f"| {self.heading} | {' | '.join(self.columns)} |"
        yield "|---|" + "--:|" * len(self.columns)
        for method, figures in self.rows.items():
            name = f"**{method}**" if method == OURS else method
            cells = (self.cell(figures.get(column), column) for column in self.columns)
            yield f"| {name} | {' | '.join(cells)} |"

    def cell(self, figure: Figure | None, column: str = "") -> str:
        """`86 (25 %)`; empty if nothing was measured."""
        if figure is None:
            return ""
        size = "" if figure.size is None else f" ({_share(figure.size)})"
        return UNITS[self.units.get(column, self.unit)](figure.value) + size

    def better(self, method: str) -> Iterator[str]:
        """The columns in which a method is better than ours with a view that is not larger."""
        ours = self.rows.get(OURS, {})
        for column, figure in self.rows[method].items():
            own = ours.get(column)
            if own and _is_comparable(figure, own) and self._is_better(figure, own):
                value, against = UNITS[self.unit](figure.value), UNITS[self.unit](own.value)
                yield f"{column}: {value} against {against}"

    def sentences(self) -> Iterator[str]:
        """Where other methods are better, by name and number; and the notes."""
        if OURS not in self.rows:
            yield from self.notes
            return
        sized = any(f.size is not None for row in self.rows.values() for f in row.values())
        where = " with a view of about our size or less" if sized else ""
        others = [method for method in self.rows if not method.startswith(OURS)]
        for kind, methods in (
            ("plain rule", [method for method in others if is_plain(method)]),
            ("other tool", [method for method in others if not is_plain(method)]),
        ):
            told = {method: self._where(method, [*self.better(method)]) for method in methods}
            named = [f"{method} ({where})" for method, where in told.items() if where]
            if named:
                yield f"These {kind}s are better{where}: {', '.join(named)}."
            elif methods:
                yield f"No {kind} is better{where}."
        yield from self.notes

    def _where(self, method: str, found: Sequence[str]) -> str:
        """The columns in which a method is better; one stands for all, if it is all of many."""
        if len(found) >= MANY and len(found) == len(self.rows[method]):
            return f"in all columns, such as {found[0]}"
        return "; ".join(found)

    def _is_better(self, figure: Figure, own: Figure) -> bool:
        """As a reader sees it: what is written alike is alike."""
        if UNITS[self.unit](figure.value) == UNITS[self.unit](own.value):
            return False
        return (figure.value < own.value) == self.lower_is_better


def is_plain(method: str) -> bool:
    """Whether a method is a plain rule; what follows a comma says which variant."""
    return method.split(", ")[0] in PLAIN or method.startswith("plain ")


def _is_comparable(figure: Figure, own: Figure) -> bool:
    if figure.size is None or own.size is None:
        return True
    return figure.size <= SAME_SIZE * own.size


def _share(size: float) -> str:
    return f"{100 * size:.0f} %" if size >= 0.0995 else f"{100 * size:.1f} %"


def block(tables: Sequence[Table]) -> str:
    """Tables one after another, each followed by its sentences."""
    parts: list[str] = []
    for table in tables:
        parts += ["\n".join(table.lines()), *_paragraph(table)]
    return "\n\n".join(parts)


def _paragraph(table: Table) -> list[str]:
    told = " ".join(table.sentences())
    return [told] if told else []


def to_json(table: Table) -> dict[str, Any]:
    """The table for a file; values keep four digits, which is more than is written."""
    saved = asdict(table)
    saved["rows"] = {
        method: {
            column: [_rounded(figure.value), figure.size and _rounded(figure.size)]
            for column, figure in figures.items()
        }
        for method, figures in table.rows.items()
    }
    return saved


def from_json(saved: Mapping[str, Any]) -> Table:
    rows = {
        method: {column: Figure(*pair) for column, pair in figures.items()}
        for method, figures in saved["rows"].items()
    }
    arguments: dict[str, Any] = dict(saved) | {"rows": rows}
    return Table(**arguments)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
