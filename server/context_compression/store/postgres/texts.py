"""What a search can find: a row for each archived text and message, and its words.

They are written with the event that archived them, so no search makes an index first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from context_compression.store.events import refs_in
from context_compression.store.files import to_json
from context_compression.store.json_lines import JsonLine
from context_compression.store.postgres.coding import Coding
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.conversations import Conversation, Place
from context_compression.store.postgres.lexemes import Splitter, Words, storable
from context_compression.store.postgres.rows import Added, Rows
from context_compression.store.search.documents import IndexedDocument, documents
from context_compression.store.search.spans import Span

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
class Text:
    """A text that an event archives.

    Attributes:
        event: the number of the event among those that are added together, from 1.
        place: of its ref among those of the event.
        beside: where the messages right before and right after its message are.
    """

    event: int
    place: int
    document: IndexedDocument
    words: Words
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
        self, tenant: str, coding: Coding, rows: Rows, read: Callable[[str, str], Sequence[Any]]
    ) -> None:
        """Nothing is read yet.

        Args:
            tenant: whose texts they are.
            coding: how the tables keep what they hold.
            rows: of its sessions.
            read: returns the originals of a session, by its id and their name.
        """
        self._tenant, self._coding, self._rows, self._read = tenant, coding, rows, read
        self._conversations: dict[str, tuple[int, Conversation]] = {}
        self._guard = Lock()

    def of(self, session: str, events: Sequence[Mapping[str, Any]]) -> list[Text]:
        """The texts that events archive, before these are written."""
        if not any(map(refs_in, events)):
            return []

        @lru_cache(2)
        def originals(name: str) -> _Kept:
            return _Kept(self._read(session, name))

        def messages(name: str) -> Sequence[Any]:
            return originals(name).messages

        splitter = Splitter()
        found: list[Text] = []
        needed = any(event.get("type") == "compression" for event in events)
        conversation = self._conversation(session, messages) if needed else Conversation()
        for number, event in enumerate(events, 1):
            places = {ref: place for place, ref in enumerate(refs_in(event))}
            line = JsonLine(dict(event), 0, b"")
            found += [
                Text(
                    number, places[document.ref], document, splitter.words(document),
                    conversation.beside(document.message),
                )
                for document in documents(line, originals, conversation.recorded)
            ]  # fmt: skip
        return found

    def add(self, connection: Connection, added: Added, texts: Sequence[Text]) -> None:
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
    ) -> Conversation:
        """The messages of a session as far as its events are written."""
        number, events = self._rows.numbered(session)
        with self._guard:
            known, conversation = self._conversations.pop(session, (0, Conversation()))
            if known != number:
                conversation = Conversation()
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

    def _columns(self, text: Text, added: Added) -> tuple[Any, ...]:
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
