"""Transcripts: the parts of reading and writing them that all hosts share.

This folder holds the files, lines, rows and blocks that every host's reader uses. The formats and
the places of one host's transcripts are in `hosts`.

    transcript.py      `Transcript` and `History`, and the interface of a host's module that reads
                       them
    reading.py         reading of a transcript file: complete once, later only the new; by stages;
                       or its ends
    opening.py         the one door through which files are read that a caller names: which may be,
                       also packed ones
    lines.py           files as streams of lines and rows: the complete ones, and those in damaged
                       lines
    sessions.py        the sessions that hosts keep, and the live one of the caller
    exporter.py        a view in blocks that every host supports, and the interface of what writes
                       it
    message_files.py   plain files of messages
    commented_json.py  JSON with comments and trailing commas, as hosts allow it in their settings
    limits.py          how large a host lets a conversation become
    compaction_points.py
                       where each host compacts by itself, and what moves that
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.transcripts.lines import At
    from context_compression.transcripts.opening import Access
    from context_compression.transcripts.reading import FileReading
    from context_compression.transcripts.sessions import Caller, ToolRequest
    from context_compression.transcripts.transcript import (
        AnsweredRequest,
        Compaction,
        History,
        Stage,
        Transcript,
    )

__all__ = [
    "Access", "AnsweredRequest", "At", "Caller", "Compaction", "FileReading", "History", "Stage",
    "ToolRequest", "Transcript",
]  # fmt: skip

__getattr__ = on_demand(  # a status line needs `limits` alone
    __name__,
    {
        "transcripts.opening": ("Access",),
        "transcripts.lines": ("At",),
        "transcripts.reading": ("FileReading",),
        "transcripts.sessions": ("Caller", "ToolRequest"),
        "transcripts.transcript": (
            "AnsweredRequest",
            "Compaction",
            "History",
            "Stage",
            "Transcript",
        ),
    },
)
