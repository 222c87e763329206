"""Which engine keeps the store at a place: a folder of files, or a database.

`CONTEXT_COMPRESSION_OBJECTS` says where a database's store keeps large messages, and
`CONTEXT_COMPRESSION_KEY` encrypts what it keeps. A folder knows neither, so with one of them
nothing is archived in it: who sets a key must not believe that an archive is sealed which is not.
What is there already can be read and deleted.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from context_compression.extras import extra
from context_compression.store.backend import CONFIG, Backend
from context_compression.store.file_backend import FileBackend
from context_compression.store.location import PLACE, database_address
from context_compression.store.objects import objects_at
from context_compression.store.sealing import VARIABLE, seal_from

OBJECTS = "CONTEXT_COMPRESSION_OBJECTS"
NOT_OF_FOLDERS = {
    VARIABLE: "encrypts only a store in PostgreSQL; this store is a folder and would not be "
    "encrypted",
    OBJECTS: "is only for a store in PostgreSQL; this store is a folder and would keep large "
    "messages itself",
}
"""What is wrong with a variable if the store is a folder."""
UNSET = f"Unset it, or name a database in {PLACE}."
IN_A_PROGRAM = "A program that wants such a folder beside a database passes FileBackend(path)."


def is_database(place: str | Path) -> bool:
    """Whether a place is the address of a database, `postgresql://…`."""
    return database_address(place) is not None


def not_of_folders(environ: Mapping[str, str]) -> str | None:
    """Why an environment is not that of a store in a folder; `None` if it may be."""
    given = [name for name in NOT_OF_FOLDERS if environ.get(name, "").strip()]
    return f"{given[0]} {NOT_OF_FOLDERS[given[0]]}" if given else None


def backend_at(
    place: str | Path, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> Backend:
    """The engine of the store at a place. Nothing is opened or created yet.

    Args:
        place: the path of a folder, or the address of a database.
        home: see `FileBackend`; a database is always trusted.
        environ: the environment variables; by default those of this process.

    Raises:
        StoreError: an address of another kind, one that PostgreSQL does not know, or a NUL.
        InvalidSettings: a variable for a database's store cannot be right.
        MissingExtra: the place is a database, and a package for it is not installed.
    """
    environ = os.environ if environ is None else environ
    if (address := database_address(place)) is None:
        why = not_of_folders(environ)
        refusal = f"{why}, so nothing is archived in it. {UNSET} {IN_A_PROGRAM}" if why else ""
        return FileBackend(place, home, refusal=refusal)
    with extra("postgres"):
        from context_compression.store.postgres.backend import PostgresBackend
    objects = environ.get(OBJECTS)
    return PostgresBackend(
        address,
        seal=seal_from(environ),
        objects=objects_at(objects) if objects else None,
    )


def probe(backend: Backend) -> None:
    """Raises why a store cannot be read now; it does not try for seconds, as calls do."""
    if not isinstance(backend, FileBackend):
        with suppress(ImportError):  # then it is no database
            from context_compression.store.postgres.backend import PostgresBackend

            if isinstance(backend, PostgresBackend):
                backend.database.probe()
    backend.read_document(CONFIG)
