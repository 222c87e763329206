"""`SummaryRecord`: what a summary covers, and its cost."""

from dataclasses import dataclass, field

from context_compression.evidence.ledger import Entry
from context_compression.summaries.summarizer import SummaryReply


@dataclass(frozen=True)
class SummaryRecord:
    """A summary, the messages it covers, and its cost.

    Attributes:
        text: the summary alone.
        first_kept: index of the first message after those it covers.
        replies: every answer of a model.
        unverified: its claims without a source, which were removed from `text`.
        ledger: the evidence in the messages it covers.
        whole_ledger: the full ledger so far as text; the view has a part of it and its ref.
        read_files: files that were only read so far in the conversation.
        modified_files: files that were created, changed, renamed or deleted so far.
    """

    text: str
    first_kept: int
    replies: tuple[SummaryReply, ...] = ()
    unverified: tuple[str, ...] = ()
    ledger: tuple[Entry, ...] = field(default=(), repr=False)
    whole_ledger: str = field(default="", repr=False)
    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """The cost of the answers in US dollars; `None` if the summarizer has no price."""
        costs = [reply.cost for reply in self.replies if reply.cost is not None]
        return sum(costs) if len(costs) == len(self.replies) else None

    @property
    def usage(self) -> dict[str, int | float | None]:
        """The tokens and the cost of all answers together."""
        return {
            "input_tokens": sum(reply.input_tokens for reply in self.replies),
            "output_tokens": sum(reply.output_tokens for reply in self.replies),
            "cache_read_tokens": sum(reply.cache_read_tokens for reply in self.replies),
            "cache_write_tokens": sum(reply.cache_write_tokens for reply in self.replies),
            "cost": self.cost,
        }
