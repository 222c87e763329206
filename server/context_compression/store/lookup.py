"""What is asked of the search index: what holds words or a pattern, and what stands beside it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from context_compression.store import rows
from context_compression.store.documents import Candidate, Neighbour
from context_compression.store.index import Index
from context_compression.store.log import SessionLog
from context_compression.store.patterns import Pattern
from context_compression.store.query import LONGEST_WORD, Query, humps, indexable

WEIGHTS = "1.0, 0.5, 0.5, 0.5"
"""Of the columns of `words`: text, humps, paths, about."""
SHORTEST_BEGINNING = 3
"""Letters from which on a word that is nowhere is taken for the beginning of others."""
MOST_SCANNED = 4
"""Words for which all texts are read where none begins so either."""
ALL = -1
"""As a limit, to SQLite."""
HOLDS = "(CAST(text AS TEXT) LIKE ? ESCAPE '\\' OR (binary AND holds(text, ?)))"
"""Whether a part stands in a text: LIKE is fast, but ends where a text is binary."""


class Lookup:
    """The index as one search sees it.

    Args:
        index: brought up to date.
        session: the only one to look in, if any.
    """

    def __init__(self, index: Index, session: str | None) -> None:
        self._rows = index.rows
        self._names: dict[int, str] = dict(index.rows("SELECT id, name FROM logs"))
        self._logs = {name: id for id, name in self._names.items()}
        self._within = "1" if session is None else f"log = {self._logs.get(session, -1)}"

    def count(self) -> int:
        """How much there is to be found."""
        [(count,)] = self._rows(f"SELECT count(*) FROM documents WHERE {self._within}")
        return count

    def with_words(
        self, query: Query, least: int, most: int
    ) -> tuple[Iterator[list[Candidate]], int]:
        """All that holds words of the query, those with its names first; and how much that is.

        A word that is nowhere is taken for the beginning of others; if nothing is found, for a part
        of them.
        """
        terms = [self._phrases(term) for term in query.terms]
        anything = " OR ".join(filter(None, terms))
        names = " OR ".join(filter(None, terms[: len(query.names)]))
        total = self._total(query, anything)
        if not total:
            return self._with_parts(query, most)
        named = f"({names}) AND ({anything})" if names else ""
        return self._best(query, [*filter(None, (named, anything))], least, most), total

    def _best(
        self, query: Query, kinds: Sequence[str], least: int, most: int
    ) -> Iterator[list[Candidate]]:
        """What holds the words of the first kind, then of the others, in blocks."""
        first: dict[int, float] = {}
        for words in kinds:
            if len(first) < least:
                first = self._scores(query, words, most) | first
        yield self._candidates(first)
        rest: dict[int, float] = {}
        for words in kinds:
            rest |= self._scores(query, words, ALL)
        left = {id: score for id, score in rest.items() if id not in first}
        yield from self._blocks(left, most)

    def with_pattern(self, pattern: Pattern, least: int, most: int) -> Iterator[list[Candidate]]:
        """All in which a pattern is found, the newest first; mostly those with whole words before.

        Raises:
            StoreError: it takes too long.
        """
        first: list[int] = []
        literal = pattern.literal or ""
        order = f"AND {self._within} ORDER BY ours, id DESC"
        if phrase := _phrase(literal):  # mostly it stands there as whole words
            joined = "SELECT id FROM documents JOIN words ON words.rowid = id"
            ids = self._rows(f"{joined} WHERE words MATCH ? {order}", f"text : {phrase} *")
            first = [*islice(self._in_which(pattern, ids), most)]
            if len(first) >= least:
                yield self._candidates(dict.fromkeys(first, 0.0))
            else:
                first = []
        part = max(literal.split("/"), key=len)  # whichever slash it is written with
        given: list[Any] = [rows.to_bytes(part)] if part else []
        where = "instr(text, ?)" if part else "1"
        if rest := _phrase(_after_first_word(literal)):
            where += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            given.append(f"text : {rest} *")
        ids = self._rows(f"SELECT id FROM documents WHERE {where} {order}", *given)
        others = self._in_which(pattern, (id for id in ids if id[0] not in first))
        while block := dict.fromkeys(islice(others, most), 0.0):
            yield self._candidates(block)

    def beside(self, candidate: Candidate) -> tuple[Neighbour | None, Neighbour | None]:
        """What was said right before it, and right after it."""
        log = self._logs[candidate.session]
        query = "SELECT id, at FROM messages WHERE log = ? AND ref = ? ORDER BY id LIMIT 1"
        for id, at in self._rows(query, log, candidate.document.message):
            return (
                self._neighbour(log, at - 1, "id < ? ORDER BY id DESC", id),
                self._neighbour(log, at + 1, "id > ? ORDER BY id", id),
            )
        return None, None

    def is_true(self, candidate: Candidate, log: SessionLog) -> bool:
        """Whether the file of originals is still the one it was read from."""
        [(stamp,)] = self._rows("SELECT stamp FROM documents WHERE id = ?", candidate.key)
        return stamp == rows.stamp_of(log, candidate.document.file)

    def _phrases(self, term: str) -> str:
        """A term as FTS5 takes it: as it stands, and in camel case also as its parts."""
        phrases = [phrase for phrase in (_phrase(term), _phrase(humps([term]))) if phrase]
        whole = " OR ".join(phrases)
        if len(term) < SHORTEST_BEGINNING or not whole:
            return whole
        found = "SELECT 1 FROM words WHERE words MATCH ? LIMIT 1"
        if len(term) < LONGEST_WORD and self._rows(found, whole):
            return whole
        return " OR ".join(f"{phrase} *" for phrase in phrases)

    def _neighbour(self, log: int, at: int, which: str, id: int) -> Neighbour | None:
        query = f"SELECT {rows.SAID} FROM messages WHERE log = ? AND at = ? AND {which} LIMIT 1"
        for row in self._rows(query, log, at, id):
            said = rows.said_from(*row)
            query = "SELECT ref FROM documents WHERE log = ? AND message = ? ORDER BY ref = message"
            refs = self._rows(query, log, said.ref)
            return Neighbour(refs[0][0] if refs else None, said.role, said.glimpse)
        return None

    def _with_parts(self, query: Query, most: int) -> tuple[Iterator[list[Candidate]], int]:
        """What holds the words anywhere; without any, what is within the query's limits."""
        terms = query.terms[:MOST_SCANNED]
        holds = " OR ".join([HOLDS] * len(terms))
        parts = [each for term in terms for each in (f"%{_escaped(term)}%", term)]
        limits, given = self._limits(query)
        if query.paths:
            limits += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            given = [*given, _paths(query)]
        ids = self._rows(
            f"SELECT id FROM documents WHERE ({holds or 1}) AND {limits} ORDER BY ours, id DESC",
            *parts,
            *given,
        )
        return self._blocks({id: 0.0 for (id,) in ids}, most), len(ids)

    def _scores(self, query: Query, words: str, most: int) -> dict[int, float]:
        """The best that hold words, by id."""
        where, given = self._where(query, words)
        ranked = f"SELECT rowid, -bm25(words, {WEIGHTS}) FROM words WHERE {where}"
        return dict(self._rows(f"{ranked} ORDER BY 2 DESC, 1 DESC LIMIT ?", *given, most))

    def _total(self, query: Query, words: str) -> int:
        if not words:
            return 0
        where, given = self._where(query, words)
        [(total,)] = self._rows(f"SELECT count(*) FROM words WHERE {where}", *given)
        return total

    def _where(self, query: Query, words: str) -> tuple[str, list[Any]]:
        match = f"({words}) AND {_paths(query)}" if query.paths else words
        limits, given = self._limits(query)
        if limits == "1":
            return "words MATCH ?", [match]
        within = f"+rowid IN (SELECT id FROM documents WHERE {limits})"
        return f"words MATCH ? AND {within}", [match, *given]

    def _limits(self, query: Query) -> tuple[str, list[Any]]:
        """What limits documents, as a condition and its values."""
        limits = [self._within] + ["failed"] * query.failed
        limits += ["tool LIKE ? ESCAPE '\\'"] * len(query.tools)
        return " AND ".join(limits), [f"%{_escaped(tool)}%" for tool in query.tools]

    def _blocks(self, scores: Mapping[int, float], most: int) -> Iterator[list[Candidate]]:
        left = iter(scores.items())
        while block := dict(islice(left, most)):
            yield self._candidates(block)

    def _candidates(self, scores: Mapping[int, float]) -> list[Candidate]:
        ids = ", ".join(map(str, scores))
        found = self._rows(f"SELECT log, {rows.DOCUMENT} FROM documents WHERE id IN ({ids})")
        return [
            Candidate(row[0], self._names[log], rows.document_from(row), scores[row[0]])
            for log, *row in found
        ]

    def _in_which(self, pattern: Pattern, ids: Iterable[tuple[int]]) -> Iterator[int]:
        for (id,) in ids:
            [(text,)] = self._rows("SELECT text FROM documents WHERE id = ?", id)
            if pattern.is_in(rows.from_bytes(text)):
                yield id


def _after_first_word(text: str) -> str:
    """What follows the first word: that may be the end of a longer one, which the index has not.

    Nothing for other letters than ASCII's: which of them make a word SQLite and Python might not
    agree on.
    """
    found = re.match(r"[\W_]*[^\W_]+", text) if text.isascii() else None
    return text[found.end() :] if found else ""


def _phrase(text: str) -> str:
    """Words that follow each other, in quotation marks; nothing where there are none."""
    words = indexable(text).replace('"', " ").strip()
    return f'"{words}"' if any(map(str.isalnum, words)) else ""


def _paths(query: Query) -> str:
    """What holds all the paths of a query."""
    return " AND ".join(f"paths : {_phrase(path)} *" for path in query.paths)


def _escaped(text: str) -> str:
    r"""For LIKE: `"a_b"` -> `"a\_b"`."""
    return re.sub(r"([%_\\])", r"\\\1", text)
