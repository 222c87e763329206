"""What tables hold: JSON as bytes, sealed or not, and what stands between tenants."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from context_compression.conversation.messages import is_object
from context_compression.errors import StoreDamaged, StoreUnwritable
from context_compression.store.files import to_json
from context_compression.store.json_lines import (
    KEY,
    has_checksum,
    placed,
    was_changed,
    with_checksum,
)
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.database import Database
from context_compression.store.sealing import VARIABLE, Seal

SEALED_BYTE = b"\x01"
"""The first byte of what is sealed. No JSON begins with it."""


class Coding:
    """How the JSON of one tenant is kept. What was written before there was a key can be read."""

    def __init__(self, tenant: str, seal: Seal | None) -> None:
        """Coding for a tenant; with `None`, JSON is kept as it is."""
        self._tenant, self._seal = tenant, seal
        self.mark: Callable[[], bool | None] = lambda: None
        """Asks the tenant's mark: whether what is not sealed is believed, as it is older than the
        mark; `None` if there is no mark that could say so."""

    def coded(self, data: bytes, about: str) -> bytes:
        """JSON as a table keeps it; `about` is the table and the key of the row, as in `plain`."""
        return self._seal.seal(data, self._about(about)) if self._seal else data

    def kept(self, line: bytes, about: str) -> bytes:
        """A JSON object as `coded`; if it is not sealed, with a checksum of it and of its place."""
        if self._seal is not None:
            return self.coded(line, about)
        return placed(line, about) if has_checksum(line) else with_checksum(line, about)

    def plain(self, data: bytes, about: str) -> bytes:
        """The JSON that was given to `coded`.

        Raises:
            StoreDamaged: it is sealed and the key is not given, or it was changed.
        """
        if not data.startswith(SEALED_BYTE):
            if self._seal is not None and self.mark() is False:
                raise StoreDamaged(
                    "This is not sealed, and all that this tenant keeps is. It was left as it is."
                )
            return data
        if self._seal is None:
            raise StoreDamaged(
                f"The contents of this store are encrypted, and {VARIABLE} is not set. Set it to "
                "the key; nothing was changed."
            )
        return self._seal.unseal(data, self._about(about))

    def row(self, data: bytes, about: str, n: int) -> bytes:
        """The JSON of the `n`-th row of its kind, which was coded for `about_row(about, n)`.

        Empty if this one row is damaged. Rows of earlier versions were sealed without a number.

        Raises:
            StoreDamaged: a key is missing, so that no row can be read.
        """
        try:
            return self.plain(data, about_row(about, n))
        except StoreDamaged:
            with suppress(StoreDamaged):
                return self.plain(data, about)
            if self.is_damage():
                return b""
            raise

    def is_damage(self) -> bool:
        """Whether what cannot be read is damaged, because no key is missing.

        Raises:
            StoreDamaged: a key is missing; it is named.
        """
        return (self.mark() is None) == (self._seal is None)

    @property
    def keys(self) -> list[str]:
        """The ids of the keys, the newest first."""
        return self._seal.ids if self._seal else []

    def value(self, data: bytes, about: str) -> Any:
        """The JSON value that was given to `coded`.

        Raises:
            StoreDamaged: it is sealed and the key is not given, or it was changed.
        """
        plain = self.plain(data, about)
        if was_changed(plain, about):
            raise _changed(about)
        try:
            return json.loads(plain)
        except (ValueError, RecursionError) as error:
            raise _changed(about) from error

    def object_of(self, data: bytes, about: str) -> dict[str, Any]:
        """The JSON object that was given to `coded`.

        Raises:
            StoreDamaged: as `value`, or it is another value.
        """
        value = self.value(data, about)
        if not is_object(value):
            raise _changed(about)
        return {key: each for key, each in value.items() if key != KEY}

    def sound(self, data: bytes, about: str, kind: type[Any]) -> Any:
        """The JSON value of a kind that was given to `coded`; `None` if it was changed, or forged.

        Raises:
            StoreDamaged: a key is missing.
        """
        try:
            value = self.value(data, about)
        except StoreDamaged:
            if self.is_damage():
                return None
            raise
        if is_object(value):
            value = {key: each for key, each in value.items() if key != KEY}
        return value if isinstance(value, kind) else None

    def digest(self, data: bytes) -> bytes:
        """32 bytes by which equal contents are found: SHA-256, or a keyed hash."""
        return self._seal.digest(data) if self._seal else hashlib.sha256(data).digest()

    def word(self, word: str) -> str:
        """What a table shows of a hash: itself, or a keyed hash of it."""
        return self._seal.blind(word) if self._seal else word

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._seal is not None

    def is_digest(self, digest: bytes, data: bytes) -> bool:
        """Whether contents that are not sealed are those of a digest; sealed ones prove it."""
        return self._seal is not None or hashlib.sha256(data).digest() == digest

    def _about(self, about: str) -> bytes:
        return f"{self._tenant}/{about}".encode()


def about_row(about: str, n: int) -> str:
    """What a row is sealed for: its number, too, so that none can stand in another's place."""
    return f"{about}/{n}"


def _changed(about: str) -> StoreDamaged:
    return StoreDamaged(
        f"A row of {about} in the database was changed, or cannot be read. Bring it back from a "
        "backup. Nothing was written."
    )


Result = TypeVar("Result")

SEALED = "encryption"
"""The name of the document that a tenant has whose rows are sealed."""
OLDER = b"older rows are not sealed"
CHECK = f"documents/{SEALED}"
_MARK = "SELECT body FROM documents WHERE tenant = %s AND name = %s"
_SIGN = "UPDATE documents SET body = %s WHERE tenant = %s AND name = %s"
_USED = r"""
SELECT encode(substring(body FROM 2 FOR 4), 'hex') FROM (
    SELECT body FROM rows WHERE tenant = %(tenant)s
    UNION ALL SELECT body FROM summaries WHERE tenant = %(tenant)s
    UNION ALL SELECT body FROM documents WHERE tenant = %(tenant)s
) x WHERE substring(body FROM 1 FOR 1) = '\x01' GROUP BY 1
"""
"""The ids of the keys that sealed something before the mark told them."""
_UNSEALED = rf"""
SELECT EXISTS (SELECT FROM (
    SELECT body FROM rows WHERE tenant = %(tenant)s
    UNION ALL SELECT body FROM summaries WHERE tenant = %(tenant)s
    UNION ALL SELECT body FROM documents WHERE tenant = %(tenant)s AND name <> '{SEALED}'
) x WHERE substring(body FROM 1 FOR 1) <> '\x01')
"""
_SEAL = (
    "INSERT INTO documents (tenant, name, body) VALUES (%s, %s, convert_to('{}', 'UTF8')) "
    "ON CONFLICT DO NOTHING"
)
_UNGUARDED = """
SELECT CASE WHEN rolsuper THEN 'is a superuser, so the policies of the database do not keep'
    WHEN rolbypassrls THEN 'has BYPASSRLS, so the policies of the database do not keep'
    ELSE 'owns the tables, so the policies of the database do not keep the words of' END
FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls OR EXISTS (
    SELECT 1 FROM pg_class WHERE oid = 'lexemes'::regclass AND pg_has_role(relowner, 'USAGE')
))
"""


def unguarded(database: Database, tenant: str) -> str:
    """Why the policies of the database do not hold for our role; "" if they do."""
    found = database.read(tenant, _UNGUARDED)
    return next((f"the role {why} tenants apart" for [why] in found), "")


class SealedOrNot:
    """Whether the rows of a tenant are sealed, and with which keys.

    The tenant's mark holds, for each key that ever sealed here, a value that only this key seals.
    So a worker without a key, or with another one, writes nothing.
    """

    def __init__(self, database: Database, tenant: str, coding: Coding) -> None:
        """Nothing is asked yet."""
        self._database, self._tenant, self._coding = database, tenant, coding
        self._believes: bool | None = None

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """The result of a transaction that writes, see `Database.write`.

        The mark is looked at each time, because another worker may have changed it since.

        Raises:
            StoreUnwritable: the tenant's rows are sealed with a key that is not given.
        """

        def guarded(connection: Connection) -> Result:
            if self._coding.seals:
                self._sign(connection)
            elif connection.execute(_MARK, [self._tenant, SEALED]).fetchall():
                raise StoreUnwritable(
                    f"What the tenant {self._tenant} keeps in {self._database.address.shown} is "
                    f"encrypted, and {VARIABLE} is not set, so this would be kept readable. Set it "
                    "to the key; nothing was changed."
                )
            return work(connection)

        return self._database.write(self._tenant, guarded)

    def believes_unsealed(self) -> bool | None:
        """Whether the tenant had rows before its mark, so that unsealed ones may be its own.

        `None` if there is no mark with values of keys.

        Raises:
            StoreDamaged: it is sealed with a key that is not given; the message names it.
        """
        if self._believes is None:
            for [body] in self._database.read(self._tenant, _MARK, [self._tenant, SEALED]):
                if values := _values(body):
                    self._believes = OLDER in self._proven(values)
        return self._believes

    def _sign(self, connection: Connection) -> None:
        """Put the newest key into the mark, unless it is there, or refuse to write."""
        about = [self._tenant, SEALED]
        newest = self._coding.keys[0]
        values = _values(_first(connection.execute(_MARK, about).fetchall()))
        if newest not in values:  # the others wait here, and then see it
            connection.execute(_SEAL, about)
            values = _values(_first(connection.execute(f"{_MARK} FOR UPDATE", about).fetchall()))
        try:
            known = self._proven(values)
        except StoreDamaged as error:
            raise StoreUnwritable(f"{error} Nothing was changed.") from error
        if newest in values:
            return
        if not values:
            used = {key for [key] in connection.execute(_USED, {"tenant": self._tenant}).fetchall()}
            if missing := used - {*self._coding.keys}:
                raise StoreUnwritable(
                    f"What the tenant {self._tenant} keeps was sealed with the key "
                    f"{', '.join(sorted(missing))}, and {VARIABLE} has no such key, only "
                    f"{', '.join(self._coding.keys)}. Add that key. Nothing was changed."
                )
            [[older]] = connection.execute(_UNSEALED, {"tenant": self._tenant}).fetchall()
            known = {OLDER} if older else set[bytes]()
        content = OLDER if OLDER in known else b""
        values[newest] = self._coding.coded(content, CHECK).hex()
        connection.execute(_SIGN, [to_json(values), *about])

    def _proven(self, values: Mapping[str, str]) -> set[bytes]:
        """What the values of a mark say, each opened with its key."""
        opened = [bytes.fromhex(value) for value in values.values()]
        if not all(each.startswith(SEALED_BYTE) for each in opened):
            raise _no_mark()
        return {self._coding.plain(each, CHECK) for each in opened}


def _first(found: Sequence[Sequence[bytes]]) -> bytes:
    return found[0][0] if found else b"{}"


def _values(body: bytes) -> dict[str, str]:
    """The values in a mark by the ids of their keys.

    Raises:
        StoreDamaged: it is no mark.
    """
    try:
        values: Any = json.loads(body)
        return {str(key): bytes.fromhex(value).hex() for key, value in values.items()}
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise _no_mark() from error


def _no_mark() -> StoreDamaged:
    return StoreDamaged(
        f'The document "{SEALED}", which tells the keys of the tenant, was changed. Bring it back '
        "from a backup. Nothing was changed."
    )
