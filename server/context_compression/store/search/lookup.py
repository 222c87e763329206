"""A search in the index: the SQL that finds candidates."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from context_compression.store.hits import Neighbour
from context_compression.store.search.candidates import CandidateDocument
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.excerpt import Fit, Fits, phrase_of
from context_compression.store.search.index import Index
from context_compression.store.search.query import Pattern, Query
from context_compression.store.search.tables import message_of

READ_AT_ONCE = 64
"""Documents read at once; a few may be read in vain."""


class IndexLookup:
    """One search in the index; see `CandidateSource` for the methods."""

    def __init__(
        self,
        index: Index,
        session: str | Sequence[str] | None,
        without: tuple[str, int] | None = None,
        newest_first: str = "id DESC",
    ) -> None:
        """A search.

        Args:
            index: up to date.
            session: search only the session with this id, or those with these; `None` for all.
            without: a session, and after how many messages of it nothing is searched.
            newest_first: SQL that puts the newest documents first.
        """
        self._index, self._rows = index, index.rows
        self._name_of, self._newest_first = cache(index.name_of), newest_first
        only = [session] if isinstance(session, str) else session
        logs = ", ".join(str(self._log(each)) for each in only or ())
        within = "1" if only is None else f"documents.log IN ({logs})"
        left_out = ""
        if without:
            left_out = f"documents.log = {self._log(without[0])} AND documents.place > {without[1]}"
        self._within = f"{within} AND NOT ({left_out})" if left_out else within
        [(self.among,)] = index.rows("SELECT count(*) FROM documents")
        self._fits = Fits(index.rows, within, self.among, without=left_out)
        self.holding, self.any_of = self._fits.number, self._fits.any_of

    def count(self) -> int:
        """How many documents there are to search."""
        if self._within == "1":
            return self.among
        [(count,)] = self._rows(f"SELECT count(*) FROM documents WHERE {self._within}")
        return count

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """All documents that contain words of the query, those with its names first; and how many.

        If no text contains a word, longer words that begin with it count. If no document fits the
        query even then, its first words are searched as parts of other words. If very many fit,
        only some do (see `excerpt.MANY`), and they are not counted.

        Raises:
            StoreError: the pattern takes too long.
        """
        fits = self._fits.of(query)
        ids = sorted(fits, key=fits.__getitem__, reverse=True)
        ids = ids or self._fits.with_parts(query, self._texts)
        if pattern:
            return self._blocks(self._in_which(pattern, ids), fits, most), None
        return self._blocks(ids, fits, most), len(ids) if self._fits.all_scored else None

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
        order = f"AND {self._within} ORDER BY ours, {self._newest_first}"
        if phrase := phrase_of(literal):  # most matches are complete words
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
        if rest := phrase_of(_after_first_word(literal)):
            where += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values.append(f"text : {rest} *")
        ids = self._ids(f"SELECT id FROM documents WHERE {where} {order}", *values)
        matches = self._in_which(pattern, ids)
        yield from self._blocks((id for id in matches if id not in first), {}, most)

    def neighbours(self, candidate: CandidateDocument) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        log, ref = self._log(candidate.session), candidate.document.message
        query = "SELECT id, place FROM messages WHERE log = ? AND ref = ? ORDER BY id LIMIT 1"
        for id, place in self._rows(query, log, bytes.fromhex(ref)):
            return (
                self._neighbour(log, "id < ? AND place = ? ORDER BY id DESC", id, place - 1),
                self._neighbour(log, "id > ? AND place = ? ORDER BY id", id, place + 1),
            )
        return None, None

    def _neighbour(self, log: int, where: str, *values: int) -> Neighbour | None:
        """A message with the ref of its first archived text, or else its own ref."""
        query = f"SELECT ref, place, packed FROM messages WHERE log = ? AND {where} LIMIT 1"
        for ref, *row in self._rows(query, log, *values):
            message = message_of(ref, *row)
            for one in ("message = ?2 AND message > x''", "ref = ?2 AND message IS NULL"):
                query = f"SELECT ref FROM documents WHERE log = ?1 AND {one} ORDER BY id LIMIT 1"
                for (archived,) in self._rows(query, log, ref):
                    return Neighbour(archived.hex(), message.role, message.glimpse)
            return Neighbour(None, message.role, message.glimpse)
        return None

    def _log(self, session: str) -> int:
        """The id of a session in the table of logs; -1 if it has none."""
        found = self._rows("SELECT id FROM logs WHERE name = ?", session)
        return found[0][0] if found else -1

    def _texts(self, ids: Iterable[int]) -> Iterator[tuple[int, str]]:
        return ((id, document.text) for id, _, document in self._documents(ids))

    def _blocks(
        self, ids: Iterable[int], fits: Mapping[int, Fit], most: int
    ) -> Iterator[list[CandidateDocument]]:
        left = iter(ids)
        while block := [*islice(left, most)]:
            yield self._candidates(block, fits)

    def _candidates(self, ids: Iterable[int], fits: Mapping[int, Fit]) -> list[CandidateDocument]:
        return [
            CandidateDocument(id, self._name_of(log), document, *fits.get(id, ())[1:3])
            for id, log, document in self._documents(ids)
        ]

    def _in_which(self, pattern: Pattern, ids: Iterable[int]) -> Iterator[int]:
        """The ids of the documents that match a pattern, in their order."""
        return (id for id, text in self._texts(ids) if pattern.is_in(text))

    def _documents(self, ids: Iterable[int]) -> Iterator[tuple[int, int, IndexedDocument]]:
        """Documents in the order of `ids`, each as its id, the id of its log, and the document."""
        left = iter(ids)
        while block := [*islice(left, READ_AT_ONCE)]:
            listed = ", ".join(map(str, block))
            documents = self._index.documents(f"documents.id IN ({listed})")
            yield from ((id, *documents[id]) for id in block if id in documents)

    def _ids(self, query: str, *values: Any) -> list[int]:
        return [id for (id,) in self._rows(query, *values)]


def _after_first_word(text: str) -> str:
    """The text after its first word, because that may be only the end of a word in the index.

    "" if the text has letters outside ASCII: SQLite and Python might split it into different words.
    """
    match = re.match(r"[\W_]*[^\W_]+", text) if text.isascii() else None
    return text[match.end() :] if match else ""
