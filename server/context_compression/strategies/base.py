"""What a strategy is: it reads a plan and proposes edits; only a summary asks a model."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from context_compression.edits import Edit
from context_compression.plan import Plan


@dataclass(frozen=True)
class SummaryRequest:
    """What a strategy asks a model for: one text, no tools.

    Attributes:
        system: instructions.
        prompt: the user message.
        max_tokens: limit of the answer.
    """

    system: str
    prompt: str
    max_tokens: int


Proposal: TypeAlias = Generator[SummaryRequest, str, Sequence[Edit]]


class Strategy(Protocol):
    """A way to make the view smaller."""

    def propose(self, plan: Plan) -> Proposal:
        """Edits for the plan's conversation, asking for texts on the way where it needs them."""
        ...


def without_model(edits: Sequence[Edit]) -> Proposal:
    """A proposal that asks for nothing."""
    yield from ()
    return edits
