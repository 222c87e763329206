"""The tables of a store in PostgreSQL, made and changed by the numbered files in `migrations/`."""

from importlib.resources import files
from typing import Any

from psycopg import Connection, errors

from context_compression.errors import StoreDamaged, StoreTooNew, StoreUnwritable

NAME = "context_compression"
"""The schema that holds the tables."""
MIGRATIONS = ("001_store.sql", "002_counts.sql")
"""The files, the oldest first. A file that was released never changes."""
VERSION = len(MIGRATIONS)
ENCODING = "UTF8"
"""The only encoding of a database in which every text is kept as it is."""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('context_compression.schema', 0))"
_THERE = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'schema_version'"
"""`to_regclass` would answer from a cache that a wait for the lock does not renew."""


def prepare(connection: Connection[Any], place: str) -> None:
    """Bring the tables to our version, in one transaction.

    Args:
        connection: of a role that may create a schema, if the tables are not there.
        place: what people are shown for the database.

    Raises:
        StoreTooNew: a newer version of this package made them.
        StoreUnwritable: the role may not make them, or the database has another encoding.
        StoreDamaged: which version they have is not known.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, ENCODING):  # some poolers tell none
        raise StoreUnwritable(
            f"The database {place} has the encoding {encoding}, which cannot keep every text. Make "
            f"one with CREATE DATABASE … ENCODING '{ENCODING}' TEMPLATE template0. Nothing was "
            "changed."
        )
    if version(connection) == VERSION:
        return
    try:
        with connection.transaction():
            connection.execute(_LOCK)
            before = version(connection)
            if before > VERSION:
                raise StoreTooNew(
                    f"The tables in {place} were made by a newer context-compression (version "
                    f"{before}, this one knows {VERSION}): upgrade. Nothing was changed."
                )
            for name in MIGRATIONS[before:]:
                sql = files(__package__ or "").joinpath("migrations", name).read_bytes()
                connection.execute(sql)
            connection.execute(f"UPDATE {NAME}.schema_version SET version = %s", [VERSION])
    except errors.InsufficientPrivilege as error:
        raise StoreUnwritable(
            f"The role may not make the tables in {place}: {error.diag.message_primary}. Let the "
            "owner of the database start the program once, or grant CREATE on the database."
        ) from None


def version(connection: Connection[Any]) -> int:
    """The version of the tables; 0 if there are none.

    Raises:
        StoreDamaged: it is not told.
    """
    if not connection.execute(_THERE, [NAME]).fetchall():
        return 0
    found = connection.execute(f"SELECT version FROM {NAME}.schema_version").fetchall()
    if len(found) != 1:
        raise StoreDamaged(
            f"The table {NAME}.schema_version has {len(found)} rows instead of one with the "
            "version of the tables. Bring it back from a backup. Nothing was changed."
        )
    return int(found[0][0])
