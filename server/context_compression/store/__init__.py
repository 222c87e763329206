"""The store: what all sessions keep, by default in plain files in the folder `.compression/`.

This package writes, reads and searches it. The package `session` gives the events of a session
their meaning. The store keeps JSON values and does not know strategies or hosts.

    store               `Store`: settings, summaries and sessions, wherever they are kept
    pruning             what may be deleted

    log                 `SessionLog`, one session: its events, originals, refs, ledger
    file_backend        `FileBackend`: keeps all of it in one folder

    catalog             finds the owner of a ref, and the logs that have grown, in large stores
    owners              which of several sessions archived a ref
    sessions            the sessions of a store in a folder
    search/query.py       the query language: words, limits by path, tool and failure, and regular
                          expressions
    search/excerpt.py     recorded messages and lines of texts, as a search shows them and as they
                          fit a query
    search/documents.py   the documents that a search can find in a session, and their places in its
                          files
    search/tables.py      the tables of the search index, and one session as stored in them
    search/index.py       the search index of a store: its file, and its update from the logs
    search/lookup.py      A search in the index: the SQL that finds candidates, and their order
    search/run.py         runs a search over the archive: by words, by a pattern, with or without an
                          index

    session_files       `SessionFiles`, the files of one session
    session_folder      its folder: offloaded texts, appends, removal
    verification        checks the archive of a session for damage

    originals           files with the messages that a compression archived
    ref_list            the list of all refs of a store, and of the logs that have grown
    ref_entries         finds the entries of refs in a log without parsing the complete log
    json_lines          append-only files of JSON lines
    summaries           the document with the summaries
    trust               whether the settings and prompts in a folder are applied

    objects/folder.py   large originals outside the database, as files of a folder, and the
                        interface to such places
    objects/bucket.py   `Bucket`: objects in S3 and what is compatible with it; and the objects at
                        an address
    sealing             encrypts what is kept, with keys from the environment

    root_folder         a private folder with an id and locks
    files               atomic writes, JSON, and errors that say what to do
    checksums           a checksum at the end of each line
    disk_usage          the disk space of files and folders
    events              reads the messages and refs in single events of a log
    location            where the store for a working folder is
    names               checks file names that come from outside
    short_refs          completes shortened refs

    backend             `Backend`, the interface to the engine that keeps a store
    hits                the result of a search

A module imports only modules below it; import-linter checks the exact layers.
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.store.backend import Backend, Events
    from context_compression.store.hits import Hit, Neighbour, SearchResult
    from context_compression.store.log import SessionLog
    from context_compression.store.search.query import Pattern
    from context_compression.store.store import Store

__all__ = [
    "Backend",
    "Events",
    "Hit",
    "Neighbour",
    "Pattern",
    "SearchResult",
    "SessionLog",
    "Store",
]

__getattr__ = on_demand(  # the status line needs `location` alone
    __name__,
    {
        "Backend": "store.backend",
        "Events": "store.backend",
        "Hit": "store.hits",
        "Neighbour": "store.hits",
        "Pattern": "store.search.query",
        "SearchResult": "store.hits",
        "SessionLog": "store.log",
        "Store": "store.store",
    },
)
