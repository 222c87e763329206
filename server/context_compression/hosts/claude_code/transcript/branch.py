"""The live branch of a Claude Code transcript: the rows that are in the context now.

Every row names its parent, so the rows form a tree. The file also keeps rows that are no longer in
the context: branches that a rewind left, subagents (`isSidechain`), and rows from before a
compaction. The live branch is walked from the newest row up to the root:

    … ─ old ─┬─ kept ─ kept     compact_boundary ─ summary ─ kept ─ kept ─ new … ─ newest
             └ parallel call                                 (where the compaction moved them)

Seen in versions 2.0 to 2.1.329.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from context_compression.hosts.claude_code.transcript.lineage import Lineage, walk
from context_compression.hosts.claude_code.transcript.row import (
    MESSAGES,
    Row,
    blocks,
    is_compaction,
    is_summary,
    message_id,
)
from context_compression.transcripts.lines import string


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
