"""The originals of compressions: under which name each content stands, and in which order."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from context_compression.errors import StoreDamaged, StoreError
from context_compression.store.files import to_json
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.contents import Contents
from context_compression.store.postgres.database import Database
from context_compression.store.postgres.guards import SealedOrNot
from context_compression.store.postgres.rows import Rows, lines_of

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
        self, database: Database, tenant: str, sealed: SealedOrNot, rows: Rows, contents: Contents
    ) -> None:
        """Nothing is read yet."""
        self._database, self._tenant, self._sealed = database, tenant, sealed
        self._rows, self._contents = rows, contents

    def write(self, session: str, name: str, messages: Sequence[Any], created_at: str) -> None:
        """Keep messages and their hash in one transaction; see `Backend.write_originals`."""
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
        """The messages under a name; see `Backend.read_originals`."""
        found = self._ask(_OF, [self._tenant, session, name])
        if not found and name not in self.names(session):
            raise self._damaged(session, name, "is missing")
        messages = [self._message(session, name, *row) for row in found]
        if digest is not None and digest != digest_of_list(messages):
            raise self._damaged(session, name, "was changed: its hash does not match the log's")
        return messages

    def read_one(self, session: str, name: str, position: int) -> Any:
        """One message under a name; see `Backend.read_original`."""
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
