"""`Strategy`: a strategy reads a plan and proposes edits; only `summarize` asks a model.

A strategy changes nothing itself; `planning.edits.apply` makes the edits of all strategies.
"""

from collections.abc import Generator, Sequence
from typing import Protocol, TypeAlias

from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

Proposal: TypeAlias = Generator[SummaryRequest, SummaryReply, Sequence[Edit]]
"""Yields requests to a model, receives its replies, returns the edits."""


class Strategy(Protocol):
    """A way to make the view smaller: a module with this function, such as `truncate`."""

    def propose(self, plan: Plan) -> Proposal:
        """Edits for the plan's conversation; yields a request when a model must write a text."""
        ...


def without_model(edits: Sequence[Edit]) -> Proposal:
    """A proposal of these edits that makes no request."""
    yield from ()
    return edits
