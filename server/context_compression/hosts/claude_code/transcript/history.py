"""The course of a Claude Code conversation: where contexts begin, and which rows lead back."""

from collections.abc import Mapping

from context_compression.hosts.claude_code.transcript.row import (
    Row,
    blocks,
    is_compaction,
    is_summary,
)
from context_compression.transcripts.lines import string

CLOSING = {"stop_hook_summary", "turn_duration"}  # system rows after the last answer of a turn


class History:
    """The conversation up to one row of the file; rows are added in file order."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self.newest = ""
        """The newest row after the last compaction; rows that lead elsewhere do not count."""
        self._rows = rows
        self._boundary = ""  # of the last compaction; empty before the first
        self._kept: set[str] = set()  # rows that the last compaction kept
        self._root_before = ""  # where the context began that the last compaction summed up
        self._spoken = False  # whether there was a message since
        self._last = ""  # the row before
        self._places: dict[str, int] = {}  # by row: its place in the file
        self._roots: dict[str, str] = {}  # by row: where its context begins
        self._followers: dict[str, int] = {}  # by row: the place of the first row that follows it

    def begin(self, uuid: str, kept: list[str]) -> None:
        """Add a compaction and the uuids of the rows that it kept."""
        self._root_before = self._roots.get(self._last, "")
        self._boundary, self._kept, self._spoken = uuid, set(kept), False
        self._take(uuid, uuid)
        self.newest = uuid

    def add(self, row: Row, parent: str) -> None:
        """Add any other row, and the row it followed when it was written."""
        uuid: str = row["uuid"]
        followed = parent if parent in self._places else self._last  # the parent's line was damaged
        if not parent:
            root = uuid
        elif followed in self._kept:
            root = self._boundary
        else:
            root = self._roots.get(followed, uuid)
        self._followers.setdefault(parent, len(self._places))
        self._take(uuid, root)
        if root == self._boundary:
            self.newest = uuid
            self._spoken |= row["type"] in ("user", "assistant") and not is_summary(row)

    def _take(self, uuid: str, root: str) -> None:
        self._places[uuid], self._roots[uuid], self._last = len(self._places), root, uuid

    def parent_then(self, uuid: str, parent: str) -> str:
        """The parent of a row before a later compaction moved it."""
        is_written_later = parent in self._rows and parent not in self._places
        return string(self._rows[uuid], "parentUuid") if is_written_later else parent

    def leads_back(self, parent: str) -> bool:
        """Whether a parent is from before the last compaction and was not kept by it."""
        if not self._boundary or parent in self._kept or (parent and parent not in self._places):
            return False
        return self._place(parent) < self._places[self._boundary]

    def _place(self, uuid: str) -> int:
        return self._places[uuid] if uuid else -1

    def is_rewind(self, row: Row, parent: str) -> bool:
        """Whether a row leads back because the user rewound the conversation.

        A rewind replaces an earlier prompt, so another row already followed its parent. No rewind
        past two compactions was ever seen; rows that lead back by mistake always go that far.
        """
        boundary = self._places[self._boundary]
        had_gone_on = not parent or self._followers.get(parent, boundary) < boundary
        return _may_be_a_prompt(row) and had_gone_on and not self._compacted_before_since(parent)

    def _compacted_before_since(self, uuid: str) -> bool:
        """Whether the compaction before the last one comes after a row."""
        root = self._rows.get(self._root_before)
        is_compacted = root is not None and (is_compaction(root) or is_summary(root))
        return is_compacted and self._places[self._root_before] > self._place(uuid)

    def has_lost_its_boundary(self, row: Row) -> bool:
        """Whether a row is a summary whose compaction boundary is missing in the file.

        Such a summary names a parent that is not there. A summary that never had a boundary is an
        ordinary message; our own exports contain them.
        """
        named = string(row, "parentUuid")
        follows_a_boundary = self._boundary and not self._spoken
        is_alone = bool(named) and named not in self._rows and not follows_a_boundary
        return is_summary(row) and is_alone


def _may_be_a_prompt(row: Row) -> bool:
    """Whether a turn may begin with a row; no turn begins with an answer, a result or a summary."""
    if row["type"] == "assistant" or row.get("subtype") in CLOSING or is_summary(row):
        return False
    return not any(blocks(row, "tool_result"))
