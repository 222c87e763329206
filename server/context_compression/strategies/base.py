"""What a strategy is: it reads a plan and proposes edits; only a summary asks a model."""

from collections.abc import Generator, Sequence
from typing import Protocol, TypeAlias

from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

Proposal: TypeAlias = Generator[SummaryRequest, SummaryReply, Sequence[Edit]]


class Strategy(Protocol):
    """A way to make the view smaller: a module with this function."""

    def propose(self, plan: Plan) -> Proposal:
        """Edits for the plan's conversation, asking for texts on the way where it needs them."""
        ...


def without_model(edits: Sequence[Edit]) -> Proposal:
    """A proposal that asks for nothing."""
    yield from ()
    return edits
