"""Archived messages, each kept once for a tenant: in a table, or large ones as objects beside it.

An object is announced, written before the row that names it is committed, and deleted after the row
is. Who writes and who deletes the same object hold its row meanwhile, so neither undoes the other.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

from context_compression.display.plurals import how_many
from context_compression.errors import (
    ObjectsLeft,
    StoreDamaged,
    StoreUnreachable,
    StoreUnwritable,
)
from context_compression.store.objects import Objects
from context_compression.store.postgres.coding import Coding
from context_compression.store.postgres.connections import Connection

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
