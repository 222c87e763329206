"""The rows of sessions: events, ledgers, archived contents, and where each ref stands.

Archived messages, each kept once for a tenant: in a table, or large ones as objects beside it. An
object is announced, written before the row that names it is committed, and deleted after the row
is. Who writes and who deletes the same object hold its row meanwhile, so neither undoes the other.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from time import time_ns
from typing import Any

from context_compression.conversation.refs import digest_of
from context_compression.errors import (
    ObjectsLeft,
    StoreDamaged,
    StoreError,
    StoreUnreachable,
    StoreUnwritable,
)
from context_compression.plurals import how_many
from context_compression.store.backend import Events, Kind
from context_compression.store.files import to_json
from context_compression.store.json_lines import object_in_row, with_checksum
from context_compression.store.objects import Objects
from context_compression.store.postgres.coding import Coding, SealedOrNot, about_row
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.database import Database
from context_compression.store.session_files import refs_in

UNSET = "CONTEXT_COMPRESSION_OBJECTS is not set. Set it to the place of the objects"
ADVICE = "Bring the database back from a backup; all else can be restored."
SHA256 = 32
"""The bytes of a hash."""
SETTLED = timedelta(hours=1)
"""An object that was announced earlier belongs to no write that still goes on."""
NEVER = "36500d"
"""An age that no session has."""
LARGE = 65_536
"""Bytes from which a content is kept as an object, if there are objects."""
_KEEP = """
INSERT INTO contents AS c (tenant, digest, uses, size, body)
SELECT %s, * FROM unnest(%s::bytea[], %s::bigint[], %s::bigint[], %s::bytea[])
ON CONFLICT (tenant, digest) DO UPDATE SET uses = c.uses + excluded.uses
RETURNING digest, no, body IS NULL
"""
_TAKE = "SELECT no, digest FROM contents WHERE no = ANY(%s) ORDER BY digest FOR UPDATE"
_LESS = """
UPDATE contents SET uses = uses - given.less FROM unnest(%s::bigint[], %s::bigint[])
AS given (content, less) WHERE no = given.content
"""
_ANNOUNCE = """
INSERT INTO pending (tenant, digest) SELECT %s, * FROM unnest(%s::bytea[])
ON CONFLICT (tenant, digest) DO UPDATE SET at = now()
"""
_FORSAKE = """
INSERT INTO pending (tenant, digest, at) SELECT %s, *, '-infinity' FROM unnest(%s::bytea[])
ON CONFLICT (tenant, digest) DO UPDATE SET at = excluded.at
"""
_WRITTEN = "DELETE FROM pending WHERE tenant = %s AND digest = ANY(%s)"
_OLD = "DELETE FROM pending WHERE tenant = %s AND at < now() - %s::interval RETURNING digest"
_WAITING = """
SELECT count(*) FROM pending p WHERE tenant = %s AND at < now() - %s::interval
AND NOT EXISTS (SELECT 1 FROM contents c WHERE c.tenant = p.tenant AND c.digest = p.digest)
"""
_HOLD = """
INSERT INTO contents (tenant, digest, uses, size) SELECT %s, *, 0, 0 FROM unnest(%s::bytea[])
ON CONFLICT DO NOTHING RETURNING digest
"""
_LET_GO = "DELETE FROM contents WHERE tenant = %s AND digest = ANY(%s) AND uses = 0"
_UNUSED = "DELETE FROM contents WHERE no = ANY(%s) AND uses <= 0 RETURNING digest, body IS NULL"


class Contents:
    """The contents of one tenant."""

    def __init__(self, tenant: str, coding: Coding, objects: Objects | None) -> None:
        """Contents in the table; with objects, the large ones there."""
        self._tenant, self._coding, self._objects = tenant, coding, objects

    def keep(self, connection: Connection, bodies: Sequence[bytes]) -> list[int]:
        """Keep contents within a transaction; returns the number of each.

        All writers take rows in one order, so none waits for another that waits for it.
        """
        digests = [self._coding.digest(body) for body in bodies]
        by_digest = dict(sorted(zip(digests, bodies, strict=True)))
        uses = Counter(digests)
        kept = connection.execute(
            _KEEP,
            [
                self._tenant, [*by_digest], [uses[digest] for digest in by_digest],
                [len(body) for body in by_digest.values()],
                [self._in_table(digest, body) for digest, body in by_digest.items()],
            ],
            binary=True,
        ).fetchall()  # fmt: skip
        if self._objects and (objects := [digest for digest, _, is_object in kept if is_object]):
            for digest in objects:
                self._objects.put(self._name(digest), self._coded(digest, by_digest[digest]))
                connection.execute("SELECT 1")  # the server ends a transaction that is idle
            connection.execute(_WRITTEN, [self._tenant, objects])
        numbers = {digest: number for digest, number, _ in kept}
        return [numbers[digest] for digest in digests]

    def body(self, digest: bytes | None, data: bytes | None) -> bytes:
        """The content of a row.

        Raises:
            StoreDamaged: it is missing, was changed, or cannot be decrypted.
        """
        if digest is None:
            raise StoreDamaged(f"The row of a message is missing. {ADVICE}")
        if len(digest) != SHA256:
            raise StoreDamaged(f"The hash of a message was changed. {ADVICE}")
        if data is None:
            data = self._of_object(digest)
        body = self._coding.plain(data, _about(digest))
        if not self._coding.is_digest(digest, body):
            raise StoreDamaged(f"A message was changed. {ADVICE}")
        return body

    def release(self, connection: Connection, uses: Mapping[int, int]) -> None:
        """Give up so many uses of contents, within the transaction that deletes their archives.

        Whoever archives one of them meanwhile waits for the end of the transaction. Objects that
        nobody needs any more are left to `sweep`, which must follow it.

        Raises:
            StoreUnwritable: there are such objects, and their place is not known.
        """
        connection.execute(_TAKE, [[*uses]])
        connection.execute(_LESS, [[*uses], [*uses.values()]])
        gone = connection.execute(_UNUSED, [[*uses]], binary=True).fetchall()
        if objects := sorted(digest for digest, is_object in gone if is_object):
            if self._objects is None:
                number = how_many(len(objects), "large message")
                raise StoreUnwritable(
                    f"{number} of the session would stay where the objects are, because {UNSET}; "
                    "the session was not deleted."
                )
            connection.execute(_FORSAKE, [self._tenant, objects])

    def announce(self, connection: Connection, bodies: Sequence[bytes]) -> None:
        """Note which objects will be written, in a transaction before that of `keep`."""
        connection.execute(_ANNOUNCE, [self._tenant, sorted({*map(self._coding.digest, bodies)})])

    def sweep(self, connection: Connection) -> int:
        """Delete objects that were announced long ago and that no row names; returns how many.

        Their rows are held meanwhile: who archives one of them waits, and then writes it anew.

        Raises:
            ObjectsLeft: their place is not known, or does not answer.
        """
        if self._objects is None:
            [[number]] = connection.execute(_WAITING, [self._tenant, SETTLED]).fetchall()
            if number:
                raise ObjectsLeft(
                    f"{how_many(number, 'object')} could not be deleted: {UNSET}. {self._then()}"
                )
            return 0
        old = connection.execute(_OLD, [self._tenant, SETTLED], binary=True).fetchall()
        digests = sorted(digest for [digest] in old)
        held = connection.execute(_HOLD, [self._tenant, digests], binary=True).fetchall()
        unnamed = [digest for [digest] in held]
        if unnamed:
            try:
                self._objects.delete([*map(self._name, unnamed)])
            except (StoreUnreachable, StoreUnwritable) as error:
                number = how_many(len(unnamed), "object")
                raise ObjectsLeft(
                    f"{number} in {self._objects.name} could not be deleted. {error} {self._then()}"
                ) from error
        connection.execute(_LET_GO, [self._tenant, unnamed])
        return len(unnamed)

    def is_object(self, body: bytes) -> bool:
        """Whether a content is kept as an object."""
        return self._objects is not None and len(body) >= LARGE

    def _then(self) -> str:
        return (
            f"Then run `context-compression --tenant {self._tenant} archive expire {NEVER} --yes`, "
            "which deletes them and no session."
        )

    def _in_table(self, digest: bytes, body: bytes) -> bytes | None:
        return None if self.is_object(body) else self._coded(digest, body)

    def _coded(self, digest: bytes, body: bytes) -> bytes:
        return self._coding.coded(body, _about(digest))

    def _of_object(self, digest: bytes) -> bytes:
        if self._objects is None:
            raise StoreDamaged(f"A large message is kept as an object, and {UNSET}.")
        return self._objects.get(self._name(digest))

    def _name(self, digest: bytes) -> str:
        return f"{self._tenant}/{digest.hex()[:2]}/{digest.hex()}"


def _about(digest: bytes) -> str:
    return f"contents/{digest.hex()}"


NUMBERS: Mapping[Kind, int] = {"events": 0, "ledger": 1}
"""How the tables name the kinds."""

_ADD = """
INSERT INTO sessions AS s (tenant, id, created_at, last, event_bytes, other_bytes, written)
VALUES (%(tenant)s, %(id)s, %(created)s, %(count)s, %(events)s, %(others)s, %(now)s)
ON CONFLICT (tenant, id) DO UPDATE SET
    last = s.last + excluded.last,
    event_bytes = s.event_bytes + excluded.event_bytes,
    other_bytes = s.other_bytes + excluded.other_bytes,
    written = CASE WHEN excluded.written > 0
        THEN greatest(excluded.written, s.written + 1) ELSE s.written END
RETURNING no, last
"""
_ROWS = """
INSERT INTO rows (tenant, session, kind, n, body)
SELECT %s, %s, %s, * FROM unnest(%s::bigint[], %s::bytea[])
"""
_REFS = """
INSERT INTO refs (tenant, session, n, place, ref, is_message, sha256, entry)
SELECT %s, %s, * FROM
    unnest(%s::bigint[], %s::int[], %s::text[], %s::bool[], %s::text[], %s::bytea[])
"""
_AFTER = """
SELECT s.no, r.n, r.body FROM sessions s
LEFT JOIN rows r ON r.session = s.no AND r.kind = %s AND r.n > %s
WHERE s.tenant = %s AND s.id = %s ORDER BY r.n
"""


NOTHING = Events([])


@dataclass(frozen=True)
class Added:
    """Rows that were added to a session: its number, and the number of the row before them."""

    session: int
    before: int


@dataclass(frozen=True)
class _Read:
    """What was read of the rows of one kind; the number changes when a session is made again."""

    session: int = 0
    last: int = 0
    events: Events = NOTHING
    numbers: Sequence[int] = ()


class TenantRows:
    """The rows of all sessions of a tenant, each read once by this process."""

    def __init__(self, database: Database, tenant: str, coding: Coding) -> None:
        """Nothing is read yet."""
        self._database, self._tenant, self._coding = database, tenant, coding
        self._known: dict[tuple[str, Kind], _Read] = {}

    def read(self, session: str, kind: Kind) -> Events:
        """All rows of a kind, oldest first."""
        return self._read(session, kind).events

    def numbered(self, session: str) -> tuple[int, Iterator[tuple[int, dict[str, Any]]]]:
        """The number of a session, and its events with theirs."""
        known = self._read(session, "events")
        return known.session, zip(known.numbers, known.events.items, strict=True)

    def _read(self, session: str, kind: Kind) -> "_Read":
        known = self._known.get((session, kind), _Read())
        found = self._after(session, kind, known.last)
        if found and found[0][0] != known.session and known.last:
            found = self._after(session, kind, 0)  # it was deleted and made again
        if not found:
            known = _Read()
        elif found[0][0] != known.session:
            known = _Read(found[0][0])
        about = about_rows(session, kind)
        added = [(n, self._coding.row(body, about, n)) for _, n, body in found if n is not None]
        self._known[session, kind] = known = _with(known, added, kind, about)
        return known

    def append(
        self,
        connection: Connection,
        session: str,
        kind: Kind,
        rows: Sequence[Mapping[str, Any]],
        lines: Sequence[bytes],
        created_at: str | None,
        beside: int = 0,
    ) -> Added:
        """Add rows, and `lines_of` them, within a transaction, and the refs that they created.

        Other writers of the session wait until it ends. `beside` is the bytes of originals that are
        added with them.
        """
        size, is_event = sum(map(len, lines)), kind == "events"
        about = about_rows(session, kind)
        [[number, last]] = connection.execute(
            _ADD,
            {
                "tenant": self._tenant, "id": session, "created": created_at, "count": len(lines),
                "events": size if is_event else 0, "others": beside + (0 if is_event else size),
                "now": time_ns() if is_event else 0,
            },
        )  # fmt: skip
        numbers = [*range(last - len(lines) + 1, last + 1)]
        bodies = [
            self._coding.kept(line, about_row(about, n))
            for n, line in zip(numbers, lines, strict=True)
        ]
        connection.execute(_ROWS, [self._tenant, number, NUMBERS[kind], numbers, bodies])
        added = Added(number, last - len(lines))
        if is_event and (refs := [*self._refs(rows, added.before)]):
            connection.execute(_REFS, [self._tenant, number, *map(list, zip(*refs, strict=True))])
        return added

    def bodies(self, session: str) -> Iterator[bytes]:
        """The JSON of all rows, of both kinds."""
        for kind in NUMBERS:
            for _, n, body in self._after(session, kind, 0):
                if n is not None:
                    yield self._coding.row(body, about_rows(session, kind), n)

    def forget(self, session: str) -> None:
        """Free what is remembered of a session."""
        for kind in NUMBERS:
            self._known.pop((session, kind), None)

    def _refs(self, rows: Sequence[Mapping[str, Any]], before: int) -> Iterator[tuple[Any, ...]]:
        """The rows of the table `refs` for events whose numbers follow `before`."""
        for n, event in enumerate(rows, before + 1):
            for place, (ref, entry) in enumerate(refs_in(event).items()):
                body = to_json({**entry, "file": event.get("originals")})
                is_message = "text" not in entry and entry.get("block") is None
                coded = self._coding.kept(body, f"refs/{ref}")
                digest = hash_in(entry)
                kept = self._coding.word(digest) if digest else None
                yield n, place, ref, is_message, kept, coded

    def _after(self, session: str, kind: Kind, last: int) -> list[tuple[Any, ...]]:
        parameters = [NUMBERS[kind], last, self._tenant, session]
        return self._database.read(self._tenant, _AFTER, parameters)


def lines_of(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """The JSON of each row, with its checksum.

    Raises:
        StoreError: a row is not a JSON object.
    """
    return [with_checksum(to_json(dict(row))) for row in rows]


def about_rows(session: str, kind: Kind) -> str:
    """What `Coding` takes for the rows of a session."""
    return f"rows/{session}/{kind}"


def _with(known: _Read, added: Sequence[tuple[int, bytes]], kind: Kind, about: str) -> _Read:
    """What is known after more rows were read, given by their numbers."""
    if not added:
        return known
    items, warnings = list(known.events.items), list(known.events.warnings)
    numbers = list(known.numbers)
    for n, body in added:
        if not (item := object_in_row(body, about_row(about, n))):
            warnings.append(f"{kind}: row {n} was changed, or cannot be read")
        else:
            items.append(item)
            numbers.append(n)
    return replace(known, last=added[-1][0], events=Events(items, warnings), numbers=numbers)


def hash_in(entry: Mapping[str, Any]) -> str | None:
    """The hash of the original of a ref, if its entry tells it."""
    match entry:
        case {"sha256": str(recorded)}:
            return recorded
        case {"text": str(text)}:
            return digest_of(text)
        case _:
            return None


_OF = """
SELECT c.digest, c.body FROM sessions s JOIN archives a ON a.session = s.no
CROSS JOIN unnest(a.contents) WITH ORDINALITY AS given (content, at)
LEFT JOIN contents c ON c.no = given.content
WHERE s.tenant = %s AND s.id = %s AND a.name = %s ORDER BY at
"""
_ONE = """
SELECT c.digest, c.body FROM sessions s JOIN archives a ON a.session = s.no
CROSS JOIN LATERAL (SELECT a.contents[%s] AS content OFFSET 0) AS place
JOIN contents c ON c.no = place.content
WHERE s.tenant = %s AND s.id = %s AND a.name = %s
"""
_EACH = """
SELECT s.id, a.name, given.at, c.digest, c.body
FROM unnest(%s::text[], %s::text[], %s::int[]) AS given (id, name, at)
JOIN sessions s ON s.tenant = %s AND s.id = given.id
JOIN archives a ON a.session = s.no AND a.name = given.name
CROSS JOIN LATERAL (SELECT a.contents[given.at + 1] AS content OFFSET 0) AS place
JOIN contents c ON c.no = place.content
"""
"""A policy lets no index be used for an expression, so that is computed before the join."""
_NAMES = """
SELECT a.name FROM sessions s JOIN archives a ON a.session = s.no
WHERE s.tenant = %s AND s.id = %s ORDER BY a.name
"""


class Archives:
    """The originals of all sessions of a tenant."""

    def __init__(
        self,
        database: Database,
        tenant: str,
        sealed: SealedOrNot,
        rows: TenantRows,
        contents: Contents,
    ) -> None:
        """Nothing is read yet."""
        self._database, self._tenant, self._sealed = database, tenant, sealed
        self._rows, self._contents = rows, contents

    def write(self, session: str, name: str, messages: Sequence[Any], created_at: str) -> None:
        """Keep messages and their hash in one transaction."""
        bodies = [to_json(message) for message in messages]
        record = {
            "type": "originals", "created_at": created_at, "file": name,
            "sha256": digest_of_list(messages),
        }  # fmt: skip
        lines = lines_of([record])

        def work(connection: Connection) -> None:
            numbers = self._contents.keep(connection, bodies)
            size = sum(map(len, bodies))
            added = self._rows.append(
                connection, session, "events", [record], lines, created_at, beside=size
            )
            made = connection.execute(
                "INSERT INTO archives (tenant, session, name, contents) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT DO NOTHING",
                [self._tenant, added.session, name, numbers],
            )
            if not made.rowcount:
                raise StoreError(
                    f"{session} has originals {name}, and an archive is never overwritten. "
                    "Take another n."
                )

        if large := [*filter(self._contents.is_object, bodies)]:
            self._sealed.write(lambda connection: self._contents.announce(connection, large))
        self._sealed.write(work)

    def names(self, session: str) -> Collection[str]:
        """The names of all originals of a session."""
        return [name for [name] in self._ask(_NAMES, [self._tenant, session])]

    def read(self, session: str, name: str, digest: str | None = None) -> list[Any]:
        """The messages under a name, whose SHA-256 is `digest` if that is given."""
        found = self._ask(_OF, [self._tenant, session, name])
        if not found and name not in self.names(session):
            raise self._damaged(session, name, "is missing")
        messages = [self._message(session, name, *row) for row in found]
        if digest is not None and digest != digest_of_list(messages):
            raise self._damaged(session, name, "was changed: its hash does not match the log's")
        return messages

    def read_one(self, session: str, name: str, position: int) -> Any:
        """One message under a name, by its position from 0."""
        if position >= 0:
            for row in self._ask(_ONE, [position + 1, self._tenant, session, name]):
                return self._message(session, name, *row)
        raise self._damaged(session, name, f"has no message {position}")

    def read_each(
        self, places: Sequence[tuple[str, str, int]]
    ) -> Mapping[tuple[str, str, int], Any]:
        """Messages of any sessions by session, name and position; those damaged are left out."""
        columns = [list(column) for column in zip(*dict.fromkeys(places), strict=True)]
        rows = self._ask(_EACH, [*columns, self._tenant]) if places else ()
        found: dict[tuple[str, str, int], Any] = {}
        for session, name, position, digest, body in rows:
            with suppress(StoreDamaged):
                found[session, name, position] = self._message(session, name, digest, body)
        return found

    def release(self, connection: Connection, session: int) -> None:
        """Give up the originals of a session, within the transaction that deletes it."""
        uses = Counter[int]()
        gone = "DELETE FROM archives WHERE session = %s RETURNING contents"
        for [contents] in connection.execute(gone, [session]):
            uses.update(contents)
        if uses:
            self._contents.release(connection, uses)

    def _message(self, session: str, name: str, digest: bytes | None, body: bytes | None) -> Any:
        try:
            return json.loads(self._contents.body(digest, body))
        except StoreDamaged as error:
            raise StoreDamaged(f"{name} of {session}: {error}") from error

    def _ask(self, query: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._database.read(self._tenant, query, parameters)

    def _damaged(self, session: str, name: str, problem: str) -> StoreDamaged:
        return StoreDamaged(
            f"{name} of {session} in {self._database.address.shown} {problem}. Bring it back from "
            "a backup; what is intact can still be restored. Nothing was written."
        )


def digest_of_list(messages: Sequence[Any]) -> str:
    """The SHA-256 of the file that a store in a folder would write, as 64 hex digits."""
    return hashlib.sha256(to_json(list(messages), indent=2)).hexdigest()
