"""The ledger: the evidence of everything compressed so far, found by code, never by a model.

entries(messages) ─▶ Entry… ─ merge ─▶ the full ledger ─ render ─▶ the part that a view shows

entries.py   entries of the ledger: read from messages, merged, and the part that a view shows
actions.py   actions on files by tool calls, shell commands and git
changes.py   Changes: the texts that tool calls write into files, and which were taken back later
tasks.py     tasks in calls and checklists, and the outcomes in the output of tools
"""

from context_compression.evidence.ledger.entries import (
    Entry,
    Kind,
    entries,
    file_lists,
    file_tags,
    from_json,
    merge,
    render,
    to_json,
)

__all__ = [
    "Entry", "Kind", "entries", "file_lists", "file_tags", "from_json", "merge",
    "render", "to_json",
]  # fmt: skip
