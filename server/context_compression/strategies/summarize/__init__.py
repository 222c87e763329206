"""`summarize`: head, a summary of the middle written by a model, and the recent messages.

A second summary updates the first with what is new since. What code can know is not left to the
model: the ledger, the file lists, the user's last request. Claims without a source are struck.

    strategy.py  `propose`: which messages are summarised, and the edits that follow
    requests.py  the requests to the model: instructions, parts of a long record, new attempts
    note.py      the message with the summary: fenced, with file lists and ledger
"""

from context_compression.strategies.summarize.note import previous_summary
from context_compression.strategies.summarize.strategy import propose

__all__ = ["previous_summary", "propose"]
