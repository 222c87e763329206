"""The store: what all sessions keep, by default in plain files in the folder `.compression/`.

This package writes, reads and searches it. The package `session` gives the events of a session
their meaning. The store keeps JSON values and does not know strategies or hosts.

    store               `Store`: settings, summaries and sessions; and what of it is old
    file_backend        `FileBackend`: keeps all of it in one folder; finds the owner of a ref
    postgres            `PostgresBackend`: keeps it in a database
    log                 `SessionLog`, one session: its events, originals, refs, ledger
    search              the search in an archive
    session_files       `SessionFiles`, the files of one session
    kept                sessions of hosts in pieces, with a manifest for each; for the user
    refs                refs as people write them, in the bytes of a log, and in the list of all
    json_lines          append-only files of JSON lines with checksums
    root_folder         a private folder with an id and locks; whether its user trusts it
    backend             `Backend` and `SessionStore`, the interface to what keeps a store
    objects             large originals outside the database, in a bucket or a folder
    files               atomic writes, JSON, names, sizes, and errors that say what to do
    beside              what a search looks into, too: the sessions that hosts wrote
    hits                the result of a search
    location            where the store for a working folder is
    sealing             encrypts what is kept, with keys from the environment

A module imports only modules below it; import-linter checks the exact layers.
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.store.backend import Backend, Events, SessionStore
    from context_compression.store.file_backend import FileBackend
    from context_compression.store.files import FILE_NAME, to_json
    from context_compression.store.hits import Hit, Neighbour, SearchResult
    from context_compression.store.json_lines import object_in_line, with_checksum
    from context_compression.store.kept import KeptSessions
    from context_compression.store.location import (
        FOLDER,
        PLACE,
        TENANT,
        store_folder_for,
        user_data,
    )
    from context_compression.store.log import SessionLog
    from context_compression.store.postgres.backend import PostgresBackend
    from context_compression.store.search.query import Pattern
    from context_compression.store.session_files import SessionFiles, file_name
    from context_compression.store.store import Store, backend_at, probe

__all__ = [
    "FILE_NAME", "FOLDER", "PLACE", "TENANT", "Backend", "Events", "FileBackend", "Hit",
    "KeptSessions", "Neighbour", "Pattern", "PostgresBackend", "SearchResult", "SessionFiles",
    "SessionLog", "SessionStore", "Store", "backend_at", "file_name", "object_in_line", "probe",
    "store_folder_for", "to_json", "user_data", "with_checksum",
]  # fmt: skip

__getattr__ = on_demand(  # the status line needs `location` alone
    __name__,
    {
        "store.json_lines": ("object_in_line", "with_checksum"),
        "store.postgres.backend": ("PostgresBackend",),
        "store.file_backend": ("FileBackend",),
        "store.session_files": ("SessionFiles", "file_name"),
        "store.files": ("FILE_NAME", "to_json"),
        "store.location": ("FOLDER", "PLACE", "TENANT", "store_folder_for", "user_data"),
        "store.backend": ("Backend", "Events", "SessionStore"),
        "store.kept": ("KeptSessions",),
        "store.hits": ("Hit", "Neighbour", "SearchResult"),
        "store.search.query": ("Pattern",),
        "store.log": ("SessionLog",),
        "store.store": ("Store", "backend_at", "probe"),
    },
)
