"""How well the documents of the index fit a query: the SQL and the scores.

A query of words and names is answered by what it contains: each document counts by the rare words
that it contains, in whichever form. A question is answered by what is said about its subject: each
document counts by BM25 over stems, so that a long text has no advantage, and the messages beside it
count a little, because an answer often repeats no word of its question.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

from context_compression.store.search.query import (
    LONGEST_WORD,
    Query,
    humps,
    indexable,
    is_humped,
    weight_of,
)

WORD_WEIGHTS = "1.0, 0.5, 0.5, 0.5"
"""BM25 weights of the columns of the table `words`: text, humps, paths, about."""
STEM_WEIGHTS = "1.0, 0.5"
"""BM25 weights of the columns of the table `stems`: text, beside."""
BESIDE = 0.4
"""The share of the score of a message that its two neighbours get. On questions about long
conversations 0.35 to 0.5 find the most evidence among the first five hits, 0.1 finds less.
"""
STEM_SHARE = 0.5
"""How much of a word's weight a text gets that contains only another form of the word."""
SHORTEST_BEGINNING = 3
"""If no text contains a word of at least this many letters, longer words that begin with it count.
"""
Rows: TypeAlias = Callable[..., list[tuple[Any, ...]]]
Fit: TypeAlias = tuple[bool, float, float, int]
"""How well a document fits a query: whether it contains a name of the query, its weight and score
as in `CandidateDocument`, and its id.
"""


class Fits:
    """The scores of the documents within some sessions."""

    def __init__(self, rows: Rows, within: str, among: int) -> None:
        """Scores of documents.

        Args:
            rows: runs a query with its parameters, and returns the rows.
            within: the SQL condition for the sessions that are searched.
            among: how many documents the index has.
        """
        self._rows, self._within, self._all = rows, within, among
        self._phrases = cache(self._phrases_of)  # each is needed several times

    def of(self, query: Query) -> dict[int, Fit]:
        """How well each document that contains words of the query fits, by id."""
        return self._of_question(query) if query.function_words else self._of_words(query)

    def any_of(self, query: Query) -> bool:
        """Whether any document within the limits contains words of the query."""
        return any(self._matching(query, query.terms, table) for table in ("words", "stems"))

    def number(self, term: str) -> int:
        """How many documents contain a term as it is written."""
        words = self._phrases(term, "words")
        return (
            self._rows("SELECT count(*) FROM words WHERE words MATCH ?", words)[0][0]
            if words
            else 0
        )

    def limits(self, query: Query) -> tuple[str, list[Any]]:
        """The condition for the limits of a query, except its paths; and the condition's values."""
        limits = [self._within] + ["failed"] * query.failed
        if query.tools:
            any_tool = " OR ".join(["tool LIKE ? ESCAPE '\\'"] * len(query.tools))
            limits.append(f"kind IN (SELECT id FROM kinds WHERE {any_tool})")
        return " AND ".join(limits), [
            f"%{_escaped(indexable(tool).strip())}%" for tool in query.tools
        ]

    def _of_words(self, query: Query) -> dict[int, Fit]:
        exact = self._scores(query, "words")
        stems = self._matching(query, query.words, "stems")
        weights = dict.fromkeys([*exact, *stems], 0.0)
        named = set[int]()
        for term in query.terms if weights else ():
            holding = self._holding(term, "words")
            is_name = term in query.names
            forms = (
                ((holding, 1.0),)
                if is_name
                else ((holding, 1 - STEM_SHARE), (self._holding(term, "stems"), STEM_SHARE))
            )
            for ids, share in forms:
                weight = share * weight_of(len(ids), self._all)
                for id in ids & weights.keys():
                    weights[id] += weight
            if is_name:
                named |= holding
        return {id: (id in named, weight, exact.get(id, 0.0), id) for id, weight in weights.items()}

    def _of_question(self, query: Query) -> dict[int, Fit]:
        if not (words := self._any_of(query.terms, "stems")):
            return {}
        where, values = self._where(query, words, "stems")
        scored = self._rows(
            f"SELECT documents.id, -bm25(stems, {STEM_WEIGHTS}), documents.log, place"
            f" FROM stems JOIN documents ON documents.id = stems.rowid WHERE {where}",
            *values,
        )
        best: defaultdict[tuple[int, int], float] = defaultdict(float)
        for _, score, log, place in scored:
            if place is not None:
                best[log, place] = max(best[log, place], score)
        return {
            id: (False, 0.0, score + BESIDE * _beside(best, log, place), id)
            for id, score, log, place in scored
        }

    def _scores(self, query: Query, table: str) -> dict[int, float]:
        """The BM25 of each document that is within a query's limits and has its words, by id."""
        if not (words := self._any_of(query.terms, table)):
            return {}
        where, values = self._where(query, words, table)
        weights = WORD_WEIGHTS if table == "words" else STEM_WEIGHTS
        return dict(
            self._rows(
                f"SELECT rowid, -bm25({table}, {weights}) FROM {table} WHERE {where}", *values
            )
        )

    def _matching(self, query: Query, terms: Iterable[str], table: str) -> list[int]:
        """The ids of the documents within a query's limits that have any of some terms."""
        if not (words := self._any_of(terms, table)):
            return []
        where, values = self._where(query, words, table)
        return [id for (id,) in self._rows(f"SELECT rowid FROM {table} WHERE {where}", *values)]

    def _where(self, query: Query, words: str, table: str) -> tuple[str, list[Any]]:
        """The condition for words within the limits of a query, and its values."""
        where, values = f"{table} MATCH ?", [words]
        limits, of_limits = self.limits(query)
        if limits != "1":
            where += f" AND +{table}.rowid IN (SELECT id FROM documents WHERE {limits})"
            values += of_limits
        if query.paths:
            where += f" AND +{table}.rowid IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values.append(paths(query))
        return where, values

    def _any_of(self, terms: Iterable[str], table: str) -> str:
        """Any of some terms, in the language of FTS5."""
        return " OR ".join(filter(None, (self._phrases(term, table) for term in terms)))

    def _holding(self, term: str, table: str) -> set[int]:
        """The ids of the documents that contain a term."""
        words = self._phrases(term, table)
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"
        return {id for (id,) in self._rows(query, words)} if words else set()

    def _phrases_of(self, term: str, table: str) -> str:
        """A term in the language of FTS5; a name in camel case also as its parts."""
        parts = humps([term]) if is_humped(term) else ""
        phrases = [phrase for phrase in (phrase_of(term), phrase_of(parts)) if phrase]
        complete = " OR ".join(phrases)
        if len(term) < SHORTEST_BEGINNING or not complete:
            return complete
        is_held = f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1"
        if len(term) < LONGEST_WORD and self._rows(is_held, complete):
            return complete
        return " OR ".join(f"{phrase} *" for phrase in phrases)


def _beside(best: Mapping[tuple[int, int], float], log: int, place: int | None) -> float:
    """The scores of the messages right before and right after a place, together."""
    if place is None:
        return 0.0
    return best.get((log, place - 1), 0.0) + best.get((log, place + 1), 0.0)


def phrase_of(text: str) -> str:
    """Consecutive words, in the quotation marks of FTS5; "" if there are none."""
    words = indexable(text).replace('"', " ").strip()
    return f'"{words}"' if any(map(str.isalnum, words)) else ""


def paths(query: Query) -> str:
    """The condition for all paths of a query; a bare name may also occur in a call."""
    return " AND ".join(
        f"(paths : {phrase} *{'' if '/' in path else f' OR about : {phrase}'})"
        for path in query.paths
        if (phrase := phrase_of(path))
    )


def _escaped(text: str) -> str:
    r"""For LIKE: `"a_b"` -> `"a\_b"`."""
    return re.sub(r"([%_\\])", r"\\\1", text)
