"""One compression: from a request to a result, in memory.

This package holds the order of the work. `strategies` make a conversation smaller, `planning`
applies their edits, and `session` and `store` keep data on disk.

The path of one call, `compress(messages)`:

    (library.py)            makes a `CompressionRequest` from the arguments
    compression/run.py      runs strategies until the conversation fits, and asks a model if they
                            need a summary
    strategies/<name>.py    proposes edits
    compression/prepared.py has the edits applied and counts the view
    planning/edits.py       applies the edits, which replaces messages
    compression/outcome.py  makes the `Result`

The modules of this package:

    prepared.py   one call of `compress` as a value; its conversation: read, repaired, counted and
                  planned; its target, and what it can reach
    run.py        `compress`: strategies, in their order, until the target is met
    outcome.py    `Outcome`, and the `Result` of the edits that strategies proposed or of a view
                  that goes on
    result.py     `Result`: the view that a compression made, and the report on it
    explaining.py why each message is shown as it is, from the record of what competed
    loss.py       the loss report: which evidence is still in the view
    forecast.py   the cost of a summary, and whether it pays
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.compression.prepared import (
        CompressionRequest,
        PreparedConversation,
        as_a_harness_wrote,
    )
    from context_compression.compression.result import NAMED_RULES, Result
    from context_compression.compression.run import SETTLED

__all__ = [
    "NAMED_RULES", "SETTLED", "CompressionRequest", "PreparedConversation", "Result",
    "as_a_harness_wrote",
]  # fmt: skip

__getattr__ = on_demand(  # whoever wants a `Result` needs no strategies
    __name__,
    {
        "compression.run": ("SETTLED",),
        "compression.prepared": (
            "CompressionRequest",
            "PreparedConversation",
            "as_a_harness_wrote",
        ),
        "compression.result": ("NAMED_RULES", "Result"),
    },
)
