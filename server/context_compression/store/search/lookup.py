"""A search in the index: the SQL that finds documents with words, names, or a pattern."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby, islice
from typing import Any, TypeAlias

from context_compression.store.search import tables
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.index import Index
from context_compression.store.search.messages import CallLabel, RecordedMessage
from context_compression.store.search.patterns import Pattern
from context_compression.store.search.query import (
    LONGEST_WORD,
    Query,
    humps,
    indexable,
    is_humped,
    weight_of,
)
from context_compression.store.search.results import Neighbour
from context_compression.store.search.sources import CandidateDocument
from context_compression.store.search.spellings import Spellings

WEIGHTS = "1.0, 0.5, 0.5, 0.5"
"""BM25 weights of the columns of the table `words`: text, humps, paths, about."""
SHORTEST_BEGINNING = 3
"""If no text contains a word of at least this many letters, longer words that begin with it count.
"""
MOST_SCANNED = 4
"""If no document fits a query, all texts are read for this many of its words."""
READ_AT_ONCE = 64
"""Documents read at once. A few may be read in vain, but each file is opened once for all of them.
"""
Fit: TypeAlias = tuple[bool, float, float, int]
"""How well a document fits a query: whether it contains a name of the query, its weight and score
as in `CandidateDocument`, and its id.
"""


class IndexLookup:
    """One search in the index; see `sources.CandidateSource` for the methods."""

    def __init__(self, index: Index, session: str | None) -> None:
        """A search.

        Args:
            index: up to date.
            session: search only the session with this id; `None` for all.
        """
        self._rows = index.rows
        self._names: dict[int, str] = dict(index.rows("SELECT id, name FROM logs"))
        self._logs = {name: id for id, name in self._names.items()}
        self._session = cache(index.session)
        self._phrases = lru_cache(self._phrases_of)  # each is needed several times
        self._within = "1" if session is None else f"documents.log = {self._logs.get(session, -1)}"
        [(self._all,)] = index.rows("SELECT count(*) FROM documents")

    def count(self) -> int:
        """How many documents there are to search."""
        [(count,)] = self._rows(f"SELECT count(*) FROM documents WHERE {self._within}")
        return count

    def without_common_words(self, query: Query) -> Query:
        """The query without words that are too common here, see `Query.without_common_words`."""
        less = query.without_common_words(lambda term: self._number(self._phrases(term)), self._all)
        return less if less == query or self._scores(less) else query

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """All documents that contain words of the query, those with its names first; and how many.

        If no text contains a word, longer words that begin with it count. If no document fits the
        query even then, its first words are searched as parts of other words.

        Raises:
            StoreError: the pattern takes too long.
        """
        fits = self._fits(query)
        ids = sorted(fits, key=fits.__getitem__, reverse=True) or self._with_parts(query)
        if pattern:
            return self._blocks(self._in_which(pattern, ids), fits, most), None
        return self._blocks(ids, fits, most), len(ids)

    def with_pattern(
        self, pattern: Pattern, least: int, most: int
    ) -> Iterator[list[CandidateDocument]]:
        """All documents that match a pattern, the newest first.

        If the pattern is plain text, documents that contain it as complete words may come first.

        Raises:
            StoreError: the pattern takes too long.
        """
        first: list[int] = []
        literal = pattern.literal or ""
        order = f"AND {self._within} ORDER BY ours, id DESC"
        if phrase := _phrase(literal):  # most matches are complete words
            matching = "id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            ids = self._ids(
                f"SELECT id FROM documents WHERE {matching} {order}", f"text : {phrase} *"
            )
            first = [*islice(self._in_which(pattern, ids), most)]
            if len(first) >= least:
                yield self._candidates(first, {})
            else:
                first = []
        where, values = "1", list[Any]()
        if rest := _phrase(_after_first_word(literal)):
            where += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values.append(f"text : {rest} *")
        ids = self._ids(f"SELECT id FROM documents WHERE {where} {order}", *values)
        if literal:
            may_hold = self._may_hold(Spellings(literal), f"{where} AND {self._within}", values)
            ids = [id for id in ids if id in may_hold]
        matches = self._in_which(pattern, ids)
        yield from self._blocks((id for id in matches if id not in first), {}, most)

    def _may_hold(self, spellings: Spellings, where: str, values: Sequence[Any]) -> set[int]:
        """The ids of all documents except those that certainly do not contain a text."""
        listed = self._rows(
            "SELECT log, file, (SELECT name FROM files WHERE id = file), id, start, length,"
            f" parts IS NOT NULL FROM documents WHERE {where} ORDER BY file",
            *values,
        )
        ids = set[int]()
        for (log, _, name), group in groupby(listed, lambda row: row[:3]):
            ids |= self._session(log).may_hold(name, spellings, (row[3:] for row in group))
        return ids

    def neighbours(self, candidate: CandidateDocument) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        log = self._logs[candidate.session]
        before, after = self._session(log).neighbours(candidate.document.message)
        return self._neighbour(log, before), self._neighbour(log, after)

    def call(self, candidate: CandidateDocument) -> CallLabel:
        """The call that a text is the result of; for a message, the tools it calls."""
        query = f"{tables.SELECT_DOCUMENT} WHERE documents.id = ?"
        [columns] = self._rows(query, candidate.key)
        row = tables.DocumentRow(*columns)
        return self._session(row.log).call(row) or candidate.document.call

    def _phrases_of(self, term: str) -> str:
        """A term in the language of FTS5; a name in camel case also as its parts."""
        parts = humps([term]) if is_humped(term) else ""
        phrases = [phrase for phrase in (_phrase(term), _phrase(parts)) if phrase]
        complete = " OR ".join(phrases)
        if len(term) < SHORTEST_BEGINNING or not complete:
            return complete
        is_held = "SELECT 1 FROM words WHERE words MATCH ? LIMIT 1"
        if len(term) < LONGEST_WORD and self._rows(is_held, complete):
            return complete
        return " OR ".join(f"{phrase} *" for phrase in phrases)

    def _neighbour(self, log: int, message: RecordedMessage | None) -> Neighbour | None:
        """A message with the ref of its first archived text, or else its own ref."""
        if message is None:
            return None
        ref = bytes.fromhex(message.ref)
        texts = "message = ?2 AND message > x''"
        for where in (texts, "ref = ?2 AND message IS NULL"):
            query = f"SELECT ref FROM documents WHERE log = ?1 AND {where} ORDER BY id LIMIT 1"
            for (archived,) in self._rows(query, log, ref):
                return Neighbour(archived.hex(), message.role, message.glimpse)
        return Neighbour(None, message.role, message.glimpse)

    def _with_parts(self, query: Query) -> list[int]:
        """All documents with a word as a part of others; without words, all within the limits."""
        terms = [term.casefold() for term in query.terms[:MOST_SCANNED]]
        limits, values = self._limits(query)
        if query.paths:
            limits += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values = [*values, _paths(query)]
        ids = self._ids(f"SELECT id FROM documents WHERE {limits} ORDER BY ours, id DESC", *values)
        if not terms:
            return ids
        texts = ((id, document.text.casefold()) for id, _, document in self._documents(ids))
        return [id for id, text in texts if any(term in text for term in terms)]

    def _fits(self, query: Query) -> dict[int, Fit]:
        """How well each document that contains words of the query fits, by id."""
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
        """The BM25 of each document that is within a query's limits and has its words, by id."""
        words = " OR ".join(filter(None, map(self._phrases, query.terms)))
        if not words:
            return {}
        where, values = self._where(query, words)
        return dict(
            self._rows(f"SELECT rowid, -bm25(words, {WEIGHTS}) FROM words WHERE {where}", *values)
        )

    def _holding(self, words: str) -> set[int]:
        """The ids of the documents that match `words`, an FTS5 expression."""
        query = "SELECT rowid FROM words WHERE words MATCH ?"
        return {*self._ids(query, words)} if words else set()

    def _number(self, words: str) -> int:
        """How many documents match `words`, an FTS5 expression."""
        query = "SELECT count(*) FROM words WHERE words MATCH ?"
        return self._rows(query, words)[0][0] if words else 0

    def _where(self, query: Query, words: str) -> tuple[str, list[Any]]:
        """The condition for words within the limits of a query, and its values."""
        match = f"({words}) AND {_paths(query)}" if query.paths else words
        limits, values = self._limits(query)
        if limits == "1":
            return "words MATCH ?", [match]
        within = f"+rowid IN (SELECT id FROM documents WHERE {limits})"
        return f"words MATCH ? AND {within}", [match, *values]

    def _limits(self, query: Query) -> tuple[str, list[Any]]:
        """The condition for the limits of a query, except its paths; and the condition's values."""
        limits = [self._within] + ["failed"] * query.failed
        if query.tools:
            any_tool = " OR ".join(["tool LIKE ? ESCAPE '\\'"] * len(query.tools))
            limits.append(f"kind IN (SELECT id FROM kinds WHERE {any_tool})")
        return " AND ".join(limits), [f"%{_escaped(tool)}%" for tool in query.tools]

    def _blocks(
        self, ids: Iterable[int], fits: Mapping[int, Fit], most: int
    ) -> Iterator[list[CandidateDocument]]:
        left = iter(ids)
        while block := [*islice(left, most)]:
            yield self._candidates(block, fits)

    def _candidates(self, ids: Iterable[int], fits: Mapping[int, Fit]) -> list[CandidateDocument]:
        return [
            CandidateDocument(id, self._names[log], document, *fits.get(id, ())[1:3])
            for id, log, document in self._documents(ids)
        ]

    def _in_which(self, pattern: Pattern, ids: Iterable[int]) -> Iterator[int]:
        """The ids of the documents that match a pattern, in their order."""
        spellings = Spellings(pattern.literal) if pattern.literal else None
        for id, _, document in self._documents(ids, spellings):
            if pattern.is_in(document.text):
                yield id

    def _documents(
        self, ids: Iterable[int], spellings: Spellings | None = None
    ) -> Iterator[tuple[int, int, IndexedDocument]]:
        """Documents in the order of `ids`, each as its id, the id of its log, and the document.

        Args:
            ids: of the documents.
            spellings: of a text; documents that certainly do not contain it may be omitted.

        Raises:
            ValueError: the files were changed.
        """
        left = iter(ids)
        while block := [*islice(left, READ_AT_ONCE)]:
            where = f"documents.id IN ({', '.join(map(str, block))}) ORDER BY file, start"
            rows = self._rows(f"{tables.SELECT_DOCUMENT} WHERE {where}")
            listed = map(tables.DocumentRow._make, rows)
            documents: dict[int, tuple[int, IndexedDocument]] = {}
            for (log, _), group in groupby(listed, lambda row: (row.log, row.file)):
                read = self._session(log).documents([*group], spellings)
                documents |= {id: (log, document) for id, document in read.items()}
            yield from ((id, *documents[id]) for id in block if id in documents)

    def _ids(self, query: str, *values: Any) -> list[int]:
        return [id for (id,) in self._rows(query, *values)]


def _after_first_word(text: str) -> str:
    """The text after its first word, because that may be only the end of a word in the index.

    "" if the text has letters outside ASCII: SQLite and Python might split it into different words.
    """
    match = re.match(r"[\W_]*[^\W_]+", text) if text.isascii() else None
    return text[match.end() :] if match else ""


def _phrase(text: str) -> str:
    """Consecutive words, in the quotation marks of FTS5; "" if there are none."""
    words = indexable(text).replace('"', " ").strip()
    return f'"{words}"' if any(map(str.isalnum, words)) else ""


def _paths(query: Query) -> str:
    """The condition for all paths of a query; a bare name may also occur in a call."""
    return " AND ".join(
        f"(paths : {phrase} *{'' if '/' in path else f' OR about : {phrase}'})"
        for path in query.paths
        if (phrase := _phrase(path))
    )


def _escaped(text: str) -> str:
    r"""For LIKE: `"a_b"` -> `"a\_b"`."""
    return re.sub(r"([%_\\])", r"\\\1", text)
