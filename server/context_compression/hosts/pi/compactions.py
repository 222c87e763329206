"""The compactions that led to a branch of a Pi session."""

from collections.abc import Callable
from dataclasses import replace

from context_compression.conversation.messages import COMPRESSED
from context_compression.hosts.pi.about import NAME
from context_compression.hosts.pi.context import request_of
from context_compression.transcripts.history import OURS, Compaction, Request
from context_compression.transcripts.limits import LargestUse
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.times import seconds
from context_compression.transcripts.transcript import Row


class Compactions:
    """All compactions in a session, by the id of their entry."""

    def __init__(self) -> None:
        self._known: dict[str, Compaction] = {}
        self._before: dict[str, str] = {}  # by id: the compaction that led to it
        self._newest = ""  # whose first answer has not come yet
        self.largest = LargestUse()

    def add(self, id: str, row: Row, at: At, before: Callable[[], str]) -> None:
        """Add the next entry; `before` finds the newest compaction that led to it."""
        if row.get("type") == "compaction":
            size = row.get("tokensBefore")
            self._before[id] = before()
            self._known[id] = Compaction(
                time=seconds(row.get("timestamp")),
                by=OURS if string(row, "summary").startswith(COMPRESSED) else NAME,
                tokens_before=size if isinstance(size, int) else None,
                place=at.offset,
            )
            self._newest = id
        elif request := request_of(row):
            self.largest.add(request.input_tokens or 0, request.model)
            self._answered(request)

    def _answered(self, request: Request) -> None:
        """Learn the size after the newest compaction from the first answer that follows it."""
        if self._newest:
            known = self._known[self._newest]
            self._known[self._newest] = replace(known, tokens_after=request.input_tokens)
            self._newest = ""

    def led_to(self, id: str) -> list[Compaction]:
        """A compaction, after those that led to it; nothing for an empty id."""
        found: dict[str, Compaction] = {}
        while id and id not in found:
            found[id] = self._known[id]
            id = self._before[id]
        return [*reversed(found.values())]
