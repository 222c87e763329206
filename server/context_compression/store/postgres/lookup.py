"""A search in the tables: the candidates for words, names, limits or a pattern, and their texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from context_compression.conversation.messages import Message
from context_compression.conversation.refs import ref_of
from context_compression.errors import ContextCompressionError
from context_compression.plurals import how_many
from context_compression.store.hits import Neighbour
from context_compression.store.json_lines import object_in_row
from context_compression.store.postgres import texts as lexemes
from context_compression.store.postgres.coding import Coding, about_row
from context_compression.store.postgres.matching import Fit, Scope, TextScores
from context_compression.store.postgres.rows import Archives, about_rows
from context_compression.store.postgres.texts import ITSELF
from context_compression.store.refs import is_usable
from context_compression.store.search.documents import IndexedDocument, Span
from context_compression.store.search.excerpt import (
    NO_CALL,
    CallLabel,
    full_text,
    glimpse_of,
    parse_message,
    speaker,
)
from context_compression.store.search.index import CandidateDocument
from context_compression.store.search.query import Pattern, Query, Spellings
from context_compression.store.session_files import text_in

READ_AT_ONCE = 64
"""Texts that are read at once."""
MOST_SCANNED = 4
"""If no text fits a query, texts are read for this many of its words."""
RELIED_WORDS = 30_000
"""Up to this length the index is known to have all words of a text."""
NOT_ALL = "very many texts fit: only some of them, of the newest, were looked at; add rarer words"
NOWHERE = Span("", 0, 0)
_SHELVES = "SELECT no, texts, words FROM shelves WHERE tenant = %s AND texts > 0 ORDER BY no DESC"
_OF_SESSION = """
SELECT s.no, t.shelf, count(*), sum(t.length)::bigint FROM sessions s
JOIN texts t ON t.session = s.no WHERE s.tenant = %s AND s.id = %s
GROUP BY s.no, t.shelf ORDER BY t.shelf DESC
"""
_TOOLS = """
WITH RECURSIVE known AS (
    (SELECT tool FROM texts WHERE tenant = %s ORDER BY tool LIMIT 1)
    UNION ALL
    SELECT (SELECT tool FROM texts WHERE tenant = %s AND tool > known.tool
        ORDER BY tool LIMIT 1)
    FROM known WHERE known.tool IS NOT NULL
) SELECT tool FROM known WHERE tool <> ''
"""
_NEWEST = """
SELECT no, by_us FROM texts WHERE tenant = %s AND (%s::bigint IS NULL OR session = %s)
ORDER BY no DESC LIMIT %s
"""
_OURS = "SELECT no, by_us FROM texts WHERE tenant = %s AND no = ANY(%s)"
_ROWS = """
SELECT t.no, s.id, t.session, t.ref, t.message, t.at, t.failed, t.by_us, t.length, t.call,
    t.beside, r.entry
FROM texts t JOIN sessions s ON s.no = t.session
JOIN refs r ON r.session = t.session AND r.n = t.n AND r.place = t.place
WHERE t.tenant = %s AND t.no = ANY(%s)
"""
_EVENTS = "SELECT n, body FROM rows WHERE session = %s AND kind = 0 AND n = ANY(%s)"
_ARCHIVED = """
SELECT DISTINCT ON (message) message, ref FROM texts
WHERE session = %s AND message = ANY(%s) ORDER BY message, (ref = message), no
"""


@dataclass(frozen=True)
class StoredText(IndexedDocument):
    """A text of the tables.

    Attributes:
        absent: names that it certainly does not contain.
        beside: event and position of the messages before and after its message; -1 for none.
        in_session: the number of its session.
    """

    absent: frozenset[str] = frozenset()
    beside: tuple[int, ...] = ()
    in_session: int = 0

    def lacks(self, spellings: Spellings) -> bool:
        """Whether it certainly does not contain a text, by its words."""
        return spellings.text in self.absent


class TextLookup:
    """One search in the tables; see `sources.CandidateSource` for the methods.

    Attributes:
        complete: whether everything was looked through; otherwise only the newest of too many.
        unreadable: how many texts that may fit could not be read, because they are damaged.
    """

    def __init__(self, scope: Scope, archives: Archives) -> None:
        """A search within a scope; see `scope_of`."""
        self._scope, self._archives = scope, archives
        self._fits = TextScores(scope)
        self.complete = True
        self.unreadable = 0

    @property
    def notes(self) -> list[str]:
        """What the result does not tell: that not everything was looked at, or could be."""
        notes = [NOT_ALL] * (not self.complete)
        if self.unreadable:
            texts = how_many(self.unreadable, "text")
            notes.append(f"{texts} could not be read, because the archive is damaged")
        return notes

    def count(self) -> int:
        """How many documents there are to search."""
        return self._scope.texts

    def without_common_words(self, query: Query) -> Query:
        """The query without words that are too common here, see `Query.without_common_words`."""
        limits = self._limits(query)
        about = query.without_function_words
        query = about if about == query or self._fits.any_of(about, limits) else query
        less = query.without_common_words(self._fits.number, self._scope.texts)
        return less if less == query or self._fits.any_of(less, limits) else query

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """The documents that contain words of the query, those with its names first; and how many.

        As in `IndexLookup`; of a query that very many documents fit, only some are found, and
        they are not counted.
        """
        fitting = self._fits.of(query, self._limits(query))
        ids = fitting.ordered
        self.complete = self.complete and fitting.complete
        if not ids:
            ids = self._with_parts(query)
        fits = fitting.fits
        if pattern:
            return self._blocks(self._in_which(pattern, ids, fits), fits, most), None
        return self._blocks(ids, fits, most), len(ids) if self.complete else None

    def with_pattern(
        self, pattern: Pattern, least: int, most: int
    ) -> Iterator[list[CandidateDocument]]:
        """The documents that match a pattern, the newest first, but our own texts last."""
        ids = self._newest(
            lexemes.surely_in(pattern.literal or "", whole=self._scope.coding.words is not None)
        )
        yield from self._blocks(self._in_which(pattern, ids, {}), {}, most)

    def neighbours(self, candidate: CandidateDocument) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        document = candidate.document
        if (
            not isinstance(document, StoredText)
            or max(document.beside, default=-1) < 0
            or len(document.beside) != 4
        ):
            return None, None
        pairs = [(document.beside[0], document.beside[1]), (document.beside[2], document.beside[3])]
        about = about_rows(candidate.session, "events")
        events = {
            n: object_in_row(self._scope.coding.row(body, about, n), about_row(about, n))
            for n, body in self._scope.ask(
                _EVENTS, [document.in_session, [n for n, _ in pairs if n >= 0]]
            )
        }
        raws = [self._raw(candidate.session, events.get(n), at) for n, at in pairs]
        refs = [ref_of(raw) if raw is not None else "" for raw in raws]
        archived = dict(self._scope.ask(_ARCHIVED, [document.in_session, [*filter(None, refs)]]))
        before, after = (
            _neighbour(raw, archived.get(ref)) for raw, ref in zip(raws, refs, strict=True)
        )
        return before, after

    def call(self, candidate: CandidateDocument) -> CallLabel:
        """The call that a text is the result of; for a message, the tools it calls."""
        return candidate.document.call

    def _raw(self, session: str, event: Mapping[str, Any] | None, at: int) -> Any:
        """A recorded message; `None` if it is not where it was."""
        match event:
            case {"type": "message", "message": raw} if at == ITSELF:
                return raw
            case {"type": "messages", "file": str(name)}:
                try:
                    return self._archives.read_one(session, name, at)
                except ContextCompressionError:
                    return None
            case _:
                return None

    def _limits(self, query: Query) -> str:
        return lexemes.limits(query, self._tools_of(query.tools))

    @cached_property
    def _tools(self) -> list[str]:
        return [tool for [tool] in self._scope.ask(_TOOLS, [self._scope.tenant] * 2) if tool]

    def _tools_of(self, parts: Sequence[str]) -> list[str]:
        """The names of tools that contain one of these parts."""
        wanted = [part.casefold() for part in parts]
        return [
            tool for tool in (self._tools if parts else ())
            if any(part in tool.casefold() for part in wanted)
        ]  # fmt: skip

    def _with_parts(self, query: Query) -> list[int]:
        """Documents with a word as a part of others; without words, those within the limits."""
        terms = [term.casefold() for term in query.terms[:MOST_SCANNED]]
        ids = self._newest(self._limits(query))
        if not terms:
            return ids
        return [
            id
            for id, document in self._documents(ids, {})
            if any(term in document.text.casefold() for term in terms)
        ]

    def _newest(self, condition: str) -> list[int]:
        """The newest documents for which a condition holds, our own texts last."""
        scope, most = self._scope, self._scope.most_found
        if condition:
            [those] = self._fits.find([condition])
            self.complete = self.complete and those.complete
            found = scope.ask(_OURS, [scope.tenant, [*those.texts]])
        else:
            found = scope.ask(_NEWEST, [scope.tenant, scope.session, scope.session, most])
            self.complete = self.complete and len(found) < most
        found.sort(key=lambda each: (each[1], -each[0]))
        return [id for id, _ in found]

    def _blocks(
        self, ids: Iterable[int], fits: Mapping[int, Fit], most: int
    ) -> Iterator[list[CandidateDocument]]:
        left = iter(ids)
        while block := [*islice(left, most)]:
            yield [
                CandidateDocument(id, session, document, *fits[id][1:3] if id in fits else ())
                for id, session, document in self._read(block, fits)
            ]

    def _in_which(
        self, pattern: Pattern, ids: Iterable[int], fits: Mapping[int, Fit]
    ) -> Iterator[int]:
        """The ids of the documents that match a pattern, in their order."""
        for id, document in self._documents(ids, fits):
            if pattern.is_in(document.text):
                yield id

    def _documents(
        self, ids: Iterable[int], fits: Mapping[int, Fit]
    ) -> Iterator[tuple[int, IndexedDocument]]:
        left = iter(ids)
        while block := [*islice(left, READ_AT_ONCE)]:
            for id, _, document in self._read(block, fits):
                yield id, document

    def _read(
        self, ids: Sequence[int], fits: Mapping[int, Fit]
    ) -> Iterator[tuple[int, str, StoredText]]:
        """Documents in the order of `ids`, each with its session; those deleted are left out."""
        rows = {row[0]: row for row in self._scope.ask(_ROWS, [self._scope.tenant, [*ids]])}
        sound = self._scope.coding.sound
        entries = {
            id: entry
            for id in ids
            if id in rows
            and (entry := sound(rows[id][-1], f"refs/{rows[id][3]}", dict))
            and is_usable(entry)
        }
        places = {
            id: (rows[id][1], entry["file"], entry["message"])
            for id, entry in entries.items()
            if "text" not in entry
        }

        originals = self._archives.read_each([*places.values()])
        lost = {id for id, place in places.items() if place not in originals}
        lost |= rows.keys() - entries.keys()
        self.unreadable += len(lost)

        def text_of(id: int) -> str:
            entry = entries[id]
            if "text" in entry:
                return entry["text"]
            raw = originals[places[id]]
            if entry["block"] is None:
                return full_text(parse_message(raw))
            with suppress(IndexError):  # somebody changed the number of the block
                return text_in(raw, entry["block"])
            return ""

        for id in ids:
            if id not in rows or id in lost:
                continue
            _, session, number, ref, message, at, failed, by_us, length, call, beside, _ = rows[id]
            absent = fits[id].absent if id in fits and length <= RELIED_WORDS else frozenset[str]()
            yield id, session, StoredText(
                ref, entries[id]["what"], message, NOWHERE, lambda id=id: text_of(id),
                _call(sound(call, f"texts/{ref}", list)), failed, by_us, place=at, absent=absent,
                beside=tuple(beside), in_session=number,
            )  # fmt: skip


def scope_of(ask: Any, tenant: str, coding: Coding, session: str | None) -> Scope:
    """What a search of a session, or of all for `None`, looks through."""
    if session is None:
        shelves = {no: (texts, words) for no, texts, words in ask(_SHELVES, [tenant])}
        return Scope(ask, tenant, coding, shelves)
    rows = ask(_OF_SESSION, [tenant, session])
    shelves = {shelf: (texts, words) for _, shelf, texts, words in rows}
    return Scope(ask, tenant, coding, shelves, rows[0][0] if rows else 0)


def _call(parts: list[Any] | None) -> CallLabel:
    """A call of a tool as it was kept; none if that was changed."""
    return CallLabel(*map(str, parts)) if parts and len(parts) == 2 else NO_CALL


def _neighbour(raw: Any, ref: str | None) -> Neighbour | None:
    if raw is None:
        return None
    message: Message = parse_message(raw)
    return Neighbour(ref, speaker(message), glimpse_of(message))
