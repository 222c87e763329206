"""`summarize`: head, a summary of the middle written by a model, and the recent messages.

A second summary updates the first one with the new messages. Code adds the ledger, the file lists
and the user's last request. Quotes, paths, numbers and ids that do not occur in the source are
replaced by `[unverified]`.

    strategy.py  `propose`: which messages are summarised, and the edits that follow
    requests.py  the requests to the model: instructions, parts of a long record, new attempts
    sizes.py     how large a request may be, after a model said that one was too long
    note.py      the message with the summary: fenced, with file lists and ledger
"""

from context_compression.strategies.summarize.note import previous_summary
from context_compression.strategies.summarize.strategy import propose

__all__ = ["previous_summary", "propose"]
