"""The `.compression/` folder: plain files that a person can read without us.

    files.py   a file is whole or not there; errors say what to do; locks between processes
    lines.py   append-only files of JSON lines that survive a crash
    log.py     one session: its events, its originals, what was offloaded, its ledger
    folder.py  the folder itself: config, summaries, sessions

It stores JSON values and knows nothing of strategies.
"""

from context_compression.store.folder import Store
from context_compression.store.lines import Events
from context_compression.store.log import SessionLog

__all__ = ["Events", "SessionLog", "Store"]
