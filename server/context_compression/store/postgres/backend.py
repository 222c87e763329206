"""`PostgresBackend`: keeps the store of one tenant in a database that many workers share."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from context_compression.store import files
from context_compression.store.backend import (
    COMPRESSING,
    LOCK_SECONDS,
    Events,
    Kind,
    Owner,
    Stamp,
)
from context_compression.store.files import checked_name
from context_compression.store.hits import SearchResult
from context_compression.store.json_lines import digits_in, spellings
from context_compression.store.objects import Objects
from context_compression.store.postgres.coding import Coding, SealedOrNot, unguarded
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.damage import damage_beside_sessions, damage_of_session
from context_compression.store.postgres.database import Database
from context_compression.store.postgres.lookup import TextLookup, scope_of
from context_compression.store.postgres.rows import Archives, Contents, Refs, Rows, lines_of
from context_compression.store.postgres.texts import Texts
from context_compression.store.refs import SHORT_REF
from context_compression.store.sealing import Seal
from context_compression.store.search.run import Search, search_by

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
_BYTES = """
SELECT id, event_bytes + other_bytes FROM sessions WHERE tenant = %s AND id = ANY(%s)
"""


class PostgresBackend:
    """A `Backend` in PostgreSQL. The first use makes the tables.

    All backends of one address in a process share its connections. What is written by a call is
    committed when it returns: the originals of a compression before the event that names them.
    """

    folder = None
    is_ours = True
    not_applied = refusal = ""

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
        self._coding = Coding(tenant, seal)
        self._sealed = SealedOrNot(self.database, tenant, self._coding)
        self._coding.mark = self._sealed.believes_unsealed
        self._contents = Contents(tenant, self._coding, objects)
        self._rows = Rows(self.database, tenant, self._coding)
        self._archives = Archives(self.database, tenant, self._sealed, self._rows, self._contents)
        self._refs = Refs(self.database, tenant, self._coding)
        self._texts = Texts(tenant, self._coding, self._rows, self._archives.read)

    @property
    def name(self) -> str:
        """The address, without user, password and parameters; and the tenant, if it has a name."""
        whose = "" if self.tenant == TENANT else f", tenant {self.tenant}"
        return f"{self.database.address.shown}{whose}"

    def of_tenant(self, tenant: str) -> "PostgresBackend":
        """The store of another tenant in the same database."""
        return PostgresBackend(self.database, tenant, seal=self._seal, objects=self._objects)

    def check(self) -> None:
        """Nothing to check: the server decides who may read."""

    def unguarded(self) -> str:
        """Why the policies of the database do not hold for our role; "" if they do."""
        return unguarded(self.database, self.tenant)

    def sessions(self) -> list[str]:
        """The ids of all sessions that have events, the most recently written first."""
        return self._ids("AND event_bytes <> 0")

    def all_sessions(self) -> list[str]:
        """The ids of all sessions, also of those without events."""
        return self._ids("")

    def stamp(self, session: str) -> Stamp | None:
        """See `Backend.stamp`."""
        return self._rows.stamp(session)

    def rows(self, session: str, kind: Kind) -> Events:
        """See `Backend.rows`."""
        return self._rows.read(session, kind)

    def append(
        self, session: str, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None
    ) -> None:
        """See `Backend.append`."""
        id, lines = checked_name(session, "A session's id"), lines_of(rows)

        texts = self._texts.of(id, rows) if kind == "events" else []

        def work(connection: Connection) -> None:
            added = self._rows.append(connection, id, kind, rows, lines, created_at)
            self._texts.add(connection, added, texts)

        if lines:
            self._sealed.write(work)

    def holds(self, session: str, text: str) -> bool:
        """See `Backend.holds`."""
        forms = spellings(text)
        return any(form in body for body in self._bodies(session) for form in forms)

    def write_originals(
        self, session: str, name: str, messages: Sequence[Any], created_at: str
    ) -> None:
        """See `Backend.write_originals`."""
        checked_name(name, "An archive's name")
        id = checked_name(session, "A session's id")
        self._archives.write(id, name, messages, created_at)

    def originals(self, session: str) -> Collection[str]:
        """See `Backend.originals`."""
        return self._archives.names(session)

    def read_originals(self, session: str, name: str, digest: str | None = None) -> list[Any]:
        """See `Backend.read_originals`."""
        return self._archives.read(session, name, digest)

    def read_original(self, session: str, name: str, position: int) -> Any:
        """See `Backend.read_original`."""
        return self._archives.read_one(session, name, position)

    def entries(self, session: str, digits: str = "") -> Sequence[tuple[str, Mapping[str, Any]]]:
        """See `Backend.entries`."""
        return self._refs.entries(session, digits)

    def following(self, session: str, ref: str) -> str | None:
        """See `Backend.following`."""
        return self._refs.following(session, ref)

    def owner(self, ref: str, session_of: Callable[[str], Owner]) -> Owner | None:
        """See `Backend.owner`."""
        id = self._refs.owner(ref) if SHORT_REF.fullmatch(ref) else None
        return session_of(id) if id else None

    def write_text(self, session: str, ref: str, text: str) -> str:
        """Keeps nothing, because no agent can read a file of it."""
        return ""

    def place_of_text(self, session: str, ref: str) -> str:
        """No place: ""."""
        return ""

    def remove_texts(self, session: str, refs: Sequence[str]) -> tuple[list[str], list[str]]:
        """There are none."""
        return [], []

    def add_summary(self, summary: Mapping[str, Any]) -> None:
        """See `Backend.add_summary`."""
        body = self._coding.kept(files.to_json(dict(summary)), "summaries")
        about = [self.tenant, summary.get("session")]
        add = "INSERT INTO summaries (tenant, session, body) VALUES (%s, %s, %s)"
        count = "UPDATE sessions SET summaries = summaries + 1 WHERE tenant = %s AND id = %s"

        def work(connection: Connection) -> None:
            connection.execute(add, [*about, body])
            connection.execute(count, about)

        self._sealed.write(work)

    def summaries(self, session: str | None = None) -> Iterator[dict[str, Any]]:
        """Some at a time, as they are asked for; see `Backend.summaries`."""
        query = (
            "SELECT no, body FROM summaries WHERE tenant = %s AND no < %s "
            "AND (%s::text IS NULL OR session = %s) ORDER BY no DESC LIMIT %s"
        )
        before = 2**63 - 1
        while found := self._ask(query, [self.tenant, before, session, session, FETCHED]):
            for _, body in found:
                if (value := self._coding.sound(body, "summaries", dict)) is not None:
                    yield value
            before = found[-1][0]

    def forget(self, session: str) -> None:
        """See `Backend.forget`."""
        self._rows.forget(session)
        self._texts.forget(session)

    def remove(self, session: str, timeout: float, before: Callable[[], object]) -> None:
        """Delete all rows of a session, its summaries, and contents that no other session needs."""
        find = "SELECT no FROM sessions WHERE tenant = %s AND id = %s FOR UPDATE"

        def work(connection: Connection) -> None:
            for [number] in connection.execute(find, [self.tenant, session]).fetchall():
                before()
                self._texts.remove(connection, number)
                self._archives.release(connection, number)
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
        """An advisory lock; see `Backend.lock`."""
        return self.database.lock(f"{self.tenant}/{name}", busy, timeout)

    def search(
        self, query: str, *, pattern: str | None, session: str | None, limit: int, skip: int
    ) -> SearchResult:
        """By words that are indexed as they come; see `Store.search`."""

        def finding(search: Search) -> SearchResult:
            scope = scope_of(self._ask, self.tenant, self._coding, session)
            lookup = TextLookup(scope, self._archives)
            result = search.run(lookup)
            if not (notes := lookup.notes):
                return result
            return replace(result, exact=False, note="; ".join(notes))

        return search_by(finding, query, pattern=pattern, limit=limit, skip=skip)

    def read_document(self, name: str) -> dict[str, Any]:
        """See `Backend.read_document`."""
        query = "SELECT body FROM documents WHERE tenant = %s AND name = %s"
        for [body] in self._ask(query, [self.tenant, name]):
            return self._coding.object_of(body, f"documents/{name}")
        return {}

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """See `Backend.write_document`."""
        query = (
            "INSERT INTO documents (tenant, name, body) VALUES (%s, %s, %s) "
            "ON CONFLICT (tenant, name) DO UPDATE SET body = excluded.body"
        )
        name_it = "INSERT INTO written VALUES (%s, %s) ON CONFLICT DO NOTHING"
        body = self._coding.kept(files.to_json(dict(document)), f"documents/{name}")

        def work(connection: Connection) -> None:
            connection.execute(query, [self.tenant, name, body])
            connection.execute(name_it, [self.tenant, name])

        self._sealed.write(work)

    def place_of_document(self, name: str) -> str:
        """`the document "config" in postgresql://…`."""
        return f'the document "{name}" in {self.name}'

    def prompt(self, name: str) -> str | None:
        """An entry of the document `prompts`; see `Backend.prompt`."""
        text = self.read_document(PROMPTS).get(name)
        return text if isinstance(text, str) else None

    def sweep(self) -> int:
        """Delete objects that no row names; see `Backend.sweep`."""
        return self.database.write(self.tenant, self._contents.sweep)

    def problems(self, session: str | None) -> list[str]:
        """See `Backend.problems`."""
        tables = self.database, self.tenant, self._coding
        if session is None:
            return [*damage_beside_sessions(*tables)]
        return [*damage_of_session(*tables, self._rows, self._archives, session)]

    def quoted(self, session: str) -> set[str]:
        """See `Backend.quoted`."""
        return {digits for body in self._bodies(session) for digits in digits_in(body)}

    def size(self, session: str | None = None) -> int:
        """The bytes of a session or of all; contents that several have count for each."""
        if session is not None:
            return self.sizes([session])[session]
        query = (
            "SELECT coalesce(sum(event_bytes + other_bytes), 0)::bigint FROM sessions "
            "WHERE tenant = %s"
        )
        [[size]] = self._ask(query, [self.tenant])
        return size

    def sizes(self, sessions: Collection[str]) -> dict[str, int]:
        """The bytes of each of these sessions."""
        found = self._ask(_BYTES, [self.tenant, [*sessions]])
        return {**dict.fromkeys(sessions, 0), **dict(found)}

    def index_shares(self) -> dict[str, int]:
        """The index is the server's, so none is told: `{}`."""
        return {}

    def unassigned_index_bytes(self) -> int:
        """None."""
        return 0

    def _ids(self, condition: str) -> list[str]:
        query = f"SELECT id FROM sessions WHERE tenant = %s {condition} ORDER BY written DESC, id"
        return [id for [id] in self._ask(query, [self.tenant])]

    def _bodies(self, session: str) -> Iterable[bytes]:
        """The JSON of everything that a session keeps."""
        parameters = [self.tenant, session]
        yield from self._rows.bodies(session)
        for digest, body in self._ask(_CONTENTS, parameters):
            yield self._contents.body(digest, body)

    def _ask(self, query: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self.database.read(self.tenant, query, parameters)
