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
    from context_compression.transcripts.exporter import as_user, portable
    from context_compression.transcripts.limits import of_claude_code
    from context_compression.transcripts.lines import At, parsed_json
    from context_compression.transcripts.opening import (
        ALWAYS_READ,
        CHUNK,
        Access,
        damages,
        opened_once,
    )
    from context_compression.transcripts.reading import Ends, FileReading, how_often
    from context_compression.transcripts.sessions import (
        Caller,
        CandidateConversation,
        ToolRequest,
        is_same_folder,
    )
    from context_compression.transcripts.transcript import (
        OURS,
        AnsweredRequest,
        ClearedResult,
        Compaction,
        Each,
        History,
        KnownText,
        Shape,
        Stage,
        Transcript,
        looking_for,
    )

__all__ = [
    "ALWAYS_READ", "CHUNK", "OURS", "Access", "AnsweredRequest", "At", "Caller",
    "CandidateConversation", "ClearedResult", "Compaction", "Each", "Ends", "FileReading",
    "History", "KnownText", "Shape", "Stage", "ToolRequest", "Transcript", "as_user", "damages",
    "how_often", "is_same_folder", "looking_for", "of_claude_code", "opened_once", "parsed_json",
    "portable",
]  # fmt: skip

__getattr__ = on_demand(  # a status line needs `limits` alone
    __name__,
    {
        "transcripts.exporter": ("as_user", "portable"),
        "transcripts.limits": ("of_claude_code",),
        "transcripts.opening": ("ALWAYS_READ", "Access", "CHUNK", "damages", "opened_once"),
        "transcripts.lines": ("At", "parsed_json"),
        "transcripts.reading": ("Ends", "FileReading", "how_often"),
        "transcripts.sessions": (
            "Caller",
            "CandidateConversation",
            "ToolRequest",
            "is_same_folder",
        ),
        "transcripts.transcript": (
            "AnsweredRequest",
            "ClearedResult",
            "Compaction",
            "Each",
            "History",
            "KnownText",
            "OURS",
            "Shape",
            "Stage",
            "Transcript",
            "looking_for",
        ),
    },
)
