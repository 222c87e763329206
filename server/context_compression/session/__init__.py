"""One conversation on disk: record it, view it, compress it, bring anything back, undo.

session.py    compressing it: when it is due, refused, asked for
by_caller.py  the same with a summary that the caller writes
recorded.py   the conversation itself, and what was archived
status.py     how it stands
state.py      what its log says
naming.py     which session a conversation belongs to
archiver.py   keeping originals before a view changes
reading.py    what was archived: whole, by lines, by pattern
"""

from context_compression.session.by_caller import PLAN_SECONDS, SummaryAssignment, no_plan
from context_compression.session.naming import session_id_for
from context_compression.session.reading import NO_LINE, as_text, select
from context_compression.session.session import Session
from context_compression.session.status import Status

__all__ = [
    "NO_LINE",
    "PLAN_SECONDS",
    "Session",
    "Status",
    "SummaryAssignment",
    "as_text",
    "no_plan",
    "select",
    "session_id_for",
]
