"""The `.compression/` folder: plain files that a person can read without us.

    files.py      a file is whole or not there; errors say what to do; locks between processes
    lines.py      append-only files of JSON lines that survive a crash; checksums.py: of each line
    log.py        one session: its events, its originals, what was offloaded, its ledger
    refs.py       finding one ref in it; originals.py: what that stands for
    folder.py     the folder itself: config, summaries, sessions
    location.py   where that lies; trust.py: whether it speaks for the user
    tidying.py    what may be deleted from it

Search over all that is archived, from what is asked to what is found:

    query.py      words, names, and what limits them; patterns.py: regular expressions
    documents.py  what can be found in a session, read from its plain files
    spans.py      where a text stands in them, so that the index need not keep it
    index.py      an SQLite file made of that, kept up by whoever searches; rows.py: its tables
    lookup.py     what is asked of the index; scan.py: the same without one
    search.py     the best of it, in order; excerpt.py: the lines that show why

It stores JSON values and knows nothing of strategies.
"""

from context_compression.store.folder import Store
from context_compression.store.lines import Events
from context_compression.store.log import SessionLog
from context_compression.store.patterns import Pattern
from context_compression.store.search import Found, Hit

__all__ = ["Events", "Found", "Hit", "Pattern", "SessionLog", "Store"]
