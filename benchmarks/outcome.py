"""The outcome of a run of `quality.py`: rows, their means, and tables of them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan

from comparison import OURS, Figure, Table
from needs import SHARES, WEIGHTS
from plain_rules import MASKING, TASK_AND_LAST, USERS

HOST = "the host's own summary"
ITSELF = "the tool itself"
SUMMARY = "summary"
"""Label of the real compaction points, where the budget is the size of the host's summary."""
OWN = "own"
"""Label of views by methods that take no budget."""
TOLERANCE = 1.05
"""Factor of the target: our counter and the estimate frame messages differently."""
TRIED = ("% of them still told of", {"failures": "failed calls, ", "decisions": "reasons, "})
VERBATIM = ("% of the lines that the next edits need verbatim", {"VAR": ""})
"""Heading of a table, and the scores in it with the beginnings of their columns' names."""
BY_SESSION = frozenset({"VAR"})
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
        share: the actual share of the history, in o200k tokens.
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
    share: float
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


def by_session(rows: Sequence[Row], name: str) -> float:
    """The mean over cuts, then sessions: few sources have what is measured, most only a little."""
    return share([replace(row, source=row.recording) for row in rows], name)


def having(rows: Sequence[Row], name: str) -> list[Row]:
    """The rows of places where there is something to measure."""
    return [row for row in rows if row.scores[name] is not None]


def q(rows: Sequence[Row]) -> float:
    """The combined score Q."""
    return sum(weight * share(rows, name) for name, weight in WEIGHTS.items())


def of_target(row: Row) -> float:
    return row.size / row.target


def of_original(row: Row) -> float:
    return row.share


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

    def details(self) -> Iterator[str]:
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

    def tables(self) -> Iterator[Table]:
        """The tables for a page."""
        budgets = self.budgets
        methods = [method for method in self.methods if self.of(budgets[0], method)]
        kept = {m: self._figures({b: self.of(b, m) for b in budgets}, q) for m in methods}
        yield Table(
            "kept", "Q of a history compressed to", budgets, kept, "score", notes=[*self._notes()]
        )
        shares = [budget for budget in budgets if "tokens" not in budget]
        for heading, parts in (TRIED, VERBATIM):
            rows = {
                method: {
                    f"{what}{budget}": figure
                    for name, what in parts.items()
                    for budget, figure in self._figures(
                        {each: having(self.of(each, method), name) for each in shares},
                        partial(by_session if name in BY_SESSION else share, name=name),
                    ).items()
                }
                for method in methods
            }
            columns = [f"{what}{each}" for what in parts.values() for each in shares]
            yield Table("tried", heading, columns, rows, notes=[self._extent_of(parts)])
        if loose := self.having(OWN):
            yield self._of_loose(loose)
        if self.having(SUMMARY):
            yield self._of_summaries()

    def _extent_of(self, parts: Mapping[str, str]) -> str:
        """Where there is something to measure for each score."""
        ours = self.of(self.budgets[0], OURS)
        told = [f"{what}{_extent(having(ours, name))}" for name, what in parts.items()]
        mean = " Each session counts the same." if BY_SESSION & parts.keys() else ""
        return f"Measured at: {'; '.join(told)}.{mean}"

    def _of_loose(self, loose: Sequence[str]) -> Table:
        """The tools that take no target, with other methods at the size that each reached."""
        rows = {ITSELF: self._figures({name: self.of(OWN, name) for name in loose}, q)}
        for method in (OURS, TASK_AND_LAST, MASKING, USERS):
            rows[method] = self._figures({name: self.of(name, method) for name in loose}, q)
        return Table("loose", "Q at the size that results from", loose, rows, "score")

    def _of_summaries(self) -> Table:
        """The summaries of hosts, with other methods at their size."""
        rows: dict[str, dict[str, Figure]] = {}
        for method in self.having(SUMMARY):
            found = self.of(SUMMARY, method)
            rows[method] = {
                column: figure
                for column, value in (
                    ("needed identifiers", partial(share, name="FRR")),
                    ("far ones", partial(share, name="FRR far")),
                    ("Q", q),
                )
                for figure in self._figures({column: found}, value).values()
            }
        extent = f"Measured at {_extent(self.of(SUMMARY, HOST))}."
        columns = ("needed identifiers", "far ones", "Q")
        heading = "at the size of the host's summary"
        return Table("summaries", heading, columns, rows, "score", notes=(extent,))

    @staticmethod
    def _figures(
        rows: Mapping[str, Sequence[Row]], value: Callable[[Sequence[Row]], float]
    ) -> dict[str, Figure]:
        """By column, where there is something to measure."""
        found = {c: Figure(value(each), macro(each, of_original)) for c, each in rows.items()}
        return {column: figure for column, figure in found.items() if not isnan(figure.value)}

    def _notes(self) -> Iterator[str]:
        """Where our views could not be small enough, and where tools gave none."""
        ours = {budget: self.of(budget, OURS) for budget in self.budgets}
        floors = {b: sum(row.at_floor for row in rows) for b, rows in ours.items()}
        told = [f"{n} of {len(ours[b])} at {b}" for b, n in floors.items() if n]
        if told:
            yield f"Places where the minimum size is above the target: {', '.join(told)}."
        places = {row.place for rows in ours.values() for row in rows}
        for method in self.methods:
            budget = OWN if self.of(OWN, method) else self.budgets[0]
            failed = len(places) - len(self.of(budget, method))
            if failed and self.of(budget, method):
                yield f"{method} gave no view at {failed} of {len(places)} places."


def _extent(rows: Sequence[Row]) -> str:
    sessions, sources = {row.recording for row in rows}, {row.source for row in rows}
    cuts = {row.place for row in rows}
    return f"{len(cuts)} cuts, {len(sessions)} sessions, {len(sources)} sources"


def _title(label: str) -> str:
    return {
        SUMMARY: "where the host compacted, at the size of its summary",
        OWN: "those who cannot be told a size; `ours`: Q of ours at theirs",
    }.get(label, label)
