"""The ledger: the evidence of everything compressed so far, found by code, never by a model.

entries(messages) ─▶ Entry… ─ merge ─▶ the full ledger ─ render ─▶ the part that a view shows

entry.py         `Entry`; merging of ledgers; JSON
reading.py       entries from messages
file_actions.py  actions on files by calls and patches
changes.py       the texts that calls write into files, and the texts they replace
tasks.py         tasks in calls, and which are open
checklists.py    lines with a box in texts
shell.py         actions on files by shell commands
outcomes.py      test counts and error lines in tool results
view.py          the part of the ledger that a view shows; lists of files
"""

from context_compression.evidence.ledger.entry import Entry, Kind, from_json, merge, to_json
from context_compression.evidence.ledger.reading import actions_in, entries
from context_compression.evidence.ledger.view import file_lists, file_tags, render

__all__ = [
    "Entry",
    "Kind",
    "actions_in",
    "entries",
    "file_lists",
    "file_tags",
    "from_json",
    "merge",
    "render",
    "to_json",
]
