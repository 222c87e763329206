"""`Objects`, the interface to a place for large contents, and what an object may be called."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol

from context_compression.errors import StoreDamaged, StoreError
from context_compression.store.names import FILE_NAME, RULE, checked_name

NAME = re.compile(rf"(?:{FILE_NAME.pattern})/([0-9a-f]{{2}})/\1[0-9a-f]{{62}}")
"""Matches the name of an object: `<tenant>/<first two digits>/<64 hex digits of its hash>`."""


class Objects(Protocol):
    """A place for contents of bytes. Several threads and processes may use it at once.

    A name has the form `<tenant>/<first two digits>/<64 hex digits of a hash>`. Other names raise
    `StoreError`; other files at the same place are neither listed nor touched.

    Every method raises `StoreUnreachable` if the place does not answer within some ten seconds,
    refuses the keys, or does not exist. No error shows a key.
    """

    @property
    def name(self) -> str:
        """What people are shown for the place: its path, or its address without secrets."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Keep `data` under a name. It is durable when this returns; nobody ever sees a part of it.

        Whoever puts something under a name that is taken must put the same content. That makes it
        young again for `names`.

        Raises:
            StoreUnwritable: the disk refused the write.
        """
        ...

    def get(self, name: str) -> bytes:
        """The bytes under a name.

        Raises:
            StoreDamaged: there is no such object.
        """
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects. A name without an object is no error."""
        ...

    def names(self, tenant: str | None = None, *, before: datetime | None = None) -> Iterator[str]:
        """The names of all objects, in no order.

        Args:
            tenant: only its objects.
            before: with a time zone; only objects that were last written before. An object is
                written before the row that names it, so leave out the last hour in a search for
                objects that no row names.
        """
        ...


def checked_object(name: str) -> str:
    """Return `name` unchanged if an object may be called so; `StoreError` if not."""
    if NAME.fullmatch(name):
        return name
    raise StoreError(
        "An object is called <tenant>/<first two digits>/<64 lower-case hex digits>, where a "
        f"tenant has {RULE}; {name[:200]!r} does not fit."
    )


def check_tenant(tenant: str | None) -> None:
    """Raises `StoreError` if a tenant, unless it is `None`, could stand for another folder."""
    if tenant is not None:
        checked_name(tenant, "A tenant's name")


def missing(name: str, place: str) -> StoreDamaged:
    """The error for an object that is not where it was put."""
    return StoreDamaged(
        f"The object {name} is missing in {place}. Bring it back from a backup of that place. If "
        "objects were moved, name the place where they are now. All other contents can be read."
    )
