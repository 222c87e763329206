"""One conversation on disk: record it, view it, compress it, bring anything back, undo.

session.py   the conversation: what one can do with it
state.py     what its log says
archiver.py  keeping originals before a view changes
reading.py   what was archived: whole, by lines, by pattern
"""

from context_compression.session.reading import NO_LINE, as_text, select
from context_compression.session.session import PLAN_SECONDS, Asked, Session, Status, name_for

__all__ = ["NO_LINE", "PLAN_SECONDS", "Asked", "Session", "Status", "as_text", "name_for", "select"]
