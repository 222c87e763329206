"""What a search in the tables looks through, and how well texts fit a query.

How well the texts of a tenant fit a query: what they hold of it, and scores.

The weights are those of the index in a folder (`store.search.fits`). What is looked up is bounded:
of a word that many texts hold only some are found, of the newest shelves, and few are scored.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from context_compression.store.postgres import texts as lexemes
from context_compression.store.postgres.coding import Coding
from context_compression.store.search.excerpt import BESIDE, SHORTEST_BEGINNING, STEM_SHARE
from context_compression.store.search.query import Query, weight_of

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


MOST_SCORED = 100
"""How many texts are scored by how often they contain the words; the others follow them."""
BM25_REPEATS, BM25_LENGTH = 1.2, 0.75
RANK_WEIGHTS = [1.0, 0.5, 0.5, 0.5]
"""Of words in the text, in parts of names, of none, and in the call."""
ONCE = 6 / math.pi**2
"""What `ts_rank` gives for a word that occurs once."""
_SCORES = """
SELECT l.no, q.at, greatest(ts_rank(%s::real[], l.words, q.query), 1e-6)
FROM (SELECT no, shelf, words || ''::tsvector AS words FROM lexemes WHERE no = ANY(%s) OFFSET 0) l
JOIN unnest(%s::bigint[], %s::int[], %s::text[]::tsquery[]) AS q (shelf, at, query)
ON q.shelf = l.shelf AND l.words @@ q.query
"""
"""Each `words` is unpacked once, by the concatenation."""
_ABOUT = "SELECT no, session, at, length FROM texts WHERE tenant = %s AND no = ANY(%s)"


class TextScores:
    """The scores of texts for queries."""

    def __init__(self, scope: Scope) -> None:
        """Scores within a scope."""
        self._scope = scope
        self._terms: dict[str, str] = {}
        self._found: dict[str, Found] = {}

    def find(self, conditions: Sequence[str]) -> list[Found]:
        """The texts that each condition finds; what was looked up before is not again."""
        new = [each for each in dict.fromkeys(conditions) if each not in self._found]
        self._found |= zip(new, self._scope.find(new), strict=True)
        return [self._found[each] for each in conditions]

    def exactly(self, terms: Sequence[str]) -> list[str]:
        """The conditions for terms as they are written.

        If no text contains a word, longer words that begin with it count.
        """
        new = [term for term in dict.fromkeys(terms) if term not in self._terms]
        strict = [lexemes.exactly(term) for term in new]
        found = self.find(strict)
        for term, condition, each in zip(new, strict, found, strict=True):
            relaxed = not each.texts and len(term) >= SHORTEST_BEGINNING
            self._terms[term] = lexemes.exactly(term, begins=True) if relaxed else condition
            if not each.complete:  # then so are its other forms, and these need not be found
                self._found.setdefault(lexemes.in_any_form(term), each)
        return [self._terms[term] for term in terms]

    def number(self, term: str) -> int:
        """About how many texts contain a term as it is written."""
        [found] = self.find(self.exactly([term]))
        return found.share_of(self._scope.texts)

    def any_of(self, query: Query, limits: str) -> bool:
        """Whether any text within the limits contains words of the query."""
        forms = [*self.exactly(query.terms), *map(lexemes.in_any_form, query.terms)]
        found = self.find([lexemes.both(limits, each) for each in forms if each])
        return any(each.texts for each in found)

    def of(self, query: Query, limits: str) -> "FittingTexts":
        """How well the texts that contain words of the query fit it."""
        forms = self._forms(query)
        found = self.find([lexemes.both(limits, form.condition) for form in forms])
        number = self._scope.texts
        weights = [
            f.weight(each.share_of(number), number) for f, each in zip(forms, found, strict=True)
        ]
        held: defaultdict[int, float] = defaultdict(float)
        for each, weight in zip(found, weights, strict=True):
            for text in each.texts:
                held[text] += weight
        complete = all(each.complete for each in found)
        if not complete:
            for together, weight in self._together(query, limits):
                for text in together.texts:
                    held[text] = max(held[text], weight)
        ordered = sorted(held, key=lambda text: (held[text], text), reverse=True)
        fits = self._scored(ordered[:MOST_SCORED], forms, weights, asked=is_question(query))
        for text in ordered[MOST_SCORED:]:  # behind those that are scored
            asked = is_question(query)
            weight, score = (0.0, -1 / (1 + held[text])) if asked else (held[text], 0.0)
            fits[text] = Fit(False, weight, score, text)
        return FittingTexts(fits, complete)

    def _forms(self, query: Query) -> list["TermForm"]:
        """The conditions for the terms of a query, each form with its share."""
        if is_question(query):
            return [TermForm(lexemes.in_any_form(term), term, asked=True) for term in query.terms]
        forms: list[TermForm] = []
        for term, exact in zip(query.terms, self.exactly(query.terms), strict=True):
            if term in query.names:
                forms.append(TermForm(exact, term, is_name=True))
            else:
                forms.append(TermForm(exact, term, 1 - STEM_SHARE))
                forms.append(TermForm(lexemes.in_any_form(term), term, STEM_SHARE, is_exact=False))
        return [form for form in forms if form.condition]

    def _together(self, query: Query, limits: str) -> Iterator[tuple[Found, float]]:
        """Texts that hold several terms, of which each alone is held by too many texts.

        If one is held by few, those texts are found, and no text with others is better.
        """
        number = self._scope.texts
        conditions = {term: lexemes.in_any_form(term) for term in query.terms}
        terms = [term for term, condition in conditions.items() if condition]
        found = self.find([lexemes.both(limits, conditions[term]) for term in terms])
        if any(each.complete and each.texts for each in found):
            return
        weight = {
            term: _weight(each.share_of(number), number)
            for term, each in zip(terms, found, strict=True)
        }
        rarest = sorted(terms, key=weight.__getitem__, reverse=True)
        groups = [rarest[:size] for size in dict.fromkeys((2, 3, len(rarest))) if size > 1]
        groups = [group for group in groups if len(group) > 1]
        joined = [lexemes.both(limits, *(conditions[term] for term in group)) for group in groups]
        for group, each in zip(groups, self.find(joined), strict=True):
            yield each, sum(weight[term] for term in group)

    def _scored(
        self, texts: Sequence[int], forms: Sequence["TermForm"], weights: Sequence[float], *,
        asked: bool,
    ) -> dict[int, "Fit"]:  # fmt: skip
        """The fits of some texts, by how often they contain the words."""
        if not texts or not forms:
            return {}
        queries = [
            (shelf, at, self._scope.on([shelf], form.condition))
            for shelf in self._scope.shelves
            for at, form in enumerate(forms)
        ]
        columns = map(list, zip(*queries, strict=True))
        ranks: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for text, at, rank in self._scope.ask(_SCORES, [RANK_WEIGHTS, [*texts], *columns]):
            ranks[text][at] = rank
        mean = max(1.0, self._scope.mean_length)
        fits: dict[int, Fit] = {}
        places: dict[int, tuple[int, int]] = {}
        best: defaultdict[tuple[int, int], float] = defaultdict(float)
        for text, session, at, length in self._scope.ask(_ABOUT, [self._scope.tenant, [*texts]]):
            of_text = ranks[text]
            held = [(forms[each], rank, weights[each]) for each, rank in of_text.items()]
            score = sum(
                form.repeats(rank, length / mean) * (weight if asked else form.rarity)
                for form, rank, weight in held
                if form.is_exact
            )
            weight = 0.0 if asked else sum(weight for _, _, weight in held)
            absent = frozenset(
                form.term for each, form in enumerate(forms) if form.is_name and each not in of_text
            )
            named = any(form.is_name for form, _, _ in held)
            fits[text] = Fit(named, weight, score, text, absent)
            if asked and at is not None:
                places[text] = session, at
                best[session, at] = max(best[session, at], score)
        for text, (session, at) in places.items():
            beside = best.get((session, at - 1), 0.0) + best.get((session, at + 1), 0.0)
            fits[text] = fits[text]._replace(score=fits[text].score + BESIDE * beside)
        return fits


class Fit(NamedTuple):
    """How well a text fits a query; greater is better.

    Attributes:
        named: whether it contains a name of the query.
        weight: as in `CandidateDocument`.
        score: as in `CandidateDocument`.
        text: its number.
        absent: the names that it does not contain.
    """

    named: bool
    weight: float
    score: float
    text: int
    absent: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FittingTexts:
    """The texts that fit a query.

    Attributes:
        fits: by the number of the text.
        complete: whether these are all.
    """

    fits: Mapping[int, Fit]
    complete: bool

    @property
    def ordered(self) -> list[int]:
        """The texts, the best first."""
        return sorted(self.fits, key=lambda text: self.fits[text][:4], reverse=True)


@dataclass
class TermForm:
    """A form of a term of a query.

    Attributes:
        condition: for texts that contain it.
        term: as it is written.
        share: of the weight of the term.
        is_exact: whether it counts for the score.
        is_name: whether the term is a name.
        asked: whether the query is a question.
        rarity: of the form, once `weight` was called.
    """

    condition: str
    term: str
    share: float = 1.0
    is_exact: bool = True
    is_name: bool = False
    asked: bool = False
    rarity: float = 0.0

    def weight(self, holding: int, among: int) -> float:
        """What a text that contains it has from it, if so many texts do."""
        self.rarity = max(1e-6, math.log(max(0.5, among - holding + 0.5) / (holding + 0.5)))
        return self.rarity if self.asked else self.share * _weight(holding, among)

    def repeats(self, rank: float, length: float) -> float:
        """The factor of BM25 for a text.

        Args:
            rank: from `ts_rank`: the first occurrence counts `ONCE`, number n 1/n² of that.
            length: of the text, as a multiple of the mean.
        """
        alternatives = 1 if "&" in self.condition else self.condition.count(lexemes.SHELF)
        share = min(0.99, rank * alternatives)
        times = max(share / ONCE, ONCE / (1 - share) - 0.5)
        room = BM25_REPEATS * (1 - BM25_LENGTH + BM25_LENGTH * length)
        return times * (BM25_REPEATS + 1) / (times + room)


def is_question(query: Query) -> bool:
    """Whether what is said about its subject answers it, and not only what it contains."""
    return bool(query.function_words)


def _weight(holding: int, among: int) -> float:
    """As `weight_of`; a term that all texts seem to hold still counts a little."""
    return max(1e-6, weight_of(holding, max(among, holding)))
