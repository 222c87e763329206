"""`PostgresBackend`: keeps the store of one tenant in a database that many workers share."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeAlias

from context_compression.errors import StoreDamaged, UnknownRef
from context_compression.plurals import how_many
from context_compression.store import files
from context_compression.store.backend import COMPRESSING, LOCK_SECONDS, Events, Kind, Stamp, Stats
from context_compression.store.files import checked_name, collecting
from context_compression.store.hits import SearchResult
from context_compression.store.json_lines import digits_in, has_checksum, spellings
from context_compression.store.objects import Objects
from context_compression.store.postgres.coding import SEALED, Coding, SealedOrNot, unguarded
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.database import Database, Parameters
from context_compression.store.postgres.lookup import TextLookup
from context_compression.store.postgres.rows import (
    NUMBERS,
    Archives,
    Contents,
    TenantRows,
    hash_in,
    lines_of,
)
from context_compression.store.postgres.texts import Texts
from context_compression.store.refs import SHORT_REF, complete_ref, several_originals
from context_compression.store.sealing import Seal
from context_compression.store.search.run import Search, search_by
from context_compression.store.session_files import damaged_originals, hashes_of_originals, refs_in

TENANT = "default"
"""The tenant of a program that names none."""
PROMPTS = "prompts"
"""The name of the document with the user's instructions for summaries, by name."""
FETCHED = 200
"""How many summaries are read at once."""
_CONTENTS = """
SELECT DISTINCT c.digest, c.body FROM sessions s JOIN archives a ON a.session = s.no
CROSS JOIN unnest(a.contents) AS given (content) JOIN contents c ON c.no = given.content
WHERE s.tenant = %s AND s.id = %s
"""
_SIZE = """
SELECT coalesce(sum(event_bytes + other_bytes), 0)::bigint FROM sessions WHERE tenant = %s
"""
_STAMP = "SELECT event_bytes, written FROM sessions WHERE tenant = %s AND id = %s"
_BYTES = """
SELECT id, event_bytes + other_bytes FROM sessions WHERE tenant = %s AND id = ANY(%s)
"""


_ENTRIES = """
SELECT r.ref, r.entry FROM sessions s JOIN refs r ON r.session = s.no
WHERE s.tenant = %s AND s.id = %s AND r.ref >= %s AND r.ref < %s ORDER BY r.n, r.place
"""
_NEXT = """
SELECT r.ref FROM sessions s JOIN LATERAL (
    SELECT n, place FROM refs WHERE session = s.no AND ref = %s AND is_message
    ORDER BY n DESC, place DESC LIMIT 1
) AS this ON true
JOIN refs r ON r.session = s.no AND r.n = this.n AND r.place > this.place AND r.is_message
WHERE s.tenant = %s AND s.id = %s ORDER BY r.place LIMIT 1
"""
_KNOWN = """
SELECT ref, min(coalesce(sha256, '')) <> max(coalesce(sha256, '')) FROM refs
WHERE tenant = %s AND ref >= %s AND ref < %s GROUP BY ref LIMIT 40
"""
_ORIGINALS = """
SELECT DISTINCT ON (sha256) session, entry FROM refs WHERE tenant = %s AND ref = %s
ORDER BY sha256, session LIMIT 40
"""
"""Under each key a hash is another one, so that of a sealed original is in its entry."""
_NEWEST = """
SELECT s.id FROM refs r JOIN sessions s ON s.no = r.session
WHERE r.tenant = %s AND r.ref = %s ORDER BY s.written DESC, s.id LIMIT 1
"""
_END = "g"
"""Greater than any hex digit."""
_NUMBERS = """
SELECT s.last, s.event_bytes, count(DISTINCT r.n), min(r.n), max(r.n) FROM sessions s
LEFT JOIN rows r ON r.session = s.no WHERE s.tenant = %s AND s.id = %s
GROUP BY s.last, s.event_bytes
"""
_ALL_REFS = """
SELECT r.n, r.ref, r.entry FROM sessions s JOIN refs r ON r.session = s.no
WHERE s.tenant = %s AND s.id = %s
"""
_WITHOUT_SESSION = """
SELECT 'summaries', body FROM summaries WHERE tenant = %(tenant)s
UNION ALL SELECT 'documents/' || name, body FROM documents
WHERE tenant = %(tenant)s AND name <> %(mark)s
"""
_LOST_SUMMARIES = """
SELECT s.id, s.summaries, count(x.no) FROM sessions s
LEFT JOIN summaries x ON x.tenant = s.tenant AND x.session = s.id WHERE s.tenant = %s
GROUP BY s.no, s.id, s.summaries HAVING count(x.no) < s.summaries
"""
_LOST_DOCUMENTS = """
SELECT w.document FROM written w WHERE w.tenant = %s AND NOT EXISTS
(SELECT 1 FROM documents d WHERE d.tenant = w.tenant AND d.name = w.document)
"""
_OWNERLESS = """
SELECT count(*) FROM rows r WHERE r.tenant = %s
AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.no = r.session AND s.tenant = r.tenant)
"""


class PostgresBackend:
    """A `Backend` in PostgreSQL. The first use makes the tables.

    All backends of one address in a process share its connections. What is written by a call is
    committed when it returns: the originals of a compression before the event that names them.
    """

    folder = None
    refusal = ""

    def __init__(
        self,
        database: str | Database,
        tenant: str = TENANT,
        *,
        seal: Seal | None = None,
        objects: Objects | None = None,
    ) -> None:
        """The store of a tenant in a database. Nothing is opened yet.

        Args:
            database: itself or its address, `postgresql://…`, which is not kept here.
            tenant: its name.
            seal: encrypts what is kept; `None` keeps it as it is.
            objects: where large messages are kept; `None` keeps them in the database.

        Raises:
            StoreError: it is no address of a database, or the tenant's name cannot be one.
        """
        self.tenant = checked_name(tenant, "A tenant's name")
        self._seal, self._objects = seal, objects
        self.database = Database.at(database) if isinstance(database, str) else database
        self.coding = Coding(tenant, seal)
        self.sealed = SealedOrNot(self.database, tenant, self.coding)
        self.coding.mark = self.sealed.believes_unsealed
        self.contents = Contents(tenant, self.coding, objects)
        self.rows = TenantRows(self.database, tenant, self.coding)
        self.archives = Archives(self.database, tenant, self.sealed, self.rows, self.contents)
        self.texts = Texts(tenant, self.coding, self.rows, self.archives.read)
        self._sessions: dict[str, PostgresSession] = {}

    @property
    def name(self) -> str:
        """The address, without user, password and parameters; and the tenant, if it has a name."""
        whose = "" if self.tenant == TENANT else f", tenant {self.tenant}"
        return f"{self.database.address.shown}{whose}"

    def of_tenant(self, tenant: str) -> "PostgresBackend":
        """The store of another tenant in the same database."""
        return PostgresBackend(self.database, tenant, seal=self._seal, objects=self._objects)

    def is_ours(self) -> bool:
        """A database is always trusted."""
        return True

    def not_applied(self) -> str:
        """Settings and prompts of a database are always applied: ""."""
        return ""

    def check(self) -> None:
        """Nothing to check: the server decides who may read."""

    def unguarded(self) -> str:
        """Why the policies of the database do not hold for our role; "" if they do."""
        return unguarded(self.database, self.tenant)

    def session(self, id: str) -> "PostgresSession":
        """What the tables have of a session."""
        if id not in self._sessions:
            self._sessions[id] = PostgresSession(self, id)
        return self._sessions[id]

    def sessions(self, *, also_empty: bool = False) -> list[str]:
        """The ids of all sessions that have events, the most recently written first."""
        condition = "" if also_empty else "AND event_bytes <> 0"
        query = f"SELECT id FROM sessions WHERE tenant = %s {condition} ORDER BY written DESC, id"
        return [id for [id] in self.ask(query, [self.tenant])]

    def owner(self, ref: str) -> str | None:
        """The id of the newest session that archived a ref."""
        if not SHORT_REF.fullmatch(ref):
            return None
        digits = ref.lower()
        known = self.ask(_KNOWN, [self.tenant, digits, digits + _END])
        full = complete_ref(digits, (each for each, _ in known))
        if full is None:
            return None
        if dict(known)[full] and len(sessions := self._by_original(full)) > 1:
            ids = self.ask("SELECT id FROM sessions WHERE no = ANY(%s)", [[*sessions]])
            raise UnknownRef(several_originals(full, [id for [id] in ids]))
        return next((id for [id] in self.ask(_NEWEST, [self.tenant, full])), None)

    def add_summary(self, summary: Mapping[str, Any]) -> None:
        """Add a row, and count it in its session."""
        body = self.coding.kept(files.to_json(dict(summary)), "summaries")
        about = [self.tenant, summary.get("session")]
        add = "INSERT INTO summaries (tenant, session, body) VALUES (%s, %s, %s)"
        count = "UPDATE sessions SET summaries = summaries + 1 WHERE tenant = %s AND id = %s"

        def work(connection: Connection) -> None:
            connection.execute(add, [*about, body])
            connection.execute(count, about)

        self.sealed.write(work)

    def summaries(self, session: str | None = None) -> Iterator[dict[str, Any]]:
        """Some at a time, as they are asked for."""
        query = (
            "SELECT no, body FROM summaries WHERE tenant = %s AND no < %s "
            "AND (%s::text IS NULL OR session = %s) ORDER BY no DESC LIMIT %s"
        )
        before = 2**63 - 1
        while found := self.ask(query, [self.tenant, before, session, session, FETCHED]):
            for _, body in found:
                if (value := self.coding.sound(body, "summaries", dict)) is not None:
                    yield value
            before = found[-1][0]

    def forget(self, session: str) -> None:
        """Free what this process remembers of a session."""
        self._sessions.pop(session, None)
        self.rows.forget(session)
        self.texts.forget(session)

    def remove(self, session: str, timeout: float, before: Callable[[], object]) -> None:
        """Delete all rows of a session, its summaries, and contents that no other session needs."""
        find = "SELECT no FROM sessions WHERE tenant = %s AND id = %s FOR UPDATE"

        def work(connection: Connection) -> None:
            for [number] in connection.execute(find, [self.tenant, session]).fetchall():
                before()
                self.texts.remove(connection, number)
                self.archives.release(connection, number)
                connection.execute("DELETE FROM refs WHERE session = %s", [number])
                connection.execute("DELETE FROM rows WHERE session = %s", [number])
                connection.execute("DELETE FROM sessions WHERE no = %s", [number])
            gone = "DELETE FROM summaries WHERE tenant = %s AND session = %s"
            connection.execute(gone, [self.tenant, session])

        with self.lock(f"{session}.compression", COMPRESSING, timeout):
            self.database.write(self.tenant, work)
        self.forget(session)
        if self._objects:
            self.sweep()

    def lock(
        self, name: str, busy: str, timeout: float = LOCK_SECONDS
    ) -> AbstractContextManager[None]:
        """An advisory lock."""
        return self.database.lock(f"{self.tenant}/{name}", busy, timeout)

    def search(
        self, query: str, *, pattern: str | None, session: str | None, limit: int, skip: int
    ) -> SearchResult:
        """By words that are indexed as they come."""

        def finding(search: Search) -> SearchResult:
            lookup = TextLookup(self.ask, self.tenant, self.coding, self.archives, session)
            result = search.run(lookup)
            if not (notes := lookup.notes):
                return result
            return replace(result, exact=False, note="; ".join(notes))

        return search_by(finding, query, pattern=pattern, limit=limit, skip=skip)

    def read_document(self, name: str) -> dict[str, Any]:
        """The document of a name; `{}` if there is none."""
        query = "SELECT body FROM documents WHERE tenant = %s AND name = %s"
        for [body] in self.ask(query, [self.tenant, name]):
            return self.coding.object_of(body, f"documents/{name}")
        return {}

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Replace a document, and note its name."""
        query = (
            "INSERT INTO documents (tenant, name, body) VALUES (%s, %s, %s) "
            "ON CONFLICT (tenant, name) DO UPDATE SET body = excluded.body"
        )
        name_it = "INSERT INTO written VALUES (%s, %s) ON CONFLICT DO NOTHING"
        body = self.coding.kept(files.to_json(dict(document)), f"documents/{name}")

        def work(connection: Connection) -> None:
            connection.execute(query, [self.tenant, name, body])
            connection.execute(name_it, [self.tenant, name])

        self.sealed.write(work)

    def place_of_document(self, name: str) -> str:
        """`the document "config" in postgresql://…`."""
        return f'the document "{name}" in {self.name}'

    def prompt(self, name: str) -> str | None:
        """An entry of the document `prompts`."""
        text = self.read_document(PROMPTS).get(name)
        return text if isinstance(text, str) else None

    def sweep(self) -> int:
        """Delete objects that no row names."""
        return self.database.write(self.tenant, self.contents.sweep)

    def verify(self) -> list[str]:
        """One sentence for each problem with summaries and documents."""
        return [*_damage_beside_sessions(self)]

    def size(self) -> int:
        """The bytes of all sessions; contents that several have count for each."""
        [[size]] = self.ask(_SIZE, [self.tenant])
        return size

    def stats(self, sessions: Collection[str]) -> Stats:
        """The bytes of each session; the index is the server's, so none is told of it."""
        found = self.ask(_BYTES, [self.tenant, [*sessions]])
        return Stats({**dict.fromkeys(sessions, 0), **dict(found)})

    def _by_original(self, ref: str) -> Collection[int]:
        """The number of one session for each original that is archived under a ref."""
        found = self.ask(_ORIGINALS, [self.tenant, ref])
        originals: dict[str | None, int] = {}
        for number, body in found:
            if (entry := self.coding.sound(body, f"refs/{ref}", dict)) is not None:
                originals[hash_in(entry)] = number
        return originals.values()

    def ask(self, query: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        """The rows of a query about the tenant."""
        return self.database.read(self.tenant, query, parameters)


class PostgresSession:
    """A `SessionStore` in the tables of a tenant."""

    def __init__(self, store: PostgresBackend, id: str) -> None:
        """The session `id`. An invalid id raises `StoreError`."""
        self.id = checked_name(id, "A session's id")
        self._store = store
        self._rows, self._archives, self._coding = store.rows, store.archives, store.coding

    def stamp(self) -> Stamp | None:
        """Bytes and time of the events; `None` if there are none."""
        for size, written in self._store.ask(_STAMP, [self._store.tenant, self.id]):
            return (size, written) if size else None
        return None

    def rows(self, kind: Kind) -> Events:
        """All rows of a kind, oldest first."""
        return self._rows.read(self.id, kind)

    def append(self, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None) -> None:
        """Add rows, with the refs and texts of events, in one transaction."""
        lines, texts = lines_of(rows), self._store.texts
        new = texts.of(self.id, rows) if kind == "events" else []

        def work(connection: Connection) -> None:
            added = self._rows.append(connection, self.id, kind, rows, lines, created_at)
            texts.add(connection, added, new)

        if lines:
            self._store.sealed.write(work)

    def holds(self, text: str) -> bool:
        """Whether any event or original contains a text."""
        forms = spellings(text)
        return any(form in body for body in self._bodies() for form in forms)

    def quoted(self) -> set[str]:
        """All hex digits in events and originals that could be a ref."""
        return {digits for body in self._bodies() for digits in digits_in(body)}

    def write_originals(self, name: str, messages: Sequence[Any], created_at: str) -> None:
        """Keep messages and their hash in one transaction."""
        self._archives.write(self.id, checked_name(name, "An archive's name"), messages, created_at)

    def originals(self) -> Collection[str]:
        """The names under which there are originals."""
        return self._archives.names(self.id)

    def read_originals(self, name: str, digest: str | None = None) -> list[Any]:
        """The messages under a name, whose SHA-256 is `digest` if that is given."""
        return self._archives.read(self.id, name, digest)

    def read_original(self, name: str, position: int) -> Any:
        """One message under a name, by its position from 0."""
        return self._archives.read_one(self.id, name, position)

    def entries(self, digits: str = "") -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The refs that begin with some digits, with their entries, without damaged ones."""
        store = self._store
        found = store.ask(_ENTRIES, [store.tenant, self.id, digits, digits + _END])
        read = ((ref, self._coding.sound(body, f"refs/{ref}", dict)) for ref, body in found)
        return [(ref, entry) for ref, entry in read if entry is not None]

    def following(self, ref: str) -> str | None:
        """The ref of the next message of the same compression."""
        found = self._store.ask(_NEXT, [ref, self._store.tenant, self.id])
        return next((following for [following] in found), None)

    def write_text(self, ref: str, text: str) -> str:
        """Keeps nothing, because no agent can read a file of it."""
        return ""

    def place_of_text(self, ref: str) -> str:
        """No place: ""."""
        return ""

    def remove_texts(self, refs: Iterable[str]) -> tuple[list[str], list[str]]:
        """There are none."""
        return [], []

    def size(self) -> int:
        """The bytes of rows and originals."""
        return self._store.stats([self.id]).sizes[self.id]

    def verify(self) -> list[str]:
        """One sentence for each problem with rows, originals and refs."""
        return [*_damage_of_session(self._store, self.id)]

    def _bodies(self) -> Iterable[bytes]:
        """The JSON of everything that is kept."""
        yield from self._rows.bodies(self.id)
        for digest, body in self._store.ask(_CONTENTS, [self._store.tenant, self.id]):
            yield self._store.contents.body(digest, body)


_Ref: TypeAlias = tuple[int, str, Mapping[str, Any]]
"""The number of an event, a ref that it created, and its entry."""


def _damage_beside_sessions(store: PostgresBackend) -> Iterator[str]:
    """A sentence for each summary and document that cannot be read, and for rows of no session."""
    problems: list[str] = []
    coding = store.coding
    found: list[tuple[str, bytes]] = []
    with collecting(problems):
        found = store.ask(_WITHOUT_SESSION, {"tenant": store.tenant, "mark": SEALED})
    with collecting(problems):
        if coding.mark() is None and coding.seals and found:
            yield f"documents/{SEALED}: the values that prove the keys are missing"
    unreadable = Counter[str]()
    for about, body in found:
        try:
            coding.object_of(body, about)
            if not coding.seals and not has_checksum(body):
                unreadable[about] += 1
        except StoreDamaged:
            unreadable[about] += 1
    for about, number in unreadable.items():
        yield f"{about}: {how_many(number, 'row')} changed, or cannot be read"
    with collecting(problems):
        [[number]] = store.ask(_OWNERLESS, [store.tenant])
        if number:
            yield f"{how_many(number, 'row')} of sessions that are missing"
    with collecting(problems):
        yield from _lost(store)
    yield from problems


def _lost(store: PostgresBackend) -> Iterator[str]:
    """A sentence for each session of which summaries are gone, and for each document that is."""
    for session, number, there in store.ask(_LOST_SUMMARIES, [store.tenant]):
        yield f"{session}: of {how_many(number, 'summary')}, {there} are there"
    for [name] in store.ask(_LOST_DOCUMENTS, [store.tenant]):
        yield f"documents/{name} is missing"


def _damage_of_session(store: PostgresBackend, session: str) -> Iterator[str]:
    """A sentence for each problem with the rows, originals and refs of a session."""
    problems: list[str] = []
    hashes: dict[str, str] = {}
    created: list[_Ref] = []
    for kind in NUMBERS:
        with collecting(problems):
            events = store.rows.read(session, kind)
            yield from (f"{session}: {warning}" for warning in events.warnings)
            hashes |= hashes_of_originals(events.items)
    with collecting(problems):
        created = [
            (n, ref, {**entry, "file": event.get("originals")})
            for n, event in store.rows.numbered(session)[1]
            for ref, entry in refs_in(event).items()
        ]
    asked = [store.tenant, session]
    with collecting(problems):
        for last, size, number, oldest, newest in store.ask(_NUMBERS, asked):
            if size <= 0:
                yield f"{session} has no events"
            if (number, oldest, newest) != (last, 1, last):
                yield f"{session}: of {how_many(last, 'row')}, {number} are there"
    with collecting(problems):
        yield from _damage_of_refs(store.coding, session, created, store.ask(_ALL_REFS, asked))

    def read(name: str, digest: str | None) -> object:
        return store.archives.read(session, name, digest)

    with collecting(problems):
        problems += damaged_originals(hashes, store.archives.names(session), read)
    yield from problems


def _damage_of_refs(
    coding: Coding, session: str, created: list[_Ref], found: list[tuple[Any, ...]]
) -> Iterator[str]:
    """What differs between the refs that events created and the rows that find them."""
    kept: list[_Ref] = []
    for n, ref, entry in found:
        try:
            kept.append((n, ref, coding.object_of(entry, f"refs/{ref}")))
        except StoreDamaged:
            yield f"{session}: the row of the ref {ref} was changed, or cannot be read"
    if lost := sum(ref not in kept for ref in created) or len(kept) - len(created):
        yield f"{session}: of {how_many(len(created), 'ref')}, {lost} cannot be found as archived"
