"""The texts that a search can find, as they are written: a row for each, and its words.

They are written with the event that archived them, so no search makes an index first. The words of
a text only find it among others; how well it fits is told by the text. A lexeme begins with the
number of the shelf on which its text stands, so a lookup reads what one tenant archived within a
time, and never the words of others. Behind it stand

    word         a word in lower case, without accents
    =tool        a tool's name
    !            the text reports a failure

Rows of earlier versions have others beside these, which nobody asks for. Of a sealed text no words
are kept.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate
from threading import Lock
from typing import Any

from context_compression.errors import ContextCompressionError
from context_compression.evidence.words import Lexicon
from context_compression.store.files import to_json
from context_compression.store.postgres.coding import Coding
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.rows import Added, TenantRows
from context_compression.store.search.documents import IndexedDocument, documents
from context_compression.store.search.excerpt import ConversationReader, RecordedMessage
from context_compression.store.search.query import LONGEST_WORD
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
"""Bytes that a lexeme needs beside its letters, with its shelf."""
_TOKEN = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]")


def lexemes_of(document: IndexedDocument, lexicon: Lexicon) -> list[str]:
    """What the index keeps of a document: its words and marks, without the shelf.

    The words are those of its text, of its call, and the parts of names in camel case.
    """
    if len(document.text) > INDEXED_CHARS:
        document = replace(document, text=document.text[:INDEXED_CHARS])
    text, parts, _, about = words_of(document, lexicon)
    found = dict.fromkeys([FAILED] * document.failed)
    if document.call.tool:
        found[mark_of(document.call.tool)] = None
    for column in (about, parts, text):
        for chunk in dict.fromkeys(column.split()):
            found |= dict.fromkeys(words_in(chunk))
    sizes = accumulate(ROOM + len(each.encode()) for each in found)
    return [each for each, size in zip(found, sizes, strict=True) if size < MOST_BYTES]


def words_in(text: str) -> Sequence[str]:
    """The words of a text: letters and digits, in lower case, without accents."""
    if not text.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
        text = unicodedata.normalize("NFC", bare)
    return [word[:LONGEST_WORD] for word in _TOKEN.findall(text.casefold())]


FAILED = "!"
"""The mark of a text that reports a failure."""


def mark_of(tool: str) -> str:
    """The mark of a text that a tool's call is about, as `tsvector` and `tsquery` quote it."""
    return f"={storable(tool[:LONGEST_WORD])}".replace("\\", "\\\\").replace("'", "''")


def storable(text: str) -> str:
    """A text without what a `text` of PostgreSQL cannot hold: NUL, and half a surrogate pair."""
    return text.replace("\0", " ").encode(errors="replace").decode()


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
        words: as `lexemes_of`; of a sealed text none.
        beside: where the messages right before and right after its message are.
    """

    event: int
    place: int
    document: IndexedDocument
    words: Sequence[str]
    beside: Sequence[Place | None]


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

        originals = lru_cache(2)(partial(self._read, session))
        words = lexicon()
        found: list[ArchivedText] = []
        needed = any(event.get("type") == "compression" for event in events)
        conversation = self._conversation(session, originals) if needed else SessionMessages()
        for number, event in enumerate(events, 1):
            places = {ref: place for place, ref in enumerate(refs_in(event))}
            found += [
                ArchivedText(
                    number, places[document.ref], document,
                    [] if self._coding.seals else lexemes_of(document, words),
                    conversation.beside(document.message),
                )
                for document in documents(event, originals, conversation.recorded)
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
        if not self._coding.seals:
            vectors = [" ".join(f"'{shelf}:{each}'" for each in text) for text in words.values()]
            numbered = [numbers[ref] for ref in words]
            connection.execute(_LEXEMES, [self._tenant, added.session, shelf, numbered, vectors])
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
            document.ref, added.before + text.event, text.place, len(text.words),
            document.message, document.place, document.failed, document.by_us,
            storable(document.call.tool),
            self._coding.coded(call, f"texts/{document.ref}"),
            f"{{{','.join(str(number) for pair in pointers for number in pair)}}}",
        )  # fmt: skip
