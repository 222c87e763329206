"""The work of hooks that several hosts share, on a request or a compaction.

A host's own events and answers are in its file in `hosts`.

    requests.py          what is sent in place of a tool result or of a host's history
    host_compaction.py   our work before and after a compaction that the host does itself, and the
                         size that a user names after the host's command to compact
    summary_text.py      a history as one text, for hosts that only accept a summary
"""
