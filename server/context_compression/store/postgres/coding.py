"""What the tables hold of JSON: its bytes, or sealed ones that only who has the key can read."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from context_compression.conversation.messages import is_object
from context_compression.errors import StoreDamaged
from context_compression.store.checksums import (
    KEY,
    has_checksum,
    placed,
    was_changed,
    with_checksum,
)
from context_compression.store.sealing import VARIABLE, Seal

SEALED = b"\x01"
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
        """JSON as a table keeps it.

        Args:
            data: the JSON.
            about: the table and the key of the row; it must be the same for `plain`.
        """
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
        if not data.startswith(SEALED):
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

    def word(self, lexeme: str) -> str:
        """What an index of words keeps for a lexeme: itself, or a keyed hash of it."""
        return self._seal.blind(lexeme) if self._seal else lexeme

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._seal is not None

    @property
    def words(self) -> Callable[[str], list[str]] | None:
        """Returns what may be kept for a lexeme, under each key; `None` if it is kept itself."""
        return self._seal.blinds if self._seal else None

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
