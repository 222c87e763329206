"""Figures of the gates, their means, and tables of them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from comparison import Figure, Table

from field.growing import IN_ONE
from field.places import ASKED, MARKS, NAMES
from field.searching import ARCHIVE_SHARE, BM25, HITS

GATES, FIVE, SEARCH = "gates", "five compressions", "search"


@dataclass(frozen=True)
class Score:
    """What one view is worth, or why there is none.

    Attributes:
        table: `gates`, `five compressions` or `search`.
        budget: the size that was asked for, as it is written; empty if a table has only one.
        column: the gate.
        value: from 0 to 1; `None` if the method failed.
        size: of the view, as a share of the history's o200k tokens.
        reason: the method's own words, if it failed.
    """

    table: str
    budget: str
    column: str
    method: str
    conversation: str
    value: float | None
    size: float | None = None
    reason: str = ""


def tables(scores: Sequence[Score]) -> Iterator[Table]:
    """One for each size, and those of marks, of five compressions and of the search."""
    gates = [score for score in scores if score.table == GATES]
    budgets = [*dict.fromkeys(score.budget for score in gates)]
    columns = [gate for gate in ASKED if gate != MARKS]
    for budget in budgets:
        those = [score for score in gates if score.budget == budget and score.column != MARKS]
        yield _table(GATES, f"history compressed to {budget}", columns, those)
    if marks := [score for score in gates if score.column == MARKS]:
        by_budget = [replace(score, column=score.budget) for score in marks]
        yield _table(GATES, "marks, % of the view", budgets, by_budget, lower_is_better=True)
    for name, heading in (
        (FIVE, "compressed five times, to"),
        (SEARCH, f"evidence of a question, among the first {HITS}"),
    ):
        those = [score for score in scores if score.table == name]
        if those:
            columns = sorted({score.column for score in those}, key=_place_of)
            yield _table(GATES, heading, columns, those)


def _place_of(column: str) -> tuple[list[bool], str]:
    """Sorts columns by the order of the talks, then by what is wanted, the easier first."""
    return [not column.startswith(talk) for talk in NAMES.values()], column.replace("any", "")


def _table(
    name: str,
    heading: str,
    columns: Sequence[str],
    scores: Sequence[Score],
    *,
    lower_is_better: bool = False,
) -> Table:
    rows: dict[str, dict[str, Figure]] = {}
    for method in dict.fromkeys(score.method for score in scores):
        own = [score for score in scores if score.method == method]
        by_column = {column: [s for s in own if s.column == column] for column in columns}
        rows[method] = {
            column: figure for column, those in by_column.items() if (figure := averaged(those))
        }
    notes = (*failures(scores), *explanations(rows))
    return Table(name, heading, columns, rows, lower_is_better=lower_is_better, notes=notes)


def averaged(scores: Iterable[Score]) -> Figure | None:
    """The mean over the views of a conversation, then over conversations."""
    values: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        if score.value is not None:
            values[score.conversation].append(score.value)
            sizes[score.conversation] += [] if score.size is None else [score.size]
    if not values:
        return None
    known = [mean(each) for each in sizes.values() if each]
    return Figure(mean(map(mean, values.values())), mean(known) if known else None)


def failures(scores: Sequence[Score]) -> Iterator[str]:
    """For each method that failed: how often, and what it said most."""
    for method in dict.fromkeys(score.method for score in scores):
        own = [score for score in scores if score.method == method]
        reasons = Counter(score.reason for score in own if score.value is None)
        if reasons:
            reason, _ = reasons.most_common(1)[0]
            yield f"{method} gave no view in {reasons.total()} of {len(own)} cases: {reason}."


def explanations(rows: Collection[str]) -> Iterator[str]:
    """What a reader must know about rows that are no methods of their own."""
    if IN_ONE in rows:
        yield f"“{IN_ONE}” compresses the complete conversation once."
    if BM25 in rows:
        yield (
            f"Our archive and {BM25} search what left a view of {ARCHIVE_SHARE:.0%}; the "
            "other rules have no archive, and only their view of that size counts."
        ).replace("%;", " %;")
