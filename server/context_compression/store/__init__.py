"""The folder `.compression/`: plain files that a person can read without this package.

Here live the files of all sessions, how they are written and read, and the search over them. What
the events of a session mean is in the room `session`; JSON values are kept here, and nothing is
known of strategies or of hosts.

    folder              `Store`: the folder as an object

    pruning             what may be deleted
    sessions            which sessions there are, and which of them archived a ref
    disk_usage          how much room the sessions and the index take
    search/             search over all sessions; see its own docstring

    log                 `SessionLog`, one session: its events, originals, refs, ledger
    session_folder      the folder of one session: locks, offloaded texts, removal
    verification        what is wrong with the archive of a session

    originals           files with the messages that a compression archived
    ref_entries         the entries of refs in a log, found without parsing all of it
    json_lines          append-only files of JSON lines
    summaries           the file `summaries.json`
    trust               whether the settings and prompts in a folder are applied

    root_folder         a private folder with an id and locks
    files               atomic writes, JSON, and errors that say what to do
    checksums           a checksum at the end of each line
    events              what single events of a log say
    location            where the store for some work is
    names               names of files that come from outside
    short_refs          refs that were cut short

A module imports only what stands below it; import-linter holds the exact floors.
"""

from context_compression.moved import held_elsewhere
from context_compression.store.folder import Store
from context_compression.store.json_lines import Events
from context_compression.store.log import SessionLog
from context_compression.store.search import Hit, Neighbour, SearchResult
from context_compression.store.search.patterns import Pattern

__all__ = ["Events", "Hit", "Neighbour", "Pattern", "SearchResult", "SessionLog", "Store"]

__getattr__ = held_elsewhere(__name__)
