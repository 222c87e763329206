"""What a search can find in the tables: texts as lexemes, and where messages stand.

Texts and queries as lexemes of `tsvector`, all made here: the server sees no other words.

A lexeme begins with the number of the shelf on which its text stands, so a lookup reads what one
tenant archived within a time, and never the words of others. Behind it stand

    word         a word in lower case, without accents
    one+two      two words with nothing but signs between them, as in `one_two` or `oneTwo`
    ~stem        a word in another form than its stem
    /word        a word of a path, or of the call that the text is the result of
    =tool        a tool's name
    !            the text reports a failure

What a search can find: a row for each archived text and message, and its words.

They are written with the event that archived them, so no search makes an index first.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeAlias

from context_compression.errors import ContextCompressionError
from context_compression.store.files import to_json
from context_compression.store.json_lines import JsonLine
from context_compression.store.postgres.coding import Coding
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.rows import Added, TenantRows
from context_compression.store.search.documents import IndexedDocument, Span, documents
from context_compression.store.search.excerpt import ConversationReader, RecordedMessage
from context_compression.store.search.query import (
    LONGEST_WORD,
    Query,
    humps,
    indexable,
    is_humped,
    shortened,
)
from context_compression.store.search.tables import lexicon, words_of
from context_compression.store.session_files import messages_in, refs_in

ITSELF = -1
"""The position of a message that is in the event itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message is recorded: the number of its event, and its position in the originals."""

    n: int
    position: int


class SessionMessages:
    """The recorded messages of a session, read event by event.

    Attributes:
        last: the number of the last event that was read.
    """

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.last = 0
        self._reader = ConversationReader(described=False)
        self._messages: list[tuple[RecordedMessage, Place]] = []
        self._numbers: dict[str, int] = {}

    def read(
        self, events: Iterable[tuple[int, Mapping[str, Any]]], originals: Callable[[str], Any]
    ) -> None:
        """Read more events.

        Args:
            events: each with its number.
            originals: returns the messages under a name.
        """
        for n, event in events:
            self.last = n
            if event.get("type") != "messages":
                self._add(event, Place(n, ITSELF))
                continue
            with suppress(ContextCompressionError):  # reading the session warns of it
                for at, each in enumerate(messages_in(event, originals), event["from"]):
                    self._add(each, Place(n, at))

    def recorded(self, ref: str) -> RecordedMessage | None:
        """The first message with a ref."""
        number = self._numbers.get(ref)
        return None if number is None else self._messages[number][0]

    def beside(self, ref: str) -> Sequence[Place | None]:
        """Where the messages right before and right after a message are."""
        number = self._numbers.get(ref)
        if number is None:
            return None, None
        at = self._messages[number][0].at
        before = (self._messages[i] for i in range(number - 1, -1, -1))
        after = (self._messages[i] for i in range(number + 1, len(self._messages)))
        return (
            next((place for message, place in before if message.at == at - 1), None),
            next((place for message, place in after if message.at == at + 1), None),
        )

    def _add(self, event: Mapping[str, Any], place: Place) -> None:
        if message := self._reader.read(event):
            self._numbers.setdefault(message.ref, len(self._messages))
            self._messages.append((message, place))


INDEXED_CHARS = 2**18
"""How much of a text is indexed."""
MOST_BYTES = 900_000
"""The most bytes of all lexemes of a text; PostgreSQL takes a megabyte."""
ROOM = 16
"""Bytes that a lexeme needs beside its letters and positions, with its shelf."""
MOST_POSITIONS, LAST_POSITION = 255, 16_383
"""How many positions PostgreSQL keeps of a lexeme, and the greatest. Later ones begin again."""
SHELF = "\0"
"""Stands for the shelf in a condition."""
_LEXEME = re.compile(rf"'{SHELF}:((?:[^'\\]|''|\\\\)*)'(?::\*)?")
_TOKEN = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_IDEOGRAPHS = "\u2e80"
"""The first letter of scripts without spaces, in which `indexable` makes each letter a word."""


Positions: TypeAlias = defaultdict[str, list[str]]
"""Where words are, by word, each position with the weight of its column."""


@dataclass(frozen=True)
class TextWords:
    """The words of a text.

    Attributes:
        lexemes: each with its positions, as `tsvector` writes them; without the shelf.
        length: how many words the text has.
    """

    lexemes: Sequence[tuple[str, str]]
    length: int

    def on(self, shelf: int, kept: Callable[[str], str]) -> str:
        """The `tsvector` of the text on a shelf.

        Args:
            shelf: its number.
            kept: returns what the index keeps for a lexeme.
        """
        return " ".join(f"'{shelf}:{kept(lexeme)}'{at}" for lexeme, at in self.lexemes)


class Splitter:
    """Splits texts into words; what comes again is split once."""

    def __init__(self) -> None:
        self._lexicon = lexicon()
        self._words_in = cache(words_in)

    def words(self, document: IndexedDocument) -> TextWords:
        """The words of a document: of its text, of its call, and of what it is."""
        if len(document.text) > INDEXED_CHARS:
            document = replace(document, source=document.text[:INDEXED_CHARS])
        text, parts, paths, about = words_of(document, self._lexicon)
        at: Positions = defaultdict(list)
        pairs = dict.fromkeys(f"{a}+{b}" for a, b in pairwise(self._split(parts)))
        length = self._place(text, "", 0, at, pairs)
        for column, weight in ((parts, "C"), (about, "A")):
            length = self._place(column, weight, length + 1, at, pairs)
        marks = [f"/{word}" for word in dict.fromkeys(self._split(f"{paths} {about}"))]
        if document.failed:
            marks.append("!")
        if document.call.tool:
            marks.append(_quoted(f"={document.call.tool[:LONGEST_WORD]}"))
        return TextWords([*_fitting(at, [*marks, *pairs])], length)

    def _place(
        self, column: str, weight: str, start: int, at: Positions, pairs: dict[str, None]
    ) -> int:
        """Add the words of a column from a position; returns the position behind it."""
        before, seen = "", set[str]()
        for chunk in column.split():
            words = self._words_in(chunk)
            for word in words:
                start += 1
                at[word].append(f"{start % LAST_POSITION + 1}{weight}")
            if len(words) > 1 and chunk not in seen:
                seen.add(chunk)
                for a, b in pairwise(words):
                    pairs[f"{a}+{b}"] = None
            if words and words[-1] >= _IDEOGRAPHS:
                if before:
                    pairs[f"{before}+{words[0]}"] = None
                before = words[-1]
            else:
                before = ""
        return start

    def _split(self, text: str) -> Iterator[str]:
        for chunk in text.split():
            yield from self._words_in(chunk)


def words_in(text: str) -> Sequence[str]:
    """The words of a text: letters and digits, in lower case, without accents."""
    if not text.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
        text = unicodedata.normalize("NFC", bare)
    return [word[:LONGEST_WORD] for word in _TOKEN.findall(text.casefold())]


@lru_cache(2**16)
def stem(word: str) -> str:
    """What the forms of an English word have in common."""
    shorter = shortened(word) if word.isascii() else ""
    return stem(shorter) if shorter else word


def exactly(term: str, *, begins: bool = False) -> str:
    """The condition for a term as it is written; a name in camel case also by its parts.

    Args:
        term: of a query.
        begins: whether longer words than its last count, and parts that stand apart.
    """
    conditions = [_consecutive(indexable(term), begins=begins)]
    if is_humped(term):
        parts = words_in(humps([term]))
        conditions.append(_all(_lexeme(f"{a}+{b}", begins=begins) for a, b in pairwise(parts)))
        if begins:
            conditions.append(" <-> ".join(map(_lexeme, parts)))
    return _any(conditions)


def in_any_form(term: str) -> str:
    """The condition for a word in any of its forms; for other terms `exactly`."""
    words = words_in(indexable(term))
    if len(words) != 1 or is_humped(term):
        return exactly(term)
    base = stem(words[0])
    return _any((_lexeme(f"~{base}"), _lexeme(base)))


def limits(query: Query, tools: Iterable[str]) -> str:
    """The condition for the limits of a query; "" if it has none.

    Args:
        query: with paths, tools, failures.
        tools: the names of all tools that the query means.
    """
    conditions = ["(" + _lexeme("!") + ")"] * query.failed
    if query.tools:
        names = [_lexeme(_quoted(f"={tool[:LONGEST_WORD]}")) for tool in tools]
        conditions.append(_any(names or [_lexeme("=")]))
    for path in query.paths:
        *first, last = words_in(indexable(path)) or ("",)
        conditions += [_lexeme(f"/{word}") for word in first]
        conditions.append(_lexeme(f"/{last}", begins=True))
        conditions += [
            _lexeme(f"{a}+{b}", begins=True) for a, b in pairwise((*first, last)) if a and b
        ]
    return _all(conditions)


def surely_in(literal: str, *, whole: bool = False) -> str:
    """The condition for texts that may contain a text anywhere; "" if it says nothing.

    The first word may be only the end of a word, the last only the beginning.

    Args:
        literal: the text.
        whole: whether the index finds only whole words.
    """
    if not literal.isascii():
        return ""
    _, *words = words_in(literal) or ("",)
    first = re.match(r"[\W_]", literal)
    if first:
        words = list(words_in(literal))
    if not words:
        return ""
    ends = re.search(r"[\W_]$", literal) is not None
    *others, last = words
    if whole and not ends:
        return _all(map(_lexeme, others))
    return _all([*map(_lexeme, others), _lexeme(last, begins=not ends)])


def on_shelves(
    condition: str, shelves: Iterable[int], kept: Callable[[str], Iterable[str]] | None = None
) -> str:
    """A condition as `tsquery`, on any of these shelves.

    Args:
        condition: as the functions of this module make it.
        shelves: their numbers.
        kept: returns what the index keeps for a lexeme, under each key; `None` if it keeps lexemes
            as they are. Words that only begin with a lexeme are not found then.
    """
    if kept:
        condition = _LEXEME.sub(lambda found: _any(map(_lexeme, kept(found[1]))), condition)
    return _any(condition.replace(SHELF, str(shelf)) for shelf in shelves)


def both(*conditions: str) -> str:
    """A condition of which all hold; empty ones do not count."""
    return _all(filter(None, conditions))


def _consecutive(text: str, *, begins: bool) -> str:
    chunks = [words for chunk in text.split() if (words := words_in(chunk))]
    words = [word for chunk in chunks for word in chunk]
    if len(words) < 2:
        return _lexeme(words[0], begins=begins) if words else ""
    pairs = [f"{a}+{b}" for chunk in chunks for a, b in pairwise(chunk)]
    apart = False
    for before, after in pairwise(chunks):
        if before[-1] >= _IDEOGRAPHS and after[0] >= _IDEOGRAPHS:
            pairs.append(f"{before[-1]}+{after[0]}")
        else:
            apart = True
    *others, last = words
    conditions = [_lexeme(pair) for pair in pairs]
    if begins and conditions and len(chunks[-1]) > 1:
        conditions[-1] = _lexeme(pairs[-1], begins=True)
    if apart:
        conditions.append(" <-> ".join([*map(_lexeme, others), _lexeme(last, begins=begins)]))
    return _all(conditions)


def _lexeme(lexeme: str, *, begins: bool = False) -> str:
    return f"'{SHELF}:{lexeme}'{':*' if begins else ''}"


def storable(text: str) -> str:
    """A text without what a `text` of PostgreSQL cannot hold: NUL, and half a surrogate pair."""
    return text.replace("\0", " ").encode(errors="replace").decode()


def _quoted(text: str) -> str:
    return storable(text).replace("\\", "\\\\").replace("'", "''")


def _all(conditions: Iterable[str]) -> str:
    return _joined(" & ", conditions)


def _any(conditions: Iterable[str]) -> str:
    return _joined(" | ", conditions)


def _joined(sign: str, conditions: Iterable[str]) -> str:
    parts = [each for each in conditions if each]
    return parts[0] if len(parts) == 1 else sign.join(f"({each})" for each in parts)


def _fitting(at: Positions, others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The lexemes that a `tsvector` has room for, the words first."""
    stems: Positions = defaultdict(list)
    for word, positions in at.items():
        if (base := stem(word)) != word:
            stems[f"~{base}"] += positions
    room = MOST_BYTES
    for lexemes in (at, stems):
        for lexeme, positions in lexemes.items():
            some = positions if len(positions) <= MOST_POSITIONS else positions[:MOST_POSITIONS]
            room -= _size(lexeme) + 2 * len(some)
            if room < 0:
                return
            yield lexeme, f":{','.join(some)}"
    for lexeme in others:
        room -= _size(lexeme)
        if room < 0:
            return
        yield lexeme, ""


def _size(lexeme: str) -> int:
    """At most so many bytes a lexeme needs, without its positions."""
    return ROOM + (len(lexeme) if lexeme.isascii() else 4 * len(lexeme))


SHELF_TEXTS = 50_000
"""How many texts a shelf holds, about. A lookup of a common word reads no more of its places."""
REMEMBERED = 64
"""Of how many sessions it is remembered where their messages are."""
_SHELF = "SELECT no, texts FROM shelves WHERE tenant = %s ORDER BY no DESC LIMIT 1"
_NEW_SHELF = "INSERT INTO shelves (tenant) VALUES (%s) RETURNING no"
_TEXTS = """
INSERT INTO texts (tenant, session, shelf, ref, n, place, length, message, at, failed, by_us, tool,
    call, beside)
SELECT %s, %s, %s, given.* FROM unnest(
    %s::text[], %s::bigint[], %s::int[], %s::int[], %s::text[], %s::int[], %s::bool[], %s::bool[],
    %s::text[], %s::bytea[], %s::text[]
) AS t (ref, n, place, length, message, at, failed, by_us, tool, call, beside)
CROSS JOIN LATERAL (SELECT t.ref, t.n, t.place, t.length, t.message, t.at, t.failed, t.by_us,
    t.tool, t.call, t.beside::bigint[]) AS given
ON CONFLICT DO NOTHING RETURNING ref, no, length
"""
_LEXEMES = """
INSERT INTO lexemes (tenant, session, shelf, no, words)
SELECT %s, %s, %s, * FROM unnest(%s::bigint[], %s::text[]::tsvector[])
"""
_COUNT = "UPDATE shelves SET texts = texts + %s, words = words + %s WHERE tenant = %s AND no = %s"


@dataclass(frozen=True)
class ArchivedText:
    """A text that an event archives.

    Attributes:
        event: the number of the event among those that are added together, from 1.
        place: of its ref among those of the event.
        beside: where the messages right before and right after its message are.
    """

    event: int
    place: int
    document: IndexedDocument
    words: TextWords
    beside: Sequence[Place | None]


@dataclass(frozen=True)
class _Kept:
    """Messages under a name, without their places in files."""

    messages: Sequence[Any]

    def span(self, position: int, block: int | None, texts: Sequence[str]) -> Span:
        """No place: texts are read from the messages."""
        return Span("", 0, 0, position, block)


class Texts:
    """The texts of all sessions of a tenant, as they are written."""

    def __init__(
        self,
        tenant: str,
        coding: Coding,
        rows: TenantRows,
        read: Callable[[str, str], Sequence[Any]],
    ) -> None:
        """Nothing is read yet.

        Args:
            tenant: whose texts they are.
            coding: how the tables keep what they hold.
            rows: of its sessions.
            read: returns the originals of a session, by its id and their name.
        """
        self._tenant, self._coding, self._rows, self._read = tenant, coding, rows, read
        self._conversations: dict[str, tuple[int, SessionMessages]] = {}
        self._guard = Lock()

    def of(self, session: str, events: Sequence[Mapping[str, Any]]) -> list[ArchivedText]:
        """The texts that events archive, before these are written."""
        if not any(map(refs_in, events)):
            return []

        @lru_cache(2)
        def originals(name: str) -> _Kept:
            return _Kept(self._read(session, name))

        def messages(name: str) -> Sequence[Any]:
            return originals(name).messages

        splitter = Splitter()
        found: list[ArchivedText] = []
        needed = any(event.get("type") == "compression" for event in events)
        conversation = self._conversation(session, messages) if needed else SessionMessages()
        for number, event in enumerate(events, 1):
            places = {ref: place for place, ref in enumerate(refs_in(event))}
            line = JsonLine(dict(event), 0, b"")
            found += [
                ArchivedText(
                    number, places[document.ref], document, splitter.words(document),
                    conversation.beside(document.message),
                )
                for document in documents(line, originals, conversation.recorded)
            ]  # fmt: skip
        return found

    def add(self, connection: Connection, added: Added, texts: Sequence[ArchivedText]) -> None:
        """Write texts, within the transaction that writes their events; those known are left out.

        Other writers wait at its end only, while the number of texts is added.
        """
        if not texts:
            return
        shelf = self._shelf(connection)
        columns = [self._columns(text, added) for text in texts]
        made = connection.execute(
            _TEXTS, [self._tenant, added.session, shelf, *map(list, zip(*columns, strict=True))]
        ).fetchall()
        numbers = {ref: no for ref, no, _ in made}
        words = {t.document.ref: t.words for t in texts if t.document.ref in numbers}
        connection.execute(
            _LEXEMES,
            [
                self._tenant, added.session, shelf, [numbers[ref] for ref in words],
                [each.on(shelf, self._coding.word) for each in words.values()],
            ],
        )  # fmt: skip
        self.count(connection, shelf, len(made), sum(length for _, _, length in made))

    def remove(self, connection: Connection, session: int) -> None:
        """Delete the texts of a session."""
        connection.execute("DELETE FROM lexemes WHERE session = %s", [session])
        query = (
            "WITH gone AS (DELETE FROM texts WHERE session = %s RETURNING shelf, length) "
            "SELECT shelf, count(*), sum(length) FROM gone GROUP BY shelf ORDER BY shelf"
        )
        for shelf, number, words in connection.execute(query, [session]).fetchall():
            self.count(connection, shelf, -number, -words)

    def count(self, connection: Connection, shelf: int, texts: int, words: int) -> None:
        """Add to the numbers of a shelf; other writers of the tenant wait until it is committed."""
        connection.execute(_COUNT, [texts, words, self._tenant, shelf])

    def forget(self, session: str) -> None:
        """Free what is remembered of a session."""
        with self._guard:
            self._conversations.pop(session, None)

    def _conversation(
        self, session: str, originals: Callable[[str], Sequence[Any]]
    ) -> SessionMessages:
        """The messages of a session as far as its events are written."""
        number, events = self._rows.numbered(session)
        with self._guard:
            known, conversation = self._conversations.pop(session, (0, SessionMessages()))
            if known != number:
                conversation = SessionMessages()
            conversation.read((each for each in events if each[0] > conversation.last), originals)
            self._conversations[session] = number, conversation
            while len(self._conversations) > REMEMBERED:
                del self._conversations[next(iter(self._conversations))]
        return conversation

    def _shelf(self, connection: Connection) -> int:
        """The shelf with room. Writers beside each other may each make one."""
        for shelf, texts in connection.execute(_SHELF, [self._tenant]).fetchall():
            if texts < SHELF_TEXTS:
                return shelf
        [[shelf]] = connection.execute(_NEW_SHELF, [self._tenant])
        return shelf

    def _columns(self, text: ArchivedText, added: Added) -> tuple[Any, ...]:
        """The columns of a row of `texts`, as `_TEXTS` takes them."""
        document = text.document
        pointers = [(p.n, p.position) if p else (-1, -1) for p in text.beside]
        call = to_json([document.call.tool, document.call.arguments])
        return (
            document.ref, added.before + text.event, text.place, text.words.length,
            document.message, document.place, document.failed, document.by_us,
            storable(document.call.tool),
            self._coding.coded(call, f"texts/{document.ref}"),
            f"{{{','.join(str(number) for pair in pointers for number in pair)}}}",
        )  # fmt: skip
