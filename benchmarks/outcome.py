"""The outcome of a run of `quality.py`: rows, their means, and tables of them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from needs import SHARES, WEIGHTS

OURS = "context-compression"
HOST = "the host's own summary"
SUMMARY = "summary"
"""Label of the real compaction points, where the budget is the size of the host's summary."""
OWN = "own"
"""Label of views by methods that take no budget."""
TOLERANCE = 1.05
"""Factor of the target: our counter and the estimate frame messages differently."""
ROOM_FOR_USER = 0.4  # of the budget: where the user's words need more, not all can stay


@dataclass(frozen=True)
class Row:
    """One view.

    Attributes:
        label: the budget it was made for; for our views, also the peer whose size it was.
        digest: hash of its bytes.
        whole: tokens of the history.
        target: the requested number of tokens.
        size: the actual number of tokens.
        typed: tokens of the user's sentences.
        at_floor: whether the target could not be met, and the smallest view was taken.
        faults: violations, which should never occur.
        scores: by name.
    """

    recording: str
    source: str
    at: int
    label: str
    method: str
    digest: str
    whole: float
    target: float
    size: float
    typed: float
    at_floor: bool
    faults: tuple[str, ...]
    scores: Mapping[str, float | None]

    @property
    def place(self) -> tuple[str, int]:
        return self.recording, self.at


def macro(rows: Sequence[Row], value: Callable[[Row], float | None]) -> float:
    """The mean over cuts, then sessions, then sources; NaN if there are no values."""
    nested: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if (number := value(row)) is not None:
            nested[row.source][row.recording].append(number)
    return _mean([_mean([_mean(v) for v in each.values()]) for each in nested.values()])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def share(rows: Sequence[Row], name: str) -> float:
    return macro(rows, lambda row: row.scores[name])


def q(rows: Sequence[Row]) -> float:
    """The combined score Q."""
    return sum(weight * share(rows, name) for name, weight in WEIGHTS.items())


def of_target(row: Row) -> float:
    return row.size / row.target


def of_history(row: Row) -> float:
    return row.size / row.whole


class Outcome:
    """All rows of a run."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._by: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            self._by[row.label, row.method].append(row)
        self.labels = [*dict.fromkeys(row.label for row in rows)]
        self.methods = [*dict.fromkeys(row.method for row in rows)]
        self.budgets = [each for each in self.labels if each not in (OWN, SUMMARY, *self.methods)]

    def of(self, label: str, method: str) -> list[Row]:
        return self._by.get((label, method), [])

    def having(self, label: str) -> list[str]:
        """The methods that have views for a label."""
        return [method for method in self.methods if self.of(label, method)]

    def tables(self) -> Iterator[str]:
        """Everything, as Markdown tables."""
        for label in (*self.budgets, SUMMARY, OWN):
            methods = self.having(label)
            if not methods:
                continue
            yield from ("", f"**{_title(label)}**: {_extent(self._all(label))}", "")
            whole = label == OWN
            yield f"| | Q | {' | '.join(SHARES)} | size | invalid |{' ours |' if whole else ''}"
            yield "|---|" + "--:|" * (len(SHARES) + 3 + whole)
            for method in methods:
                rows = self.of(label, method)
                cells = [f"**{q(rows):.3f}**", *(f"{share(rows, name):.3f}" for name in SHARES)]
                cells.append(f"{macro(rows, of_history if whole else of_target):.1%}")
                cells.append(str(sum("invalid" in row.faults for row in rows)))
                if whole:
                    cells.append(f"{q(self.of(method, OURS)):.3f}")
                yield f"| {method} | {' | '.join(cells)} |"

    def _all(self, label: str) -> list[Row]:
        return [row for row in self.rows if row.label == label]

    def gates(self) -> Iterator[str]:
        """The conditions that every view of ours must meet."""
        ours = [row for row in self.rows if row.method == OURS]
        faults = Counter(fault for row in ours for fault in row.faults)
        counts = [f"{count} {fault}" for fault, count in sorted(faults.items())] or ["none failed"]
        yield f"\ngates, {len(ours)} views of ours: {', '.join(counts)}"
        for label in self.budgets:
            rows = self.of(label, OURS)
            room = [row for row in rows if row.typed <= ROOM_FOR_USER * row.target]
            floor = [row for row in rows if row.at_floor]
            yield (
                f"{label}: at the floor {len(floor)} of {len(rows)}"
                + (f" ({macro(floor, of_target):.0%} of the target)" if floor else "")
                + f"; UIS {share(room, 'UIS'):.3f} in {len(room)} cuts where the user's "
                f"sentences take up to {ROOM_FOR_USER:.0%} of the target"
            )

    def markdown(self) -> Iterator[str]:
        """The tables for a README."""
        yield f"| history compressed to | {' | '.join(self.budgets)} |"
        yield "|---|" + "--:|" * len(self.budgets)
        for method in [each for each in self.methods if self.of(self.budgets[0], each)]:
            name = f"**{method}**" if method == OURS else method
            cells = (_with_excess(self.of(label, method)) for label in self.budgets)
            yield f"| {name} | {' | '.join(cells)} |"
        if loose := self.having(OWN):
            yield from ("", f"| takes no target | its size | Q | **{OURS}** at that size |")
            yield "|---|--:|--:|--:|"
            for method in loose:
                rows, ours = self.of(OWN, method), self.of(method, OURS)
                size = f"{macro(rows, of_history):.0%}"
                yield f"| {method} | {size} | {q(rows):.2f} | {q(ours):.2f} |"
        if summaries := self.having(SUMMARY):
            extent = _extent(self.of(SUMMARY, summaries[0]))
            yield from ("", f"Where the host compacted, at its summary's size ({extent}):")
            yield from ("", "| | identifiers kept | far ones | Q |", "|---|--:|--:|--:|")
            for method in summaries:
                rows = self.of(SUMMARY, method)
                cells = (share(rows, "FRR"), share(rows, "FRR far"), q(rows))
                yield f"| {method} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


def _with_excess(rows: Sequence[Row]) -> str:
    """Q, and the size if it is not the requested one."""
    size = macro(rows, of_target)
    return f"{q(rows):.2f}" + (f" (at {size:.0%} of it)" if size > TOLERANCE else "")


def _extent(rows: Sequence[Row]) -> str:
    sessions, sources = {row.recording for row in rows}, {row.source for row in rows}
    cuts = {row.place for row in rows}
    return f"{len(cuts)} cuts, {len(sessions)} sessions, {len(sources)} sources"


def _title(label: str) -> str:
    return {
        SUMMARY: "where the host compacted, at the size of its summary",
        OWN: "those who cannot be told a size; `ours`: Q of ours at theirs",
    }.get(label, label)
