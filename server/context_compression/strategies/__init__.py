"""The strategies, which make a view smaller: they propose edits, and `planning` makes them.

    offload     tool results moved to files, with previews            no model
    truncate    long tool outputs cut to beginning and end            no model
    window      the last turns, a digest, and important messages      no model
    extract     must-keep set, then pieces chosen by evidence         no model
    summarize   head, a summary of the middle, recent messages    a model

Read `base` (the protocol of a strategy) first, then `tool_results` (`offload` and `truncate`, the
shortest strategy, which shorten results one by one). The modules of `extract`, in the order of
their use:

    extract         the smallest view, the messages that stay at each level, and the room that is
                    left
    forms           a message in full, with previews, clipped, or as a skeleton
    filling         pieces, chosen by evidence, for the remaining room
    competing       the texts that compete for it, and what their parts are worth
    weighing        the record of what competed, from which a compression is explained
    rules           the user's standing rules
    quoting         the texts of messages that are left out, with labels
    notes           the notes that quote them, a ref in one of them wherever messages left, and
                    the view of all that
    pictures        the pictures that stay, and results of a provider's own tools
    last_lines      a line of files that were worked on, a line of names that were used

The modules that several strategies use:

    measured        all numbers that were chosen or measured
    keep            the edits that leave only the messages that stay, and those that follow
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.strategies.base import Proposal
    from context_compression.strategies.measured import RULES_SHARE
    from context_compression.strategies.quoting import CallOutcome, call_texts, end_of, outcome
    from context_compression.strategies.rules import standing_rules

__all__ = [
    "RULES_SHARE", "CallOutcome", "Proposal", "call_texts", "end_of", "outcome", "standing_rules",
]  # fmt: skip

__getattr__ = on_demand(  # each strategy is imported when it is used
    __name__,
    {
        "strategies.quoting": ("CallOutcome", "call_texts", "end_of", "outcome"),
        "strategies.base": ("Proposal",),
        "strategies.measured": ("RULES_SHARE",),
        "strategies.rules": ("standing_rules",),
    },
)
