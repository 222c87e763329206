"""One search in the tables: the candidates, their texts, and what stands beside them.

The server finds texts that hold words of the query, and no more than that is asked of it. Those
that hold the rarest words are read and ranked by the engine that searches files (`store.search`),
over an index in memory. What is looked up is bounded: of a word that many texts hold only some are
found, of the newest shelves.

The texts of a tenant that is sealed have no words in the tables. All of a session's are read then,
and a search must name the session.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any, TypeAlias

from context_compression.conversation.refs import ref_of
from context_compression.errors import ContextCompressionError
from context_compression.plurals import how_many
from context_compression.store.hits import Neighbour
from context_compression.store.json_lines import object_in_row
from context_compression.store.postgres.coding import Coding, about_row
from context_compression.store.postgres.rows import Archives, about_rows
from context_compression.store.postgres.texts import FAILED, ITSELF, mark_of, words_in
from context_compression.store.refs import is_usable
from context_compression.store.search.candidates import CandidateDocument, in_blocks
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.excerpt import (
    NO_CALL,
    SHORTEST_BEGINNING,
    STEM_SHARE,
    CallLabel,
    Fits,
    full_text,
    glimpse_of,
    parse_message,
    speaker,
)
from context_compression.store.search.index import fitting, in_memory
from context_compression.store.search.query import (
    Pattern,
    Query,
    humps,
    indexable,
    is_humped,
    shortened,
    weight_of,
)
from context_compression.store.session_files import text_in

FEW_TEXTS = 5_000
"""Of up to so many texts all are found."""
MOST_FOUND = 200
"""How many of more texts are found at most with one condition."""
MORE_SHELVES = 6
"""How many times as many shelves are read next: common words are found often enough on the first.
"""
RANKED_AT_ONCE = 100
"""How many texts are read and ranked together, those that hold the rarest words first."""
READ_AT_ONCE = 64
"""How many texts are read at once where a pattern is looked for."""
SHELF = "\0"
"""Stands for the shelf in a condition."""
NOT_ALL = "very many texts fit: only some of them, of the newest, were looked at; add rarer words"
ENCRYPTED = "what this store keeps is encrypted: name a session to search its texts"
_SHELVES = "SELECT no, texts FROM shelves WHERE tenant = %s AND texts > 0 ORDER BY no DESC"
_OF_SESSION = """
SELECT s.no, t.shelf, count(*) FROM sessions s JOIN texts t ON t.session = s.no
WHERE s.tenant = %s AND s.id = %s GROUP BY s.no, t.shelf ORDER BY t.shelf DESC
"""
_IN_ALL = "SELECT at, no FROM texts_with(%s::text[]::tsquery[], %s)"
_IN_SESSION = """
SELECT q.at, l.no FROM unnest(%s::text[]::tsquery[]) WITH ORDINALITY AS q (query, at)
JOIN lexemes l ON l.session = %s AND l.words @@ q.query
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
SELECT t.no, s.id, t.ref, t.message, t.at, t.failed, t.by_us, t.call, r.entry
FROM texts t JOIN sessions s ON s.no = t.session
JOIN refs r ON r.session = t.session AND r.n = t.n AND r.place = t.place
WHERE t.tenant = %s AND t.no = ANY(%s)
"""
_BESIDE = "SELECT session, beside FROM texts WHERE tenant = %s AND no = %s"
_EVENTS = "SELECT n, body FROM rows WHERE session = %s AND kind = 0 AND n = ANY(%s)"
_ARCHIVED = """
SELECT DISTINCT ON (message) message, ref FROM texts
WHERE session = %s AND message = ANY(%s) ORDER BY message, (ref = message), no
"""
Ask: TypeAlias = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


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


class SearchedWords:
    """The words of the texts that are searched: all of a tenant, or those of one session."""

    def __init__(self, ask: Ask, tenant: str, session: str | None, *, sealed: bool) -> None:
        """The words of a session, or of all for `None`; of sealed texts none are known."""
        self._ask, self._tenant, self.sealed = ask, tenant, sealed
        self._found: dict[str, Found] = {"": Found()}
        self.session: int | None = None
        if session is None:
            rows = ask(_SHELVES, [tenant])
        else:
            found = ask(_OF_SESSION, [tenant, session])
            rows = [(shelf, texts) for _, shelf, texts in found]
            self.session = found[0][0] if found else 0
        self._shelves: dict[int, int] = dict(rows)
        self.texts = sum(self._shelves.values())
        self.most = MOST_FOUND if self.texts > FEW_TEXTS and not sealed else self.texts + 1

    def find(self, *conditions: str) -> list[Found]:
        """The texts that each condition finds; what was looked up before is not again."""
        if new := [each for each in dict.fromkeys(conditions) if each not in self._found]:
            self._found |= dict.fromkeys(new, Found(frozenset(), self.texts))
            self._look_up(new)
        return [self._found[each] for each in conditions]

    def exactly(self, term: str) -> str:
        """The condition for a term as it is written.

        If no text contains a word, longer words that begin with it count.
        """
        [found] = self.find(condition := _exactly(term))
        relaxed = not found.texts and len(term) >= SHORTEST_BEGINNING
        return _exactly(term, begins=True) if relaxed else condition

    def holding(self, term: str, table: str = "words") -> int:
        """About how many texts contain a term: as it is written, or in any form (`"stems"`)."""
        condition = self.exactly(term) if table == "words" else in_any_form(term)
        [found] = self.find(condition)
        return found.share_of(self.texts)

    def any_of(self, query: Query, limits: str) -> bool:
        """Whether any text within the limits contains words of the query."""
        forms = [form for term in query.terms for form in (self.exactly(term), in_any_form(term))]
        return any(each.texts for each in self.find(*(_all([limits, f]) for f in forms if f)))

    def newest(self, condition: str) -> tuple[list[int], bool]:
        """The newest texts for which a condition holds, our own last; and whether these are all."""
        if condition:
            [those] = self.find(condition)
            rows, complete = self._ask(_OURS, [self._tenant, [*those.texts]]), those.complete
        else:
            rows = self._ask(_NEWEST, [self._tenant, self.session, self.session, self.most])
            complete = len(rows) < self.most
        return [no for no, _ in sorted(rows, key=lambda row: (row[1], -row[0]))], complete

    def _look_up(self, conditions: Sequence[str]) -> None:
        if self.session is not None:
            for at, texts in self._grouped(_IN_SESSION, conditions, self._shelves, self.session):
                self._found[conditions[at]] = Found(texts, self.texts)
            return
        left, shelves, step, among = [*conditions], [*self._shelves], 1, 0
        while shelves and left:
            some, shelves = shelves[:step], shelves[step:]
            among += sum(self._shelves[shelf] for shelf in some)
            step = MORE_SHELVES * (len(self._shelves) - len(shelves))
            for at, texts in self._grouped(_IN_ALL, left, some, self.most):
                texts |= self._found[left[at]].texts
                self._found[left[at]] = Found(texts, among, len(texts) < self.most)
            left = [each for each in left if self._found[each].complete]

    def _grouped(
        self, query: str, conditions: Sequence[str], shelves: Iterable[int], limit: int
    ) -> Iterator[tuple[int, frozenset[int]]]:
        """The texts on some shelves by the position of the condition that finds them."""
        shelves = [*shelves]
        each_on = [_any(one.replace(SHELF, str(s)) for s in shelves) for one in conditions]
        found: defaultdict[int, set[int]] = defaultdict(set)
        for at, text in self._ask(query, [each_on, limit]) if shelves else ():
            found[at - 1].add(text)
        return ((at, frozenset(texts)) for at, texts in found.items())


class TextLookup:
    """One search in the tables; see `CandidateSource` for the methods.

    Attributes:
        complete: whether everything was looked through; otherwise only the newest of too many.
        unreadable: how many texts that may fit could not be read, because they are damaged.
    """

    def __init__(
        self, ask: Ask, tenant: str, coding: Coding, archives: Archives, session: str | None
    ) -> None:
        """A search in a session, or in all of a tenant for `None`."""
        self._ask, self._tenant, self._coding, self._archives = ask, tenant, coding, archives
        self._words = SearchedWords(ask, tenant, session, sealed=coding.seals)
        self._closed = coding.seals and session is None
        self.among = self._words.texts
        self.complete = True
        self.unreadable = 0

    @property
    def notes(self) -> list[str]:
        """What the result does not tell: that not everything was looked at, or could be."""
        notes = [ENCRYPTED] * self._closed + [NOT_ALL] * (not self.complete)
        if self.unreadable:
            texts = how_many(self.unreadable, "text")
            notes.append(f"{texts} could not be read, because the archive is damaged")
        return notes

    def count(self) -> int:
        """How many documents there are to search."""
        return 0 if self._closed else self._words.texts

    def holding(self, term: str) -> int:
        """About how many documents contain a term as it is written; 0 if that is not known."""
        return 0 if self._words.sealed else self._words.holding(term)

    def any_of(self, query: Query) -> bool:
        """Whether any document within the limits contains words of the query, or may do so."""
        return self._words.sealed or self._words.any_of(query, self._limits(query))

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """The documents that contain words of the query, those with its names first; and how many.

        As in `IndexLookup`; of a query that very many documents fit, only some are found, and
        they are not counted.
        """
        ids = [] if self._closed else self._fitting(query)
        at_once = len(ids) if self._words.sealed else max(RANKED_AT_ONCE, most)
        left = iter(ids)
        first = self._ranked(query, [*islice(left, at_once)])
        total = len(first) if len(ids) <= at_once else len(ids)
        later = (self._ranked(query, chunk) for chunk in iter(lambda: [*islice(left, at_once)], []))
        candidates = chain(first, chain.from_iterable(later))
        if pattern:
            return in_blocks((c for c in candidates if pattern.is_in(c.document.text)), most), None
        return in_blocks(candidates, most), total if self.complete else None

    def with_pattern(
        self, pattern: Pattern, least: int, most: int
    ) -> Iterator[list[CandidateDocument]]:
        """The documents that match a pattern, the newest first, but our own texts last."""
        if self._closed:
            return iter(())
        literal = "" if self._words.sealed else pattern.literal or ""
        ids, complete = self._words.newest(surely_in(literal))
        self.complete = self.complete and complete
        left = iter(ids)
        chunks = iter(lambda: [*islice(left, READ_AT_ONCE)], [])
        read = (each for chunk in chunks for each in self._read(chunk))
        return in_blocks((each for each in read if pattern.is_in(each.document.text)), most)

    def neighbours(self, candidate: CandidateDocument) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        found = self._ask(_BESIDE, [self._tenant, candidate.key])
        session, beside = found[0] if found else (0, ())
        if len(beside) != 4 or max(beside) < 0:
            return None, None
        pairs = [(beside[0], beside[1]), (beside[2], beside[3])]
        about = about_rows(candidate.session, "events")
        events = {
            n: object_in_row(self._coding.row(body, about, n), about_row(about, n))
            for n, body in self._ask(_EVENTS, [session, [n for n, _ in pairs if n >= 0]])
        }
        raws = [self._raw(candidate.session, events.get(n), at) for n, at in pairs]
        refs = [ref_of(raw) if raw is not None else "" for raw in raws]
        archived = dict(self._ask(_ARCHIVED, [session, [*filter(None, refs)]]))
        before, after = (
            _neighbour(raw, archived.get(ref)) for raw, ref in zip(raws, refs, strict=True)
        )
        return before, after

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
        return limits(query, self._tools_of(query.tools))

    @cached_property
    def _tools(self) -> list[str]:
        return [tool for [tool] in self._ask(_TOOLS, [self._tenant] * 2) if tool]

    def _tools_of(self, parts: Sequence[str]) -> list[str]:
        """The names of tools that contain one of these parts."""
        wanted = [part.casefold() for part in parts]
        return [
            tool for tool in (self._tools if parts else ())
            if any(part in tool.casefold() for part in wanted)
        ]  # fmt: skip

    def _fitting(self, query: Query) -> list[int]:
        """The texts that hold words of a query, those that hold its rarest first.

        If there are none, the newest within its limits.
        """
        words, within = self._words, self._limits(query)
        held: defaultdict[int, float] = defaultdict(float)
        named: set[int] = set()
        incomplete: dict[str, float] = {}
        for condition, share, is_name in () if words.sealed else self._forms(query):
            found, alone = words.find(_all([within, condition]), condition)
            weight = share * max(1e-6, weight_of(alone.share_of(words.texts), words.texts))
            for text in found.texts:
                held[text] += weight
            named |= found.texts if is_name else set()
            if not found.complete:
                self.complete = False
                incomplete[condition] = weight
        rarest = sorted(incomplete, key=incomplete.__getitem__, reverse=True)
        groups = {_all([within, *rarest[:size]]) for size in (2, 3, len(rarest)) if rarest[1:]}
        for found in words.find(*groups):
            for text in found.texts:
                held[text] += 1 + sum(incomplete.values())
        if held:
            return sorted(held, key=lambda text: (text in named, held[text], text), reverse=True)
        ids, complete = words.newest("" if words.sealed else within)
        self.complete = self.complete and complete
        return ids

    def _forms(self, query: Query) -> Iterator[tuple[str, float, bool]]:
        """The conditions for the terms of a query, each with its share, and whether for a name."""
        for term in query.terms:
            is_name = term in query.names
            if exact := self._words.exactly(term):
                yield exact, 1.0 if is_name else 1 - STEM_SHARE, is_name
            if exact and not is_name:
                yield in_any_form(term), STEM_SHARE, False

    def _ranked(self, query: Query, ids: Sequence[int]) -> list[CandidateDocument]:
        """The texts that fit a query, the best first, as the search in files finds them."""
        holding = None if self._words.sealed else self._words.holding
        candidates = self._read(ids)
        with in_memory(candidates) as rows:
            return fitting(candidates, query, Fits(rows, "1", self._words.texts, holding))

    def _read(self, ids: Sequence[int]) -> list[CandidateDocument]:
        """Texts in the order of `ids`; those deleted or damaged are left out."""
        rows = {row[0]: row for row in self._ask(_ROWS, [self._tenant, [*ids]])}
        sound = self._coding.sound
        entries = {
            id: entry
            for id, row in rows.items()
            if (entry := sound(row[-1], f"refs/{row[2]}", dict)) and is_usable(entry)
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
        read: list[CandidateDocument] = []
        for id in (each for each in ids if each in rows and each not in lost):
            _, session, ref, message, at, failed, by_us, call, _ = rows[id]
            entry = entries[id]
            text = entry["text"] if "text" in entry else _text_in(originals[places[id]], entry)
            document = IndexedDocument(
                ref, entry["what"], message, text,
                _call(sound(call, f"texts/{ref}", list)), failed, by_us, place=at,
            )  # fmt: skip
            read.append(CandidateDocument(id, session, document))
        return read


def in_any_form(term: str) -> str:
    """The condition for a word in any of its forms; for other terms that for it as it is."""
    words = words_in(indexable(term))
    if len(words) != 1 or is_humped(term):
        return _exactly(term)
    base = words[0]
    while shorter := shortened(base) if base.isascii() else "":
        base = shorter
    return _lexeme(base, begins=base != words[0])


def limits(query: Query, tools: Iterable[str]) -> str:
    """The condition for the limits of a query; "" if it has none.

    Args:
        query: with paths, tools, failures.
        tools: the names of all tools that the query means.
    """
    conditions = [_lexeme(FAILED)] * query.failed
    if query.tools:
        conditions.append(_any([_lexeme(mark_of(tool)) for tool in tools] or [_lexeme("=")]))
    conditions += [_exactly(path, begins=True) for path in query.paths]
    return _all(conditions)


def surely_in(literal: str) -> str:
    """The condition for texts that may contain a text anywhere; "" if it says nothing.

    The first word may be only the end of a word, the last only the beginning.
    """
    words = [*words_in(literal)] if literal.isascii() else []
    if words and not re.match(r"[\W_]", literal):
        del words[0]
    ends = re.search(r"[\W_]$", literal) is not None
    return _all(_lexeme(w, begins=w is words[-1] and not ends) for w in words)


def _exactly(term: str, *, begins: bool = False) -> str:
    """The condition for the words of a term, a name in camel case also by its parts.

    Args:
        term: of a query.
        begins: whether longer words than its last count.
    """
    ways = [term, *([humps([term])] if is_humped(term) else ())]
    words = [words_in(indexable(way)) for way in ways]
    return _any(
        _all([*map(_lexeme, each[:-1]), _lexeme(each[-1], begins=begins)]) for each in words if each
    )


def _lexeme(lexeme: str, *, begins: bool = False) -> str:
    return f"'{SHELF}:{lexeme}'{':*' if begins else ''}"


def _all(conditions: Iterable[str]) -> str:
    return _joined(" & ", conditions)


def _any(conditions: Iterable[str]) -> str:
    return _joined(" | ", conditions)


def _joined(sign: str, conditions: Iterable[str]) -> str:
    parts = [*dict.fromkeys(filter(None, conditions))]
    return parts[0] if len(parts) == 1 else sign.join(f"({each})" for each in parts)


def _text_in(raw: Any, entry: Mapping[str, Any]) -> str:
    """The text of a ref in its message; "" if somebody changed the number of the block."""
    if entry["block"] is None:
        return full_text(parse_message(raw))
    with suppress(IndexError):
        return text_in(raw, entry["block"])
    return ""


def _call(parts: list[Any] | None) -> CallLabel:
    """A call of a tool as it was kept; none if that was changed."""
    return CallLabel(*map(str, parts)) if parts and len(parts) == 2 else NO_CALL


def _neighbour(raw: Any, ref: str | None) -> Neighbour | None:
    if raw is None:
        return None
    message = parse_message(raw)
    return Neighbour(ref, speaker(message), glimpse_of(message))
