"""Which rows of a Claude Code transcript are in the context now: one branch of a tree.

Every row names its parent. The file keeps all that ever was: branches left by a rewind, subagents
(`isSidechain`), what came before a compaction. The live branch is walked from the newest row up:

    … ─ old ─┬─ kept ─ kept     compact_boundary ─ summary ─ kept ─ kept ─ new … ─ newest
             └ parallel call                                 (where the compaction moved them)

Seen in versions 2.0 to 2.1.329.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from context_compression.hosts.lines import as_object, string
from context_compression.messages import is_array, is_object

Row: TypeAlias = Mapping[str, Any]

MESSAGES = {"user", "assistant", "system", "attachment"}


@dataclass(frozen=True)
class Branch:
    """The live rows, oldest first, and what was met on the way."""

    rows: list[Row]
    kept: frozenset[str] = frozenset()
    """The uuids of those that were there before the last compaction, which kept them."""
    gaps: int = 0
    """Parents that are not in the file, so that the row before was taken instead."""
    begins_in_the_middle: bool = False
    """Whether the parent of the very first row is not in the file."""


def live_branch(rows: Mapping[str, Row]) -> Branch:
    """The branch that ends in the newest message.

    Args:
        rows: the conversation's rows by uuid, in file order; those that are only links of the chain
            (progress, types we do not know) included.
    """
    said = [uuid for uuid, row in rows.items() if row["type"] in ("user", "assistant")]
    if not said:
        return Branch([])
    chain, gaps = _walk(rows, said[-1], _parents(rows).__getitem__)
    positions = {uuid: position for position, uuid in enumerate(rows)}
    start = positions[chain[0]["uuid"]] if is_compaction(chain[0]) else 0
    later = [row for uuid, row in rows.items() if positions[uuid] >= start]
    live = [row for row in _with_parallel(chain, later) if row["type"] in MESSAGES]
    older = {message_id(row) for uuid, row in rows.items() if positions[uuid] < start}
    return Branch(
        rows=live,
        kept=frozenset(row["uuid"] for row in live if message_id(row) in older),
        gaps=gaps,
        begins_in_the_middle=not is_compaction(chain[0]) and bool(string(chain[0], "parentUuid")),
    )


def is_compaction(row: Row) -> bool:
    """Whether everything before this row left the context, but for what the row says was kept."""
    return row["type"] == "system" and row.get("subtype") == "compact_boundary"


def blocks(row: Row, kind: str) -> Iterator[Mapping[str, Any]]:
    """The blocks of one type (`tool_use`, `tool_result`) in a row's message."""
    content = as_object(row.get("message")).get("content")
    if is_array(content):
        yield from (b for b in content if is_object(b) and b.get("type") == kind)


def message_id(row: Row) -> str:
    """The id that the rows of one assistant message share."""
    return string(as_object(row.get("message")), "id") or row["uuid"]


def _parents(rows: Mapping[str, Row]) -> dict[str, str]:
    """Each row's parent, with what a compaction kept moved to where it is now.

    The host leaves kept rows where they were written. New rows hang off the last of them (2.1.217)
    or off the summary, the anchor (2.1.329). Followed as they are, the first lead past the boundary
    into the whole old history, the second past the kept messages.
    """
    parents = {uuid: string(row, "parentUuid") for uuid, row in rows.items()}
    for boundary in filter(is_compaction, rows.values()):
        about = as_object(boundary.get("compactMetadata"))
        anchor = string(as_object(about.get("preservedSegment")), "anchorUuid")
        kept = _kept(about, rows, parents.__getitem__) if anchor in rows else []
        if kept:
            behind = (uuid for uuid, parent in parents.items() if parent == anchor)
            parents.update(dict.fromkeys(list(behind), kept[-1]))
            parents.update(zip(kept, [anchor, *kept], strict=False))
    parents.update(_moved_results(rows, parents))
    return parents


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
        chain = [row["uuid"] for row in _walk(rows, tail, parent_of)[0]]
        uuids = chain[chain.index(head) :] if head in chain else []
    return [uuid for uuid in dict.fromkeys([*uuids, tail]) if uuid in rows]


def _walk(
    rows: Mapping[str, Row], newest: str, parent_of: Callable[[str], str]
) -> tuple[list[Row], int]:
    """The rows from the root to `newest`, and how many parents were missing.

    A compaction begins a new root. Where a parent is missing (its line was damaged), the row before
    it in the file stands in.
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


def _with_parallel(chain: list[Row], rows: Iterable[Row]) -> Iterator[Row]:
    """The chain and what belongs to it beside it: parallel calls branch, a row for each.

    Only one of those branches leads on; the message's other rows and the results of its other calls
    are found by their ids.
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
