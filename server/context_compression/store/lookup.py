"""What is asked of the search index: what holds words or a pattern, and what stands beside it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby, islice
from typing import Any, TypeAlias

from context_compression.store import rows
from context_compression.store.documents import Call, Candidate, Document, Neighbour, Said
from context_compression.store.index import Index
from context_compression.store.patterns import Pattern
from context_compression.store.query import (
    LONGEST_WORD,
    Query,
    humps,
    indexable,
    is_humped,
    weight_of,
)
from context_compression.store.spans import Spelled

WEIGHTS = "1.0, 0.5, 0.5, 0.5"
"""Of the columns of `words`: text, humps, paths, about."""
SHORTEST_BEGINNING = 3
"""Letters from which on a word that is nowhere is taken for the beginning of others."""
MOST_SCANNED = 4
"""Words for which all texts are read where none begins so either."""
READ_AT_ONCE = 64
"""Documents; a few more are read than may be needed, but each file is opened once for them."""
Fit: TypeAlias = tuple[bool, float, float, int]
"""How well something fits a query: whether it holds a name of it, its weight and its score as in
`Candidate`, and its id."""


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
        self._conversation = cache(index.conversation)
        self._phrases = lru_cache(self._phrases_of)  # each is asked for several times
        self._within = "1" if session is None else f"documents.log = {self._logs.get(session, -1)}"
        [(self._all,)] = index.rows("SELECT count(*) FROM documents")

    def count(self) -> int:
        """How much there is to be found."""
        [(count,)] = self._rows(f"SELECT count(*) FROM documents WHERE {self._within}")
        return count

    def telling(self, query: Query) -> Query:
        """The query without words that tell nothing, see `Query.telling`."""
        less = query.telling(lambda term: self._number(self._phrases(term)), self._all)
        return less if less == query or self._scores(less) else query

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[Candidate]], int | None]:
        """All that holds words of the query, those with its names first; and how much that is.

        A word that is nowhere is taken for the beginning of others; if nothing is found, for a part
        of them.

        Raises:
            StoreError: the pattern takes too long.
        """
        fits = self._fits(query)
        ids = sorted(fits, key=fits.__getitem__, reverse=True) or self._with_parts(query)
        if pattern:
            return self._blocks(self._in_which(pattern, ids), fits, most), None
        return self._blocks(ids, fits, most), len(ids)

    def with_pattern(self, pattern: Pattern, least: int, most: int) -> Iterator[list[Candidate]]:
        """All in which a pattern is found, the newest first; mostly those with whole words before.

        Raises:
            StoreError: it takes too long.
        """
        first: list[int] = []
        literal = pattern.literal or ""
        order = f"AND {self._within} ORDER BY ours, id DESC"
        if phrase := _phrase(literal):  # mostly it stands there as whole words
            matching = "id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            ids = self._ids(
                f"SELECT id FROM documents WHERE {matching} {order}", f"text : {phrase} *"
            )
            first = [*islice(self._in_which(pattern, ids), most)]
            if len(first) >= least:
                yield self._candidates(first, {})
            else:
                first = []
        where, given = "1", list[Any]()
        if rest := _phrase(_after_first_word(literal)):
            where += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            given.append(f"text : {rest} *")
        ids = self._ids(f"SELECT id FROM documents WHERE {where} {order}", *given)
        if literal:
            may_hold = self._may_hold(Spelled(literal), f"{where} AND {self._within}", given)
            ids = [id for id in ids if id in may_hold]
        found = self._in_which(pattern, ids)
        yield from self._blocks((id for id in found if id not in first), {}, most)

    def _may_hold(self, spelled: Spelled, where: str, given: Sequence[Any]) -> set[int]:
        """All but what certainly does not hold a text, by id: whole files are looked through."""
        listed = self._rows(
            "SELECT log, file, (SELECT name FROM files WHERE id = file), id, start, length,"
            f" parts IS NOT NULL FROM documents WHERE {where} ORDER BY file",
            *given,
        )
        found = set[int]()
        for (log, _, name), group in groupby(listed, lambda row: row[:3]):
            found |= self._conversation(log).may_hold(name, spelled, (row[3:] for row in group))
        return found

    def beside(self, candidate: Candidate) -> tuple[Neighbour | None, Neighbour | None]:
        """What was said right before it, and right after it."""
        log = self._logs[candidate.session]
        before, after = self._conversation(log).beside(candidate.document.message)
        return self._neighbour(log, before), self._neighbour(log, after)

    def call(self, candidate: Candidate) -> Call:
        """The call it answers; of a message, the tools it calls."""
        [columns] = self._rows(f"{rows.ROW} WHERE documents.id = ?", candidate.key)
        row = rows.Row(*columns)
        return self._conversation(row.log).call(row) or candidate.document.call

    def _phrases_of(self, term: str) -> str:
        """A term as FTS5 takes it: as it stands, and a name in camel case also as its parts."""
        parts = humps([term]) if is_humped(term) else ""
        phrases = [phrase for phrase in (_phrase(term), _phrase(parts)) if phrase]
        whole = " OR ".join(phrases)
        if len(term) < SHORTEST_BEGINNING or not whole:
            return whole
        found = "SELECT 1 FROM words WHERE words MATCH ? LIMIT 1"
        if len(term) < LONGEST_WORD and self._rows(found, whole):
            return whole
        return " OR ".join(f"{phrase} *" for phrase in phrases)

    def _neighbour(self, log: int, said: Said | None) -> Neighbour | None:
        if said is None:
            return None
        ref = bytes.fromhex(said.ref)
        texts = "message = ?2 AND message > x''"
        for where in (texts, "ref = ?2 AND message IS NULL"):
            query = f"SELECT ref FROM documents WHERE log = ?1 AND {where} ORDER BY id LIMIT 1"
            for (found,) in self._rows(query, log, ref):
                return Neighbour(found.hex(), said.role, said.glimpse)
        return Neighbour(None, said.role, said.glimpse)

    def _with_parts(self, query: Query) -> list[int]:
        """What holds the words anywhere; without any, what is within the query's limits."""
        terms = [term.casefold() for term in query.terms[:MOST_SCANNED]]
        limits, given = self._limits(query)
        if query.paths:
            limits += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            given = [*given, _paths(query)]
        ids = self._ids(f"SELECT id FROM documents WHERE {limits} ORDER BY ours, id DESC", *given)
        if not terms:
            return ids
        texts = ((id, document.text.casefold()) for id, _, document in self._documents(ids))
        return [id for id, text in texts if any(term in text for term in terms)]

    def _fits(self, query: Query) -> dict[int, Fit]:
        """How well all that holds words of the query fits, by id."""
        scores = self._scores(query)
        weights = dict.fromkeys(scores, 0.0)
        named = set[int]()
        for term in query.terms if scores else ():
            holding = self._holding(self._phrases(term))
            weight = weight_of(len(holding), self._all)
            for id in holding & scores.keys():
                weights[id] += weight
            if term in query.names:
                named |= holding
        return {id: (id in named, weights[id], score, id) for id, score in scores.items()}

    def _scores(self, query: Query) -> dict[int, float]:
        """All within the limits of a query that holds its words, with its BM25."""
        words = " OR ".join(filter(None, map(self._phrases, query.terms)))
        if not words:
            return {}
        where, given = self._where(query, words)
        return dict(
            self._rows(f"SELECT rowid, -bm25(words, {WEIGHTS}) FROM words WHERE {where}", *given)
        )

    def _holding(self, words: str) -> set[int]:
        """What holds words, by id."""
        found = "SELECT rowid FROM words WHERE words MATCH ?"
        return {*self._ids(found, words)} if words else set()

    def _number(self, words: str) -> int:
        """How much holds words."""
        found = "SELECT count(*) FROM words WHERE words MATCH ?"
        return self._rows(found, words)[0][0] if words else 0

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
        if query.tools:
            any_tool = " OR ".join(["tool LIKE ? ESCAPE '\\'"] * len(query.tools))
            limits.append(f"kind IN (SELECT id FROM kinds WHERE {any_tool})")
        return " AND ".join(limits), [f"%{_escaped(tool)}%" for tool in query.tools]

    def _blocks(
        self, ids: Iterable[int], fits: Mapping[int, Fit], most: int
    ) -> Iterator[list[Candidate]]:
        left = iter(ids)
        while block := [*islice(left, most)]:
            yield self._candidates(block, fits)

    def _candidates(self, ids: Iterable[int], fits: Mapping[int, Fit]) -> list[Candidate]:
        found = self._documents(ids)
        return [
            Candidate(id, self._names[log], document, *fits.get(id, ())[1:3])
            for id, log, document in found
        ]

    def _in_which(self, pattern: Pattern, ids: Iterable[int]) -> Iterator[int]:
        spelled = Spelled(pattern.literal) if pattern.literal else None
        for id, _, document in self._documents(ids, spelled):
            if pattern.is_in(document.text):
                yield id

    def _documents(
        self, ids: Iterable[int], spelled: Spelled | None = None
    ) -> Iterator[tuple[int, int, Document]]:
        """Documents in this order: id, log, what it is. They are read by the dozen.

        Those that certainly do not hold a text may be left out.

        Raises:
            ValueError: what is in the files is not what was read there.
        """
        left = iter(ids)
        while block := [*islice(left, READ_AT_ONCE)]:
            where = f"documents.id IN ({', '.join(map(str, block))}) ORDER BY file, start"
            listed = map(rows.Row._make, self._rows(f"{rows.ROW} WHERE {where}"))
            found: dict[int, tuple[int, Document]] = {}
            for (log, _), group in groupby(listed, lambda row: (row.log, row.file)):
                of_file = [*group]
                read = self._conversation(log).documents(of_file, spelled)
                found |= {id: (log, document) for id, document in read.items()}
            yield from ((id, *found[id]) for id in block if id in found)

    def _ids(self, query: str, *given: Any) -> list[int]:
        return [id for (id,) in self._rows(query, *given)]


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
    """What holds all the paths of a query; a bare name may also stand in a call by itself."""
    return " AND ".join(
        f"(paths : {phrase} *{'' if '/' in path else f' OR about : {phrase}'})"
        for path in query.paths
        if (phrase := _phrase(path))
    )


def _escaped(text: str) -> str:
    r"""For LIKE: `"a_b"` -> `"a\_b"`."""
    return re.sub(r"([%_\\])", r"\\\1", text)
