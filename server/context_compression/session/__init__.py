"""One conversation on disk: record it, view it, compress it, restore from it, undo.

This package defines what a session does with its log. The package `compression` does one
compression, `store` keeps the files, and `doors` finds the session that a caller means.

    session.py       `Session`: compress when it is requested
    automatic.py     `AutomaticConversation`, its base class: compress when it is due or refused
    recorded.py      `RecordedConversation`, the base class of that: record, view, restore, undo
    compressing.py   runs compressions: one at a time, announced by events
    by_caller.py     the same with a summary that the caller writes
    background.py    makes compressions beside the agent's work
    preparation.py   prepares one of them
    fitting.py       follows the history of a program that keeps it itself
    unread.py        the messages in it that we cannot read, and their places
    passed_on.py     tells which messages stay as they came
    in_memory.py     makes requests small while the store cannot be used
    lasting.py       how small a compression makes a view, so that it lasts
    triggers.py      plans the compressions that nobody requested
    arrivals.py      shortens tool results that come in
    patterns.py      writes an output with repeating lines shorter, without loss
    tool_results.py  offloads one large tool result before it enters a conversation
    requests.py      the compression requests of a session
    pacing.py        when a session may compress; `Event`
    status.py        how full the context is
    history.py       a whole session: its view before each compression, and now
    savings.py       what compressions saved, over all requests

The log and its events:

    state.py         `State`: the view now, and how it was made
    replaying.py     the state of a log
    event_checks.py  whether an event makes sense after the events before it
    log_events.py    events: stamped and read
    layouts.py       how a compression made its view, with quotations as positions
    archiver.py      writes originals to disk before a view changes
    receipts.py      what the notes in a view may promise
    keeping.py       refs, and texts archived under them
    reading.py       an original as text, or some of its lines
    restoring.py     what `context_restore` answers: pages of an original, hits of a search
    following.py     compares a conversation that its host keeps with the record
    grouping.py      compares histories by their blocks, wherever the borders of messages are
    outgoing.py      what goes out for a view, repaired
    naming.py        which session a conversation belongs to
    locks.py         locks of a store, waited for without blocking an event loop
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
