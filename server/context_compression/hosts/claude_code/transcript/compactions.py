"""The compactions that led to a context of Claude Code.

compact_boundary        compactMetadata {trigger, preTokens, postTokens}
microcompact_boundary   microcompactMetadata {trigger, preTokens, tokensSaved}: only the content of
                        old tool results is removed
"""

from collections.abc import Callable
from dataclasses import replace

from context_compression.conversation.messages import COMPRESSED, as_object
from context_compression.hosts.claude_code.about import NAME
from context_compression.hosts.claude_code.transcript.branch import Branch
from context_compression.hosts.claude_code.transcript.row import (
    Row,
    blocks_of,
    is_clearing,
    is_compaction,
    prompt_tokens,
)
from context_compression.transcripts.history import OURS, Compaction
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.times import seconds


class Compactions:
    """All compactions in a transcript; `of` selects those that led to a branch."""

    def __init__(self) -> None:
        self._known: dict[str, Compaction] = {}  # by the uuid of their row
        self._before: dict[str, list[Compaction]] = {}  # by the same: those that led to it
        self._newest = ""  # whose first answer has not come yet

    def add(self, row: Row, at: At, branch: Callable[[], Branch]) -> None:
        """Add a row that `begins_context`, before which `branch` was the live branch."""
        uuid = row["uuid"]
        if uuid not in self._known:
            self._before[uuid] = self.of(branch())
            self._known[uuid] = _compaction(row, at)
            self._newest = uuid

    def go_on(self, kind: str, row: Row) -> None:
        """Learn about the newest compaction from a new message that follows it."""
        if not self._newest:
            return
        known = self._known[self._newest]
        if kind == "user":
            blocks = blocks_of(as_object(row.get("message")).get("content"))
            if blocks and string(blocks[0], "text").startswith(COMPRESSED):
                self._known[self._newest] = replace(known, by=OURS)
        elif kind == "assistant" and (tokens := prompt_tokens(row)):
            if known.tokens_after is None:
                self._known[self._newest] = replace(known, tokens_after=tokens)
            self._newest = ""

    def of(self, branch: Branch) -> list[Compaction]:
        """The compactions that led to the end of a branch, the oldest first."""
        found: list[Compaction] = []
        for row in branch.rows:
            if row["uuid"] in self._known and row["uuid"] not in branch.kept:
                found = found or [*self._before[row["uuid"]]]
                found.append(self._known[row["uuid"]])
        return found


def begins_context(row: Row) -> bool:
    """Whether a row changes what of the rows before it is in the context."""
    return is_compaction(row) or is_clearing(row)


def _compaction(row: Row, at: At) -> Compaction:
    about = as_object(row.get("compactMetadata") or row.get("microcompactMetadata"))
    before, after, saved = map(about.get, ("preTokens", "postTokens", "tokensSaved"))
    before = before if isinstance(before, int) else None
    if before is not None and isinstance(saved, int):
        after = before - saved
    return Compaction(
        time=seconds(row.get("timestamp")),
        trigger=string(about, "trigger"),
        by=NAME,
        tokens_before=before,
        tokens_after=after if isinstance(after, int) else None,
        cleared=is_clearing(row),
        place=at.offset,
    )
