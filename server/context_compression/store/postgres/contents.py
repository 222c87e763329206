"""Archived messages, each kept once for a tenant: in a table, or large ones as objects beside it.

An object is written before the row that names it is committed, and deleted before the row is. Who
writes and who deletes the same content hold the row meanwhile, so neither undoes the other.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from context_compression.errors import StoreDamaged
from context_compression.store.objects import Objects
from context_compression.store.postgres.coding import Coding
from context_compression.store.postgres.connections import Connection

SETTLED = timedelta(hours=1)
"""An object that is older belongs to no write that still goes on."""
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
_NAMED = "SELECT digest FROM contents WHERE tenant = %s AND digest = ANY(%s) AND body IS NULL"
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
        for digest, _, is_object in kept:
            if is_object and self._objects:
                self._objects.put(self._name(digest), self._coded(digest, by_digest[digest]))
        numbers = {digest: number for digest, number, _ in kept}
        return [numbers[digest] for digest in digests]

    def body(self, digest: bytes | None, data: bytes | None) -> bytes:
        """The content of a row.

        Raises:
            StoreDamaged: it is missing, was changed, or cannot be decrypted.
        """
        if digest is None:
            raise StoreDamaged("the row of a message is missing")
        if data is None:
            data = self._of_object(digest)
        body = self._coding.plain(data, _about(digest))
        if not self._coding.is_digest(digest, body):
            raise StoreDamaged("a message was changed")
        return body

    def release(self, connection: Connection, uses: Mapping[int, int]) -> None:
        """Give up so many uses of contents, within the transaction that deletes their archives.

        Whoever archives one of them meanwhile waits for the end of the transaction.
        """
        connection.execute(_TAKE, [[*uses]])
        connection.execute(_LESS, [[*uses], [*uses.values()]])
        gone = connection.execute(_UNUSED, [[*uses]], binary=True).fetchall()
        objects = [self._name(digest) for digest, is_object in gone if is_object]
        if objects and self._objects:
            self._objects.delete(objects)

    def sweep(self, ask: Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]) -> int:
        """Delete old objects of the tenant that no row names; returns how many.

        Args:
            ask: returns the rows of a query.
        """
        if self._objects is None:
            return 0
        names = {*self._objects.names(self._tenant, before=datetime.now(UTC) - SETTLED)}
        digests = [bytes.fromhex(name.rpartition("/")[2]) for name in names]
        found = ask(_NAMED, [self._tenant, digests]) if digests else []
        unnamed = names - {self._name(digest) for [digest] in found}
        self._objects.delete(sorted(unnamed))
        return len(unnamed)

    def _in_table(self, digest: bytes, body: bytes) -> bytes | None:
        is_large = self._objects is not None and len(body) >= LARGE
        return None if is_large else self._coded(digest, body)

    def _coded(self, digest: bytes, body: bytes) -> bytes:
        return self._coding.coded(body, _about(digest))

    def _of_object(self, digest: bytes) -> bytes:
        if self._objects is None:
            raise StoreDamaged(
                "a large message is kept as an object, and CONTEXT_COMPRESSION_OBJECTS is not set"
            )
        return self._objects.get(self._name(digest))

    def _name(self, digest: bytes) -> str:
        return f"{self._tenant}/{digest.hex()[:2]}/{digest.hex()}"


def _about(digest: bytes) -> str:
    return f"contents/{digest.hex()}"
