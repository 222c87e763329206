"""The work of hooks that several hosts share, on a request or a compaction.

A host's own events and answers are in its file in `hosts`.

    requests.py          what is sent in place of a tool result or of a host's history
    host_compaction.py   our work before and after a compaction that the host does itself, and the
                         size that a user names after the host's command to compact
    summary_text.py      a history as one text, for hosts that only accept a summary
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.hooks.host_compaction import (
        answer_after_compaction,
        archive_all,
        instructions,
    )
    from context_compression.hooks.requests import positions_in, preview, session_of, view_to_send
    from context_compression.hooks.summary_text import compressed_text

__all__ = [
    "answer_after_compaction", "archive_all", "compressed_text", "instructions", "positions_in",
    "preview", "session_of", "view_to_send",
]  # fmt: skip

__getattr__ = on_demand(  # a hook needs one of them
    __name__,
    {
        "hooks.host_compaction": ("answer_after_compaction", "archive_all", "instructions"),
        "hooks.requests": ("positions_in", "preview", "session_of", "view_to_send"),
        "hooks.summary_text": ("compressed_text",),
    },
)
