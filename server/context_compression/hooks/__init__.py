"""What hosts' hooks have in common: a tool result that enters, a request, a compaction.

A host's own events and answers are in `hosts/<host>/hooks`.

    at_source.py     a large tool result offloaded before it enters the conversation
    requests.py      a host's next request, where it takes ours
    accompanied.py   a compaction that a host makes itself
    as_text.py       a history as one text, where a host takes a summary and nothing else
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
