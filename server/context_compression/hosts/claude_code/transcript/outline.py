"""The outline of a transcript: what the live branch is found by, of every row that ever was.

Rows may be large and many, and few are live: those behind the last compaction, and what it kept. So
the branch is looked for among these first, and only where it leads out of them among all.
"""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import as_object
from context_compression.hosts.claude_code.transcript.branch import Branch, live_branch
from context_compression.hosts.claude_code.transcript.lineage import kept_by
from context_compression.hosts.claude_code.transcript.row import (
    Row,
    blocks,
    is_compaction,
    message_id,
)
from context_compression.transcripts.lines import At, string

LINKS = ("parentUuid", "isSidechain", "subtype", "compactMetadata", "isCompactSummary")


class Outline:
    """Rows of the conversation in short, by uuid; those of subagents apart."""

    def __init__(self) -> None:
        self._main: dict[str, Row] = {}
        self._side: dict[str, Row] = {}
        self._recent: dict[str, Row] = {}  # from the last compaction on
        self._older: set[str] = set()  # ids of the messages before it
        self._is_rewritten = False  # whether one of those was written once more behind it

    @property
    def subagents(self) -> int:
        """Rows of subagents, where the file does not hold nothing else."""
        return len(self._side) if self._main else 0

    def add(self, kind: str, row: Row, at: At) -> None:
        """Take a row in; one that is written twice keeps its first place and its last content."""
        short = {**_short(kind, row), "at": at}
        uuid = row["uuid"]
        if row.get("isSidechain"):
            self._side[uuid] = short
            return
        if uuid not in self._main and is_compaction(short):
            self._older.update(message_id(r) for r in self._recent.values() if "message" in r)
            self._recent, self._is_rewritten = {}, False
        if uuid not in self._main or uuid in self._recent:
            self._recent[uuid] = short
            self._is_rewritten |= message_id(short) in self._older
        self._main[uuid] = short

    def branch(self) -> Branch:
        """The live branch, of rows in short."""
        rows = self._main or self._side
        boundary = next(iter(self._recent.values()), None)
        if boundary is not None and is_compaction(boundary) and not self._is_rewritten:
            kept = kept_by(boundary, rows)
            near = live_branch({**{uuid: rows[uuid] for uuid in kept}, **self._recent})
            if near.rows and near.rows[0] is boundary and not near.gaps:
                return near
        return live_branch(rows)


def _short(kind: str, row: Row) -> dict[str, Any]:
    short: dict[str, Any] = {key: row[key] for key in LINKS if row.get(key)}
    short |= {"type": kind, "uuid": row["uuid"]}
    if kind in ("user", "assistant"):
        message: Mapping[str, Any] = as_object(row.get("message"))
        ids = [
            {key: block[key] for key in ("type", "id", "tool_use_id") if key in block}
            for block in (*blocks(row, "tool_use"), *blocks(row, "tool_result"))
        ]
        short["message"] = {"id": string(message, "id"), "content": ids}
    return short
