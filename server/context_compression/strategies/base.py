"""`Strategy`: a strategy reads a plan and proposes edits; only `summarize` asks a model.

A strategy changes nothing itself; `planning.edits.apply` makes the edits of all strategies. A
program may pass one of its own, an object with the method `propose`:

    class ForgetThanks:
        def propose(self, plan):
            return [
                Edit(index, index + 1, (), "only thanks")
                for index, message in enumerate(plan.messages)
                if message.text == "Thanks!" and index not in plan.anchored
            ]

    result = compress(messages, target_tokens=9_000, strategy=ForgetThanks())
"""

from collections.abc import Generator, Sequence
from typing import Protocol, TypeAlias

from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

Proposal: TypeAlias = Generator[SummaryRequest, SummaryReply, Sequence[Edit]]
"""Yields requests to a model, receives its replies, returns the edits."""


class Strategy(Protocol):
    """A way to make the view smaller: an object with the method `propose`.

    Results and events call it by its `name`, if it has one, else by the name of its class.
    """

    def propose(self, plan: Plan) -> Proposal | Sequence[Edit]:
        """Edits for the plan's conversation: a list of them, or a generator that returns it.

        A generator yields a `SummaryRequest` when a model must write a text. Edits must not
        overlap, and must leave pinned messages alone. `plan.anchored` are the messages that our own
        strategies leave alone, too.

        Args:
            plan: `messages`, `tokens` (of each message), `room` (tokens that all messages may take;
                `None`: free all you can), `settings`, `focus`, and more.
                `plan.archive.ref_of(text)` is the ref under which an original will be archived.
        """
        ...


def without_model(edits: Sequence[Edit]) -> Proposal:
    """A proposal of these edits that makes no request."""
    yield from ()
    return edits
