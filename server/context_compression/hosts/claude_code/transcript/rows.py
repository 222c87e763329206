"""Rows of a Claude Code transcript: their kinds, what each follows, the live branch, the course.

The row that each row of a Claude Code transcript follows. Usually a row follows the parent it names
(`parentUuid`). There are four exceptions:

kept       rows that a compaction kept stay where they were written, but now follow the summary
results    results follow the new row of their call if a compaction wrote the call again
misplaced  rows after the second compaction of a process name a parent from before the first
           (2.1.237 to 2.1.260); they follow the rows written since the last compaction
rewound    a prompt may go back to before the last compaction, which is then left out

The live branch of a Claude Code transcript: the rows that are in the context now. Every row names
its parent, so the rows form a tree. The file also keeps rows that are no longer in the context:
branches that a rewind left, subagents (`isSidechain`), and rows from before a compaction. The live
branch is walked from the newest row up to the root:

    … ─ old ─┬─ kept ─ kept     compact_boundary ─ summary ─ kept ─ kept ─ new … ─ newest
             └ parallel call                                 (where the compaction moved them)

Seen in versions 2.0 to 2.1.329.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.claude_code.about import SEEN, TITLE
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import Maybe, Seen, Shape, Shapes

Row: TypeAlias = Mapping[str, Any]

PROMPT_TOKENS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
SYNTHETIC = "<synthetic>"  # the model named in messages that the host wrote itself
MESSAGES = {"user", "assistant", "system", "attachment"}
CONTENT: Shape = (str, [{"type": str}])
OF_MESSAGE: Shape = {"message": {"content": CONTENT}}
WORDS = """
addedBlocks addedLines citations command content error input planContent
removedLines source stderr stdout text thinking title toolUseResult userFeedback
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {
        "user": OF_MESSAGE,
        "assistant": OF_MESSAGE,
        "attachment": {
            "attachment": Maybe({"prompt": CONTENT}),
            "rendered": [{"content": CONTENT}],
        },
    },
    Seen(WORDS, SEEN, lambda row: string(row, "version")),
)
"""The shapes of what rows hold."""


def is_compaction(row: Row) -> bool:
    """Whether a row is a compaction boundary.

    The rows before it left the context, except those that the boundary lists as kept.
    """
    return row["type"] == "system" and row.get("subtype") == "compact_boundary"


def is_clearing(row: Row) -> bool:
    """Whether a row says that old tool results were removed from the context (microcompaction)."""
    return row["type"] == "system" and row.get("subtype") == "microcompact_boundary"


def is_summary(row: Row) -> bool:
    """Whether a row holds the summary that replaced everything before a compaction."""
    return row["type"] == "user" and bool(row.get("isCompactSummary"))


def blocks(row: Row, kind: str) -> list[Mapping[str, Any]]:
    """The blocks of one type (`tool_use`, `tool_result`) in a row's message."""
    message = row.get("message")
    content = message.get("content") if is_object(message) else None
    if not content or not is_array(content):
        return []
    return [block for block in content if is_object(block) and block.get("type") == kind]


def message_id(row: Row) -> str:
    """The id that the rows of one assistant message share; for others, the row's own uuid."""
    return string(as_object(row.get("message")), "id") or row["uuid"]


def prompt_tokens(row: Row) -> int:
    """Input tokens of a request, cached ones included.

    Output tokens are not added: in versions 2.1.14 to 2.1.50 they are a placeholder.
    """
    usage = as_object(as_object(row.get("message")).get("usage"))
    parts = [usage.get(part) for part in PROMPT_TOKENS]
    return sum(part for part in parts if isinstance(part, int))


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    """The content of a message as a list of blocks; a string becomes one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content if is_object(block)] if is_array(content) else []


def folders_moved_to(row: Row) -> list[str]:
    """The folders to which a row says that the session moved: by `cd`, or into a worktree."""
    worktree = as_object(row.get("worktreeSession"))
    match row.get("type"):
        case "relocated":
            folders = [string(row, "relocatedCwd")]
        case "worktree-state":
            folders = [string(worktree, "worktreePath"), string(worktree, "originalCwd")]
        case _:
            folders = []
    return [folder for folder in folders if folder]


CLOSING = {"stop_hook_summary", "turn_duration"}  # system rows after the last answer of a turn


class BranchHistory:
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
        history = BranchHistory(self._rows)
        for uuid, row in self._rows.items():
            if is_compaction(row) or history.has_lost_its_boundary(row):
                self.parents[uuid] = ""
                history.begin(uuid, self._kept.get(uuid, []))
                continue
            parent = history.parent_then(uuid, self.parents[uuid])
            if history.leads_back(parent):
                parent = self._settled(row, parent, history)
            history.add(row, parent)

    def _settled(self, row: Row, parent: str, history: BranchHistory) -> str:
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


@dataclass(frozen=True)
class Branch:
    """The live rows, oldest first, and the irregularities on the way to them."""

    rows: list[Row]
    kept: frozenset[str] = frozenset()
    """The uuids of the rows from before the last compaction that the compaction kept."""
    gaps: int = 0
    """The number of parents missing in the file; the row before took the place of each."""
    misplaced: int = 0
    """The number of rows whose parent, by mistake, is from before a compaction."""
    is_rewound: bool = False
    """Whether the branch goes back to before a compaction."""
    begins_in_the_middle: bool = False
    """Whether the branch has no compaction, and its first row's parent is not in the file."""


def live_branch(rows: Mapping[str, Row]) -> Branch:
    """The branch that ends in the newest message.

    Args:
        rows: the conversation's rows by uuid, in file order. This includes rows that are only links
            of the chain (progress, unknown types).
    """
    spoken = [uuid for uuid, row in rows.items() if row["type"] in ("user", "assistant")]
    if not spoken:
        return Branch([])
    lineage = Lineage(rows)
    chain, gaps = walk(rows, spoken[-1], lineage.parents.__getitem__)
    is_compacted = is_compaction(chain[0]) or is_summary(chain[0])
    start = list(rows).index(chain[0]["uuid"]) if is_compacted else 0
    later = islice(rows.values(), start, None)
    live = [row for row in _with_parallel(chain, later) if row["type"] in MESSAGES]
    older = set(map(message_id, islice(rows.values(), start)))
    return Branch(
        rows=live,
        kept=frozenset(row["uuid"] for row in live if message_id(row) in older),
        gaps=gaps,
        misplaced=sum(row["uuid"] in lineage.misplaced for row in chain),
        is_rewound=any(row["uuid"] in lineage.rewound for row in chain),
        begins_in_the_middle=not is_compacted and bool(string(chain[0], "parentUuid")),
    )


def _with_parallel(chain: list[Row], rows: Iterable[Row]) -> Iterator[Row]:
    """The chain, and the rows next to it that belong to its messages.

    Parallel tool calls are written as one row each, and these rows branch. Only one of the branches
    is on the chain. The message's other rows are found by message id, and the results by call id.
    """
    on_chain = {row["uuid"] for row in chain}
    of_message: dict[str, list[Row]] = {}
    results: dict[str, Row] = {}
    for row in [*chain, *(row for row in rows if row["uuid"] not in on_chain)]:
        if row["type"] == "assistant":
            of_message.setdefault(message_id(row), []).append(row)
        for result in blocks(row, "tool_result"):
            results.setdefault(string(result, "tool_use_id"), row)
    last = {message_id(row): row for row in chain if row["type"] == "assistant"}
    for row in chain:
        yield row
        if row is not last.get(message_id(row)):
            continue
        message = of_message[message_id(row)]
        calls = [string(call, "id") for part in message for call in blocks(part, "tool_use")]
        answers = {results[call]["uuid"]: results[call] for call in calls if call in results}
        yield from (part for part in message if part["uuid"] not in on_chain)
        yield from (answer for uuid, answer in answers.items() if uuid not in on_chain)
