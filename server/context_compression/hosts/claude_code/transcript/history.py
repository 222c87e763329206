"""How a Claude Code conversation went, row by row: where contexts begin, and what leads back."""

from collections.abc import Mapping

from context_compression.hosts.claude_code.transcript.row import (
    Row,
    blocks,
    is_compaction,
    is_summary,
)
from context_compression.transcripts.lines import string

CLOSING = {"stop_hook_summary", "turn_duration"}  # system rows behind the answer that ends a turn


class History:
    """The conversation as it went, up to a row in the file."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self.newest = ""
        """The newest row behind the last compaction, but for what leads elsewhere."""
        self._rows = rows
        self._boundary = ""  # of the last compaction; empty before the first
        self._kept: set[str] = set()  # by it
        self._root_before = ""  # where the context began that it summed up
        self._spoken = False  # whether anybody spoke since
        self._last = ""  # the row before
        self._places: dict[str, int] = {}  # of rows in the file
        self._roots: dict[str, str] = {}  # of rows: where their context begins
        self._followers: dict[str, int] = {}  # of rows: where the first stands that follows it

    def begin(self, uuid: str, kept: list[str]) -> None:
        """A compaction."""
        self._root_before = self._roots.get(self._last, "")
        self._boundary, self._kept, self._spoken = uuid, set(kept), False
        self._take(uuid, uuid)
        self.newest = uuid

    def add(self, row: Row, parent: str) -> None:
        """Any other row, and the one it followed when it was written."""
        uuid: str = row["uuid"]
        followed = parent if parent in self._places else self._last  # its line was damaged
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
        """Whether a row is from before the last compaction, and not kept by it."""
        if not self._boundary or parent in self._kept or (parent and parent not in self._places):
            return False
        return self._place(parent) < self._places[self._boundary]

    def _place(self, uuid: str) -> int:
        return self._places[uuid] if uuid else -1

    def is_rewind(self, row: Row, parent: str) -> bool:
        """Whether a row that leads back is meant to.

        A rewind begins with a prompt in the place of another, so the row that it follows had gone
        on before. Nobody was seen to go back past two compactions; the host's slip always does.
        """
        boundary = self._places[self._boundary]
        had_gone_on = not parent or self._followers.get(parent, boundary) < boundary
        return _may_be_a_prompt(row) and had_gone_on and not self._compacted_before_since(parent)

    def _compacted_before_since(self, uuid: str) -> bool:
        """Whether the compaction before the last one stands behind a row."""
        root = self._rows.get(self._root_before)
        is_compacted = root is not None and (is_compaction(root) or is_summary(root))
        return is_compacted and self._places[self._root_before] > self._place(uuid)

    def has_lost_its_boundary(self, row: Row) -> bool:
        """Whether a row is all that is left of a compaction: a summary whose parent is missing.

        Without a boundary a summary is a message like others; our own exports write such ones.
        """
        named = string(row, "parentUuid")
        follows_a_boundary = self._boundary and not self._spoken
        is_alone = bool(named) and named not in self._rows and not follows_a_boundary
        return is_summary(row) and is_alone


def _may_be_a_prompt(row: Row) -> bool:
    """Whether a turn may begin with it: none does with an answer, a result or a summary."""
    if row["type"] == "assistant" or row.get("subtype") in CLOSING or is_summary(row):
        return False
    return not any(blocks(row, "tool_result"))
