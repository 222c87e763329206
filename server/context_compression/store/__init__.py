"""The store folder `.compression/`: plain files that a person can read without this package.

This package writes, reads and searches the files of all sessions. The package `session` gives the
events of a session their meaning. The store keeps JSON values and does not know strategies or
hosts.

    folder              `Store`: the folder as an object

    catalog             finds the owner of a ref, and the logs that have grown, in large stores
    pruning             what may be deleted
    sessions            the sessions of a store, and which of them archived a ref
    disk_usage          the disk space of the sessions and the index
    search/             search over all sessions; see its own docstring

    log                 `SessionLog`, one session: its events, originals, refs, ledger
    session_folder      the folder of one session: locks, offloaded texts, removal
    verification        checks the archive of a session for damage

    originals           files with the messages that a compression archived
    ref_list            the list of all refs of a store, and of the logs that have grown
    ref_entries         finds the entries of refs in a log without parsing the complete log
    json_lines          append-only files of JSON lines
    summaries           the file `summaries.json`
    trust               whether the settings and prompts in a folder are applied

    root_folder         a private folder with an id and locks
    files               atomic writes, JSON, and errors that say what to do
    checksums           a checksum at the end of each line
    events              reads the messages and refs in single events of a log
    location            where the store for a working folder is
    names               checks file names that come from outside
    short_refs          completes shortened refs

A module imports only modules below it; import-linter checks the exact layers.
"""

from context_compression.moved import held_elsewhere
from context_compression.store.folder import Store
from context_compression.store.json_lines import Events
from context_compression.store.log import SessionLog
from context_compression.store.search import Hit, Neighbour, SearchResult
from context_compression.store.search.patterns import Pattern

__all__ = ["Events", "Hit", "Neighbour", "Pattern", "SearchResult", "SessionLog", "Store"]

__getattr__ = held_elsewhere(__name__)
