"""What a search looks through, and what it finds there: shelf by shelf, within bounds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from context_compression.store.postgres import lexemes
from context_compression.store.postgres.coding import Coding

FEW_TEXTS = 5_000
"""Of up to so many texts all are found."""
MOST_FOUND = 200
"""How many of more texts are found at most with one condition."""
MORE_SHELVES = 6
"""How many times as many shelves are read next: common words are found often enough on the first.
"""
Ask: TypeAlias = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
_ALL = "SELECT at, no FROM texts_with(%s::text[]::tsquery[], %s)"
_SESSION = """
SELECT q.at, l.no FROM unnest(%s::text[]::tsquery[]) WITH ORDINALITY AS q (query, at)
JOIN lexemes l ON l.session = %s AND l.words @@ q.query
"""


@dataclass(frozen=True)
class Found:
    """The texts that a condition finds.

    Attributes:
        texts: their numbers.
        among: of how many texts they were looked for.
        complete: whether all of them were found.
    """

    texts: frozenset[int] = frozenset()
    among: int = 0
    complete: bool = True

    def share_of(self, texts: int) -> int:
        """About how many of so many texts the condition holds for."""
        if self.complete or not self.among:
            return len(self.texts)
        return round(len(self.texts) * max(1.0, texts / self.among))


@dataclass(frozen=True)
class Scope:
    """What is searched: all texts of a tenant, or those of one session.

    Attributes:
        coding: how the tables keep what they hold.
        shelves: their numbers, the newest first, each with how many texts and words it has.
        session: the number of the session; `None` for all.
    """

    ask: Ask
    tenant: str
    coding: Coding
    shelves: Mapping[int, tuple[int, int]]
    session: int | None = None

    @property
    def texts(self) -> int:
        """How many texts all shelves have."""
        return sum(texts for texts, _ in self.shelves.values())

    @property
    def most_found(self) -> int:
        """How many texts are found at most with one condition."""
        return MOST_FOUND if self.texts > FEW_TEXTS else self.texts + 1

    @property
    def mean_length(self) -> float:
        """The mean number of words of a text."""
        return sum(words for _, words in self.shelves.values()) / max(1, self.texts)

    def on(self, shelves: Iterable[int], condition: str) -> str:
        """A condition as `tsquery`, on any of these shelves."""
        return lexemes.on_shelves(condition, shelves, self.coding.words)

    def find(self, conditions: Sequence[str]) -> list[Found]:
        """The texts that each condition finds; an empty condition finds none."""
        left = {at: condition for at, condition in enumerate(conditions) if condition}
        found = [Found() for _ in conditions]
        if not left or not self.shelves:
            return found
        if self.session is not None:
            queries = [self.on(self.shelves, each) for each in left.values()]
            for at, texts in _grouped(left, self.ask(_SESSION, [queries, self.session])).items():
                found[at] = Found(frozenset(texts), self.texts)
            return found
        shelves, step, among = [*self.shelves], 1, 0
        while shelves and left:
            some, shelves = shelves[:step], shelves[step:]
            among += sum(self.shelves[shelf][0] for shelf in some)
            step = MORE_SHELVES * (len(self.shelves) - len(shelves))
            queries = [self.on(some, each) for each in left.values()]
            for at, texts in _grouped(left, self.ask(_ALL, [queries, self.most_found])).items():
                texts = found[at].texts | texts
                full = len(texts) >= self.most_found
                found[at] = Found(frozenset(texts), among, not full)
                if full:
                    del left[at]
        return found


def _grouped(left: Mapping[int, str], rows: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    """The texts that were found, by the position of their condition.

    Args:
        left: the conditions that were asked for, by their positions.
        rows: the number of a condition among them, from 1, and that of a text.
    """
    positions = [*left]
    found: dict[int, set[int]] = {at: set() for at in positions}
    for number, text in rows:
        found[positions[number - 1]].add(text)
    return found
