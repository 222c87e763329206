"""The row that each row of a Claude Code transcript follows.

Usually a row follows the parent it names (`parentUuid`). There are four exceptions:

kept       rows that a compaction kept stay where they were written, but now follow the summary
results    results follow the new row of their call if a compaction wrote the call again
misplaced  rows after the second compaction of a process name a parent from before the first
           (2.1.237 to 2.1.260); they follow the rows written since the last compaction
rewound    a prompt may go back to before the last compaction, which is then left out
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
        """Rows whose parent, by mistake, is from before a compaction."""
        self.rewound: set[str] = set()
        """Rows with which the user went back to before a compaction."""
        self._rows = rows
        self._kept: dict[str, list[str]] = {}  # by compaction
        self._ends: dict[str, str] = {}  # by summary: the last kept row that now follows it
        for uuid, row in rows.items():
            if is_compaction(row):
                self._kept[uuid] = self._move_kept(uuid, row)
        self.parents.update(_moved_results(rows, self.parents))
        if self._begins_anew():
            self.parents[next(iter(rows))] = ""
        elif self._kept or any(map(is_summary, rows.values())):
            self._mend()

    def _move_kept(self, uuid: str, boundary: Row) -> list[str]:
        """Make the rows that a compaction kept follow its anchor; their uuids, oldest first.

        The host leaves kept rows where they were written. New rows name the last kept row as their
        parent (2.1.217), or the summary, which is the anchor (2.1.329). Unchanged, the former would
        lead past the boundary into the complete old history, and the latter past the kept rows.
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

    def _begins_anew(self) -> bool:
        """Whether a compaction that kept nothing comes first, and all else follows a known row."""
        first = next(iter(self._rows), "")
        others = (row for uuid, row in self._rows.items() if uuid != first)
        return self._kept == {first: []} and all(
            string(row, "parentUuid") in self._rows for row in others
        )

    def _mend(self) -> None:
        """Repair the parents of rows that name one from before a compaction by mistake."""
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
        """The row that a row followed when written, if it names one from before a compaction."""
        uuid = row["uuid"]
        if history.is_rewind(row, parent):
            self.rewound.add(uuid)
            return parent
        newest = self._ends.get(history.newest, history.newest)
        if self.parents[uuid] == parent:  # else a later compaction kept the row and moved it
            self.parents[uuid] = newest
            self.misplaced.add(uuid)
        return newest


def kept_by(boundary: Row, rows: Mapping[str, Row]) -> list[str]:
    """The uuids of the rows that a compaction kept, oldest first."""
    about = as_object(boundary.get("compactMetadata"))
    return _kept(about, rows, lambda uuid: string(rows[uuid], "parentUuid"))


def _kept(about: Row, rows: Mapping[str, Row], parent_of: Callable[[str], str]) -> list[str]:
    """The uuids of the rows that a compaction kept, oldest first.

    The compaction lists them, or names the first (head) and the last (tail).
    """
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

    If a row's parent is missing because its line was damaged, the row before it in the file takes
    the parent's place.
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
    """Rows with results whose call a compaction wrote again, each with the call's new row.

    If a plugin decides what a compaction keeps, the host writes all of that again after the
    boundary. The results still name the old row of their call as their parent (2.1.329).
    """
    callers: dict[str, str] = {}
    for uuid, row in rows.items():
        for call in blocks(row, "tool_use"):
            callers[string(call, "id")] = uuid
        for result in blocks(row, "tool_result"):
            call = string(result, "tool_use_id")
            if callers.get(call) in (None, parents[uuid]):
                continue
            before = rows.get(parents[uuid], {})
            made = [string(block, "id") for block in blocks(before, "tool_use")]
            if call in made:
                yield uuid, callers[call]
