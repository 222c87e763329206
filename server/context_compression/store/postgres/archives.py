"""The originals of compressions: contents, each kept once for a tenant, and where they stand."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from context_compression.errors import StoreDamaged, StoreError
from context_compression.store.files import to_json
from context_compression.store.postgres.database import Connection, Database
from context_compression.store.postgres.rows import Rows, lines_of

_CONTENTS = """
INSERT INTO contents AS c (tenant, digest, uses, size, body)
SELECT %s, * FROM unnest(%s::bytea[], %s::bigint[], %s::bigint[], %s::bytea[])
ON CONFLICT (tenant, digest) DO UPDATE SET uses = c.uses + excluded.uses
RETURNING digest, no
"""
_OF = """
SELECT c.digest, c.body FROM sessions s JOIN archives a ON a.session = s.no
CROSS JOIN unnest(a.contents) WITH ORDINALITY AS given (content, at)
LEFT JOIN contents c ON c.no = given.content
WHERE s.tenant = %s AND s.id = %s AND a.name = %s ORDER BY at
"""
_ONE = """
SELECT c.digest, c.body FROM sessions s JOIN archives a ON a.session = s.no
JOIN contents c ON c.no = a.contents[%s]
WHERE s.tenant = %s AND s.id = %s AND a.name = %s
"""
_EACH = """
SELECT s.id, a.name, given.at, c.digest, c.body
FROM unnest(%s::text[], %s::text[], %s::int[]) AS given (id, name, at)
JOIN sessions s ON s.tenant = %s AND s.id = given.id
JOIN archives a ON a.session = s.no AND a.name = given.name
JOIN contents c ON c.no = a.contents[given.at + 1]
"""
_NAMES = """
SELECT a.name FROM sessions s JOIN archives a ON a.session = s.no
WHERE s.tenant = %s AND s.id = %s ORDER BY a.name
"""


class Archives:
    """The originals of all sessions of a tenant."""

    def __init__(self, database: Database, tenant: str, rows: Rows) -> None:
        """Nothing is read yet."""
        self._database, self._tenant, self._rows = database, tenant, rows

    def write(self, session: str, name: str, messages: Sequence[Any], created_at: str) -> None:
        """Keep messages and their hash in one transaction; see `Backend.write_originals`."""
        bodies = [to_json(message) for message in messages]
        digests = [hashlib.sha256(body).digest() for body in bodies]
        record = {
            "type": "originals", "created_at": created_at, "file": name,
            "sha256": digest_of_list(messages),
        }  # fmt: skip
        lines = lines_of([record])

        def work(connection: Connection) -> None:
            numbers = self._keep(connection, dict(zip(digests, bodies, strict=True)), digests)
            size = sum(map(len, bodies))
            added = self._rows.append(
                connection, session, "events", [record], lines, created_at, beside=size
            )
            made = connection.execute(
                "INSERT INTO archives (tenant, session, name, contents) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT DO NOTHING",
                [self._tenant, added.session, name, [numbers[digest] for digest in digests]],
            )
            if not made.rowcount:
                raise StoreError(
                    f"{session} has originals {name}, and an archive is never overwritten. "
                    "Take another n."
                )

        self._database.write(self._tenant, work)

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
        """Messages of any sessions, by session, name and position, as `read_one` reads them."""
        columns = [list(column) for column in zip(*dict.fromkeys(places), strict=True)]
        rows = self._ask(_EACH, [*columns, self._tenant]) if places else ()
        found = {
            (session, name, position): self._message(session, name, digest, body)
            for session, name, position, digest, body in rows
        }
        for session, name, position in places:
            if (session, name, position) not in found:
                raise self._damaged(session, name, f"has no message {position}")
        return found

    def release(self, connection: Connection, session: int) -> None:
        """Give up the contents of a session, within the transaction that deletes it.

        Whoever archives the same content meanwhile waits for the end of the transaction.
        """
        uses = Counter[int]()
        for [contents] in connection.execute(
            "DELETE FROM archives WHERE session = %s RETURNING contents", [session]
        ):
            uses.update(contents)
        for (number,) in connection.execute(
            "SELECT no FROM contents WHERE no = ANY(%s) ORDER BY digest FOR UPDATE", [[*uses]]
        ).fetchall():
            connection.execute(
                "UPDATE contents SET uses = uses - %s WHERE no = %s", [uses[number], number]
            )
        connection.execute("DELETE FROM contents WHERE no = ANY(%s) AND uses <= 0", [[*uses]])

    def _keep(
        self, connection: Connection, bodies: dict[bytes, bytes], digests: Sequence[bytes]
    ) -> dict[bytes, int]:
        """The numbers of contents; those that are new are added.

        All writers take them in one order, so none waits for another that waits for it.
        """
        uses, ordered = Counter(digests), sorted(bodies)
        kept = connection.execute(
            _CONTENTS,
            [
                self._tenant, ordered, [uses[each] for each in ordered],
                [len(bodies[each]) for each in ordered], [bodies[each] for each in ordered],
            ],
            binary=True,
        )  # fmt: skip
        return dict(kept.fetchall())

    def _message(self, session: str, name: str, digest: bytes | None, body: bytes | None) -> Any:
        if body is None or hashlib.sha256(body).digest() != digest:
            raise self._damaged(session, name, "has a message that is missing or was changed")
        return json.loads(body)

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
