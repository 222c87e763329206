"""What the hooks of several hosts do: with a tool result, with a request, at a compaction.

A host's own events and answers are in `hosts/<host>/hooks`.

    tool_results.py      a large tool result, offloaded before it enters the conversation
    requests.py          the view that is sent in place of a host's history
    host_compaction.py   before and after a compaction that the host makes itself
    summary_text.py      a history as one text, for hosts that accept a summary only
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
