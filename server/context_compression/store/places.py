"""Which engine keeps the store at a place: a folder of files, or a database.

`CONTEXT_COMPRESSION_OBJECTS` says where a database's store keeps large messages, and
`CONTEXT_COMPRESSION_KEY` encrypts what it keeps. A folder knows neither.
"""

import os
from pathlib import Path

from context_compression.extras import extra
from context_compression.store.backend import Backend
from context_compression.store.file_backend import FileBackend
from context_compression.store.location import database_address
from context_compression.store.objects import objects_at
from context_compression.store.sealing import seal_from

OBJECTS = "CONTEXT_COMPRESSION_OBJECTS"


def is_database(place: str | Path) -> bool:
    """Whether a place is the address of a database, `postgresql://…`."""
    return database_address(place) is not None


def backend_at(place: str | Path, home: Path | None = None) -> Backend:
    """The engine of the store at a place. Nothing is opened or created yet.

    Args:
        place: the path of a folder, or the address of a database.
        home: see `FileBackend`; a database is always trusted.

    Raises:
        StoreError: an address of another kind, one that PostgreSQL does not know, or a NUL.
        InvalidSettings: a variable for a database's store cannot be right.
        MissingExtra: the place is a database, and a package for it is not installed.
    """
    if (address := database_address(place)) is None:
        return FileBackend(place, home)
    with extra("postgres"):
        from context_compression.store.postgres.backend import PostgresBackend
    objects = os.environ.get(OBJECTS)
    return PostgresBackend(
        address,
        seal=seal_from(os.environ),
        objects=objects_at(objects) if objects else None,
    )
