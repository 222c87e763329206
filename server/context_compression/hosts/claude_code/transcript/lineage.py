"""Which row of a Claude Code transcript each row follows: not always the one it names.

kept       what a compaction kept stays where it was written, and now follows the summary
results    of a call that a compaction wrote once more follow the new one
misplaced  rows behind the second compaction of a process name a parent from before the first
           (2.1.237 to 2.1.260): they follow what was written since the last compaction
rewound    a prompt may go back to before the last compaction, and then leaves it out
"""

from collections.abc import Callable, Iterator, Mapping

from context_compression.conversation.messages import as_object, is_array
from context_compression.hosts.claude_code.transcript.history import History
from context_compression.hosts.claude_code.transcript.row import (
    Row,
    blocks,
    is_compaction,
    is_summary,
)
from context_compression.transcripts.lines import string


class Lineage:
    """The row that each row follows.

    Args:
        rows: the conversation's rows by uuid, in file order.
    """

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self.parents = {uuid: string(row, "parentUuid") for uuid, row in rows.items()}
        """By uuid: the uuid of the row before; empty where a context begins."""
        self.misplaced: set[str] = set()
        """Rows that name one from before a compaction by mistake."""
        self.rewound: set[str] = set()
        """Rows that go back to before a compaction."""
        self._rows = rows
        self._kept: dict[str, list[str]] = {}  # by compaction
        self._ends: dict[str, str] = {}  # by summary: the last of what was kept behind it
        for uuid, row in rows.items():
            if is_compaction(row):
                self._kept[uuid] = self._move_kept(uuid, row)
        self.parents.update(_moved_results(rows, self.parents))
        if self._kept or any(map(is_summary, rows.values())):
            self._mend()

    def _move_kept(self, uuid: str, boundary: Row) -> list[str]:
        """Put what a compaction kept where it is now; its uuids, oldest first.

        The host leaves kept rows where they were written. New rows hang off the last of them
        (2.1.217) or off the summary, the anchor (2.1.329). Followed as they are, the first lead
        past the boundary into the whole old history, the second past the kept messages.
        """
        about = as_object(boundary.get("compactMetadata"))
        anchor = string(as_object(about.get("preservedSegment")), "anchorUuid")
        anchor = anchor if anchor in self._rows else uuid
        kept = _kept(about, self._rows, self.parents.__getitem__)
        if kept:
            behind = [row for row, parent in self.parents.items() if parent == anchor]
            self.parents.update(dict.fromkeys(behind, kept[-1]))
            self.parents.update(zip(kept, [anchor, *kept], strict=False))
            self._ends[anchor] = kept[-1]
        return kept

    def _mend(self) -> None:
        """Find rows that name one from before a compaction, and what they follow instead."""
        history = History(self._rows)
        for uuid, row in self._rows.items():
            if is_compaction(row) or history.has_lost_its_boundary(row):
                self.parents[uuid] = ""
                history.begin(uuid, self._kept.get(uuid, []))
                continue
            parent = history.parent_then(uuid, self.parents[uuid])
            if history.leads_back(parent):
                parent = self._settled(row, parent, history)
            history.add(row, parent)

    def _settled(self, row: Row, parent: str, history: History) -> str:
        """What a row followed when it was written, where it names one from before a compaction."""
        uuid = row["uuid"]
        if history.is_rewind(row, parent):
            self.rewound.add(uuid)
            return parent
        newest = self._ends.get(history.newest, history.newest)
        if self.parents[uuid] == parent:  # else a later compaction kept it, and it is there now
            self.parents[uuid] = newest
            self.misplaced.add(uuid)
        return newest


def kept_by(boundary: Row, rows: Mapping[str, Row]) -> list[str]:
    """The uuids of the rows that a compaction kept, oldest first."""
    about = as_object(boundary.get("compactMetadata"))
    return _kept(about, rows, lambda uuid: string(rows[uuid], "parentUuid"))


def _kept(about: Row, rows: Mapping[str, Row], parent_of: Callable[[str], str]) -> list[str]:
    """The rows that a compaction kept, oldest first: as listed, else from head to tail."""
    segment, listing = (as_object(about.get(k)) for k in ("preservedSegment", "preservedMessages"))
    head, tail = string(segment, "headUuid"), string(segment, "tailUuid")
    listed = listing.get("allUuids") or listing.get("uuids")
    uuids = [str(uuid) for uuid in listed] if is_array(listed) else []
    if not uuids and tail in rows:
        for order in (walk(rows, tail, parent_of)[0], rows.values()):  # the tail may be misplaced
            line = [row["uuid"] for row in order]
            if not uuids and head in line and tail in line:
                uuids = line[line.index(head) : line.index(tail)]
    return [uuid for uuid in dict.fromkeys([*uuids, tail]) if uuid in rows]


def walk(
    rows: Mapping[str, Row], newest: str, parent_of: Callable[[str], str]
) -> tuple[list[Row], int]:
    """The rows from the root to `newest`, and how many parents were missing.

    Where a parent is missing (its line was damaged), the row before it in the file stands in.
    """
    before: dict[str, str] = {}
    chain: dict[str, Row] = {}
    gaps = 0
    uuid = newest
    while uuid and uuid not in chain:
        chain[uuid] = rows[uuid]
        parent = parent_of(uuid)
        if parent and parent not in rows:
            before = before or dict(zip(list(rows)[1:], rows, strict=False))
            parent = before.get(uuid, "")
            gaps += bool(parent)
        uuid = parent
    return list(reversed(chain.values())), gaps


def _moved_results(
    rows: Mapping[str, Row], parents: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Results whose call a compaction wrote once more, and the row that makes it now.

    Where a plugin says what a compaction keeps, all of it is written anew, behind the boundary; but
    its results still name the call of before as their parent (2.1.329).
    """
    callers: dict[str, str] = {}
    for uuid, row in rows.items():
        for call in blocks(row, "tool_use"):
            callers[string(call, "id")] = uuid
        for result in blocks(row, "tool_result"):
            call = string(result, "tool_use_id")
            before = rows.get(parents[uuid], {})
            made = [string(block, "id") for block in blocks(before, "tool_use")]
            if call in made and call in callers:
                yield uuid, callers[call]
