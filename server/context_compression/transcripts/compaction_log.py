"""The compactions that led to a context, with the sizes that the requests around them show."""

from dataclasses import replace

from context_compression.transcripts.history import Compaction
from context_compression.transcripts.limits import LargestUse


class CompactionLog:
    """Takes compactions and answered requests in their order."""

    def __init__(self) -> None:
        self.compactions: list[Compaction] = []
        self.largest = LargestUse()
        self._size: int | None = None  # of the newest request with its answer

    def add(self, compaction: Compaction) -> None:
        """Add a compaction. If the host records no size before it, the last request tells it."""
        if compaction.tokens_before is None:
            compaction = replace(compaction, tokens_before=self._size)
        self.compactions.append(compaction)
        self._size = None

    def answered(self, input_tokens: int, output_tokens: int, model: str | None = "") -> None:
        """Add a request. The first after a compaction tells the size after it, if nobody did."""
        self.measured(input_tokens)
        self.largest.add(input_tokens, model)
        self._size = input_tokens + output_tokens

    def measured(self, tokens: int) -> None:
        """Take the size of the context as it is now; that before the last compaction is known."""
        if self.compactions and self.compactions[-1].tokens_after is None and tokens > 0:
            self.compactions[-1] = replace(self.compactions[-1], tokens_after=tokens)
