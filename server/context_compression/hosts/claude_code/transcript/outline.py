"""The outline of a transcript: a short form of every row, enough to find the live branch.

Rows may be large and many, but few are live: the rows after the last compaction, and the rows it
kept. The branch is searched among these first, and among all rows only if it leads out of them.
"""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.claude_code.transcript.branch import Branch, live_branch
from context_compression.hosts.claude_code.transcript.compactions import (
    Compactions,
    begins_context,
)
from context_compression.hosts.claude_code.transcript.lineage import kept_by
from context_compression.hosts.claude_code.transcript.row import (
    Row,
    is_compaction,
    message_id,
    prompt_tokens,
)
from context_compression.transcripts.history import Compaction
from context_compression.transcripts.limits import LargestUse
from context_compression.transcripts.lines import At, string

IDS, WITH_IDS = ("type", "id", "tool_use_id"), ("tool_use", "tool_result")
LINKS = ("parentUuid", "isSidechain", "subtype", "compactMetadata", "isCompactSummary")


class Outline:
    """The short rows of a conversation by uuid, and separately those of its subagents."""

    def __init__(self) -> None:
        self._main: dict[str, Row] = {}
        self._side: dict[str, Row] = {}
        self._recent: dict[str, Row] = {}  # from the last compaction on
        self._compactions = Compactions()
        self._largest = LargestUse(), LargestUse()  # the second one: of subagents
        self._branch: Branch | None = None  # the live one, until a row is added
        self._older: set[str] = set()  # ids of the messages before it
        self._is_rewritten = False  # whether one of those was written again after it

    def compactions(self, branch: Branch) -> list[Compaction]:
        """The compactions that led to a branch, the oldest first."""
        return self._compactions.of(branch)

    def largest(self, model: str | None) -> int:
        """Tokens of the largest request that a model answered in the conversation."""
        return self._largest[not self._main].of(model)

    @property
    def model(self) -> str | None:
        """The model that answered last, before a compaction too."""
        return self._largest[not self._main].newest

    @property
    def subagents(self) -> int:
        """The number of subagents' rows; 0 if the file holds no other rows."""
        return len(self._side) if self._main else 0

    def add(self, kind: str, row: Row, at: At) -> None:
        """Add a row. A row that is written twice keeps its first place and its last content."""
        short = {**_short(kind, row), "at": at}
        uuid = row["uuid"]
        if kind == "system" and begins_context(short):
            self._compactions.add({**row, **short}, at, self.branch)
        self._branch = None
        if tokens := prompt_tokens(row):
            model = string(as_object(row.get("message")), "model")
            self._largest[bool(row.get("isSidechain"))].add(tokens, model)
        if row.get("isSidechain"):
            self._side[uuid] = short
            return
        if uuid not in self._main and is_compaction(short):
            self._older.update(message_id(r) for r in self._recent.values() if "message" in r)
            self._recent, self._is_rewritten = {}, False
        if uuid not in self._main or uuid in self._recent:
            self._recent[uuid] = short
            is_rewritten = message_id(short) in self._older
            self._is_rewritten |= is_rewritten
            if not is_rewritten:
                self._compactions.go_on(kind, row)
        self._main[uuid] = short

    def branch(self) -> Branch:
        """The live branch, made of short rows."""
        self._branch = self._branch or self._live()
        return self._branch

    def _live(self) -> Branch:
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
        content = message.get("content")
        ids = [
            {key: block[key] for key in IDS if key in block}
            for block in (content if is_array(content) else ())
            if is_object(block) and block.get("type") in WITH_IDS
        ]
        short["message"] = {"id": string(message, "id"), "content": ids}
    return short
