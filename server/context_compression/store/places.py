"""Which engine keeps the store at a place: a folder of files, or a database."""

import re
from pathlib import Path

from context_compression.extras import extra
from context_compression.store.backend import Backend
from context_compression.store.file_backend import FileBackend

DATABASE = re.compile(r"postgres(ql)?://")


def is_database(place: str | Path) -> bool:
    """Whether a place is the address of a database, `postgresql://…`."""
    return isinstance(place, str) and DATABASE.match(place) is not None


def backend_at(place: str | Path, home: Path | None = None) -> Backend:
    """The engine of the store at a place. Nothing is opened or created yet.

    Args:
        place: the path of a folder, or the address of a database.
        home: see `FileBackend`; a database is always trusted.

    Raises:
        StoreError: another kind of URL, an address that PostgreSQL does not know, or a NUL.
        MissingExtra: the place is a database, and `psycopg` is not installed.
    """
    if not is_database(place):
        return FileBackend(place, home)
    with extra("postgres"):
        from context_compression.store.postgres.backend import PostgresBackend

    return PostgresBackend(str(place))
