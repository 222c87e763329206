"""Quotes of messages that are left out, in notes that replace them.

quoting.py   `Quoting`: the texts of a plan's messages that may be quoted, and their refs
calls.py     the texts of a call: its label, its line, its long arguments
outcomes.py  calls that failed or returned nothing, and the reason
labels.py    the label of a quote: `[User]`, `[Result of Bash: ls; ref …]`
note.py      the note for a run of messages: labelled quotes, marks of gaps
gaps.py      which gaps have a mark, and which marks have a ref
"""

from context_compression.strategies.quoting.calls import call_texts, weight_of
from context_compression.strategies.quoting.note import note
from context_compression.strategies.quoting.outcomes import UNDONE, outcome
from context_compression.strategies.quoting.quoting import QuotedText, Quoting

__all__ = ["UNDONE", "QuotedText", "Quoting", "call_texts", "note", "outcome", "weight_of"]
