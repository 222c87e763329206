"""One conversation on disk: record it, view it, compress it, restore from it, undo.

This package defines what a session does with its log. The package `compression` does one
compression, `store` keeps the files, and `hosts` finds the session that a caller means.

    session.py      `Session`
    continuing.py   `compress` with a store: continues what the last call returned
    fit.py          keeps it small before each request: its own record, or a program's history
    in_memory.py    makes requests small while the store cannot be used
    pacing.py       when it compresses by itself, how deep, and when originals come back; `Event`
    compressing.py  runs compressions: one at a time, announced by events; with summaries of callers
    background.py   the same beside the agent's work
    following.py    compares a conversation that its host or a program keeps with the record
    outgoing.py     what goes out for a view, repaired
    arrivals.py     shortens tool results that come in
    restoring.py    what `context_restore` answers; `restore_tool`
    pages.py        pages of a text, of whole lines
    parts.py        which part of an original is asked for: lines, matches, fields, a count
    fields.py       fields of JSON by path, of a table by column
    paths.py        JMESPath with limits; where a path ends, and what is there instead
    documents.py    the JSON in a text
    tables.py       the tables in a text: CSV, Markdown, aligned columns
    status.py       how full it is, what it held before, and which one a conversation has

The log, its events, and the archive:

    state.py        `State`: the view now, how it was made, and what compressions saved
    events.py       events: stamped, read, checked; layouts with quotations as positions
    archive.py      writes originals to disk before a view changes; what notes may promise
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.session.archive import ArchivedTexts
    from context_compression.session.arrivals import AnsweredCall, offload_result
    from context_compression.session.compressing import (
        PLAN_SECONDS,
        SummaryAssignment,
        no_plan,
        planned_view,
    )
    from context_compression.session.events import decode_message, timestamp
    from context_compression.session.outgoing import Outgoing
    from context_compression.session.pacing import GROWTH, Event
    from context_compression.session.pages import PAGE
    from context_compression.session.parts import NO_LINE, OriginalPart, part_of
    from context_compression.session.session import Session
    from context_compression.session.state import SCHEMAS
    from context_compression.session.status import Status, session_id_for

__all__ = [
    "GROWTH", "NO_LINE", "PAGE", "PLAN_SECONDS", "SCHEMAS", "AnsweredCall", "ArchivedTexts",
    "Event", "OriginalPart", "Outgoing", "Session", "Status", "SummaryAssignment",
    "decode_message", "no_plan", "offload_result", "part_of", "planned_view", "session_id_for",
    "timestamp",
]  # fmt: skip

__getattr__ = on_demand(  # a server that starts needs the arguments of `restoring` alone
    __name__,
    {
        "session.archive": ("ArchivedTexts",),
        "session.arrivals": ("AnsweredCall", "offload_result"),
        "session.compressing": (
            "PLAN_SECONDS", "SummaryAssignment", "no_plan", "planned_view",
        ),
        "session.events": ("decode_message", "timestamp"),
        "session.outgoing": ("Outgoing",),
        "session.pacing": ("GROWTH", "Event"),
        "session.pages": ("PAGE",),
        "session.parts": ("NO_LINE", "OriginalPart", "part_of"),
        "session.session": ("Session",),
        "session.state": ("SCHEMAS",),
        "session.status": ("Status", "session_id_for"),
    },
)  # fmt: skip
