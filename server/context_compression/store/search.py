"""Search over the archive of all sessions: by words, or by a pattern.

Words are looked up in an index (BM25); where there can be none, all that is archived is read. What
comes closest is put in order here: what holds the names of the query as they are written goes
first.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from context_compression.errors import StoreUnwritable
from context_compression.evidence.ledger.outcomes import reported_errors
from context_compression.store.documents import Call, Candidate, Neighbour
from context_compression.store.excerpt import BEST_LINES, best_lines, is_letter
from context_compression.store.patterns import Pattern
from context_compression.store.query import Query
from context_compression.store.scan import Scan
from context_compression.store.spans import Spelled

if TYPE_CHECKING:
    from context_compression.store.folder import Store

_GOES_ON = re.compile(r"[./\\:-]+\w")
_GOES_BEFORE = frozenset("/\\.-")
MOST_RANKED = 60
"""Candidates that are looked at closely and put in order together."""
MOST_COUNTED = 120
"""Candidates of which all are looked at, so that it is known how many say the same."""


@dataclass(frozen=True)
class Hit:
    """Something archived that was found.

    Attributes:
        what: in a few words.
        session: where it is archived.
        held: how many of the query's words it holds.
        lines: those that show best why it was found, by their numbers from 1.
        numbered: whether its ref stands for a text, so that these are lines to ask for.
        before: what was said right before it; likewise `after`.
    """

    ref: str
    what: str
    session: str
    held: int
    lines: tuple[tuple[int, str], ...]
    numbered: bool
    before: Neighbour | None
    after: Neighbour | None


@dataclass(frozen=True)
class Found:
    """What a search found, the best first.

    Attributes:
        total: how much there is with any of the words, what says the same once; `None` where nobody
            counted.
        exact: whether it is that much; else it is at most that much.
        more: whether further hits follow these.
        searched: how much was looked through.
        words: those of the query that were looked for.
        note: why there was no index, or that no text holds a phrase, if so.
    """

    hits: tuple[Hit, ...]
    total: int | None
    searched: int
    words: tuple[str, ...]
    note: str | None = None
    exact: bool = True
    more: bool = False


class Source(Protocol):
    """What can be asked for candidates: the index, or a reading of everything."""

    def count(self) -> int:
        """How much there is to be found."""
        ...

    def telling(self, query: Query) -> Query:
        """The query without words that tell nothing here, see `Query.telling`."""
        ...

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[Candidate]], int | None]:
        """All that holds words of the query, what fits best first, in blocks of `most`.

        With it, how much that is; where a pattern has to be found in it, too, nobody has counted.
        The same arguments give the same blocks.
        """
        ...

    def with_pattern(self, pattern: Pattern, least: int, most: int) -> Iterator[list[Candidate]]:
        """All in which a pattern is found, the newest first, in such blocks.

        The first may have less, but no less than `least` where there are.
        """
        ...

    def beside(self, candidate: Candidate) -> tuple[Neighbour | None, Neighbour | None]:
        """What was said right before it, and right after it."""
        ...

    def call(self, candidate: Candidate) -> Call:
        """The call it answers; of a message, the tools it calls."""
        ...


def search(
    store: "Store",
    query: str = "",
    *,
    pattern: str | None = None,
    session: str | None = None,
    limit: int = 5,
    skip: int = 0,
) -> Found:
    """What `Store.search` does."""
    wanted = None if pattern is None else Pattern(pattern)
    search = _Search(Query.read(query), wanted, limit, skip)
    found = _found(search, store, session)
    apart = None if wanted else search.query.apart
    if found.total or not apart:
        return found
    note = "no text holds all words in the quotation marks together: they were looked for apart"
    found = _found(replace(search, query=apart), store, session)
    return replace(found, note="; ".join(filter(None, (note, found.note))))


def _found(search: "_Search", store: "Store", session: str | None) -> Found:
    logs = [store.session(id) for id in store.sessions()]
    if not logs:
        return Found((), 0, 0, search.query.terms)
    try:
        if not store.is_ours:
            raise StoreUnwritable("this user did not make the folder, and did not trust it")
        from context_compression.store import index  # brings sqlite3 along
        from context_compression.store.lookup import Lookup

        def look_up(opened: index.Index) -> Found:
            with opened.transaction():
                return search.of(Lookup(opened, session))

        return index.using(store.folder, logs, look_up)
    except (StoreUnwritable, ImportError) as error:
        found = search.of(Scan(logs, session))
        return replace(found, note=f"searched without an index, which is slower: {error}")


@dataclass(frozen=True)
class _Search:
    query: Query
    pattern: Pattern | None
    limit: int
    skip: int

    @property
    def names(self) -> tuple[str, ...]:
        """What shall stand in a hit as it is written."""
        literal = self.pattern.literal if self.pattern else None
        return (*self.query.names, *((literal,) if literal else ()))

    def of(self, source: Source) -> Found:
        """What is found."""
        return replace(self, query=source.telling(self.query)).found(source)

    def found(self, source: Source) -> Found:
        """The same with the query as it is."""
        blocks, total = self._blocks(source)
        end = self.skip + self.limit
        ranked: list[Candidate] = []
        seen = 0
        for block in blocks:
            seen += len(block)
            ranked += self._ranked(block, ranked)
            if len(ranked) > end and (total is None or total > MOST_COUNTED):
                break
        shown = ranked[self.skip : end]
        hits = tuple(self._hit(source, candidate) for candidate in shown)
        return Found(
            hits, total if total is None else total - seen + len(ranked), source.count(),
            self.query.terms, exact=total in (None, seen), more=len(ranked) > end,
        )  # fmt: skip

    def _blocks(self, source: Source) -> tuple[Iterator[list[Candidate]], int | None]:
        """Each is put in order by itself, whatever page is asked for: so no page repeats another's.

        With them, how much is in all of them, if that is known.
        """
        least = 2 * self.limit  # some may say the same
        most = max(least, MOST_RANKED)
        if self.pattern and self.query.empty:
            return source.with_pattern(self.pattern, least, most), None
        return source.with_words(self.query, most, self.pattern)

    def _ranked(self, candidates: Sequence[Candidate], before: list[Candidate]) -> list[Candidate]:
        """The best first; of what says the same, one, and none that comes before all of these."""
        spelled = {name: Spelled(name) for name in self.names}
        levels = {
            candidate.key: {
                name: 0 if document.lacks(way) else exactness(name, document.text)
                for name, way in spelled.items()
            }
            for candidate in candidates
            if (document := candidate.document)
        }

        def closeness(candidate: Candidate) -> tuple[float, ...]:
            named = sum(levels[candidate.key].values())
            ours = candidate.document.ours
            return named, candidate.weight, not ours, candidate.score, candidate.key

        ordered = _different(before, sorted(candidates, key=closeness, reverse=True))
        return _covering(ordered, levels, self.names)

    def _held(self, source: Source, candidate: Candidate) -> int:
        """How many words of the query it holds, in its text or in the call it answers."""
        text = candidate.document.text.casefold()
        terms = [term.casefold() for term in self.query.terms]
        elsewhere = [term for term in terms if term not in text]
        call = str(source.call(candidate)).casefold() if elsewhere else ""
        return len(terms) - sum(term not in call for term in elsewhere)

    def _hit(self, source: Source, candidate: Candidate) -> Hit:
        document = candidate.document
        sought: Sequence[str] = self.query.terms
        if self.query.failed and not sought:
            sought = reported_errors(document.text, failed=True)[-BEST_LINES:]
        lines = tuple(best_lines(document.text, sought, self.pattern))
        before, after = source.beside(candidate)
        return Hit(
            document.ref, document.what, candidate.session, self._held(source, candidate), lines,
            document.is_text, before, after,
        )  # fmt: skip


def _different(before: Iterable[Candidate], candidates: Iterable[Candidate]) -> list[Candidate]:
    """Of what says the same, the first: one text in two sessions, a message and a text in it.

    Nothing that says the same as one of those before.
    """
    kept: list[Candidate] = []
    texts = {candidate.document.ref: candidate.document.text for candidate in before}
    messages = {candidate.document.message for candidate in before}
    for candidate in candidates:
        ref, message, text = (
            candidate.document.ref, candidate.document.message, candidate.document.text,
        )  # fmt: skip
        is_new = ref not in texts and message not in texts and ref not in messages
        if is_new or texts.get(ref, text) != text:  # of two sessions, made so that refs are alike
            texts[ref] = text
            messages.add(message)
            kept.append(candidate)
    return kept


def _covering(
    ordered: Sequence[Candidate], levels: Mapping[int, Mapping[str, int]], names: Iterable[str]
) -> list[Candidate]:
    """The best; then for each name that stood nowhere yet the best with it; then the others."""
    highest = {name: max((levels[c.key][name] for c in ordered), default=0) for name in names}
    missing = {name for name, level in highest.items() if level}
    first: list[Candidate] = []
    others: list[Candidate] = []
    for candidate in ordered:
        here = levels[candidate.key]
        shown = {name for name in missing if here[name] == highest[name]}
        missing -= shown
        (first if shown or not first else others).append(candidate)
    return first + others


def exactness(name: str, text: str) -> int:
    """How a name stands in a text: 3 by itself, 2 behind a path, 1 within a longer name, 0 not.

    Signs alone are no part of a name, wherever they stand.
    """
    if not any(map(str.isalnum, name)):
        return 3 if name in text else 0
    if "/" in name and "\\" in text:
        text = re.sub(r"\\\\?", "/", text)
    best = 0
    at = text.find(name)
    while at >= 0 and best < 3:
        end = at + len(name)
        before = text[at - 1 : at]
        if not (is_letter(before) or is_letter(text[end : end + 1])):
            alone = 2 if before in _GOES_BEFORE else 3
            best = max(best, 1 if _GOES_ON.match(text, end) else alone)
        at = text.find(name, end)
    return best
