"""Which gaps a view tells of: messages that are missing, between those that are shown or quoted."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import accumulate

from context_compression.display.plurals import how_many

MARK_TOKENS = 20
"""What the mark of a gap of messages costs with its ref."""
BARE_TOKENS = 22
"""What a note costs that tells only how many messages are missing."""
NOTE_TOKENS = 40
"""What a note costs beside its quotations."""


def gaps(run: range, shown: Iterable[int]) -> Iterator[range]:
    """The messages of a run missing before each one shown, then those missing behind the last."""
    start = run.start
    for index in (*shown, run.stop):
        yield range(start, index)
        start = index + 1


def gap_of_messages(count: int, ref: str = "") -> str:
    """The mark of a gap: `[… 1 message; ref c3f91a20b77d]`, `[… 9 messages; first ref …]`."""
    named = f"; {'first ' * (count > 1)}ref {ref}" if ref else ""
    return f"[… {how_many(count, 'message')}{named}]"


def largest_with_ref(
    runs: Iterable[range],
    quoted: Container[int],
    tokens: Sequence[int],
    ref_of: Callable[[int], str],
    room: float,
    *,
    between: bool,
) -> set[int]:
    """Where the largest gaps begin, as many as may tell a ref in `room`.

    Args:
        runs: of messages that are not in the view.
        quoted: those of them of which something is quoted.
        tokens: of each message.
        ref_of: the ref of a message; empty where it has none.
        room: tokens for it.
        between: whether gaps between quotes are told, too.
    """
    up_to = [0, *accumulate(tokens)]
    found: list[tuple[int, int, int]] = []
    for run in runs:
        indices = [index for index in run if index in quoted]
        if indices and not between:
            continue
        for missing in filter(None, gaps(run, indices)):
            size = up_to[missing.stop] - up_to[missing.start]
            found.append((-size, missing.start, MARK_TOKENS if indices else NOTE_TOKENS))
    told = set[int]()
    for size, start, price in sorted(found):
        if price <= room and -size > 2 * price and ref_of(start):
            room -= price
            told.add(start)
    return told


def noted(
    runs: Sequence[range],
    quoted: Container[int],
    with_ref: Container[int],
    tokens: Sequence[int],
    room: float,
) -> Sequence[range]:
    """The runs that have a note: they are quoted, or tell a ref, or are the largest others."""
    told = {run for run in runs if run.start in with_ref or any(i in quoted for i in run)}
    others = ((sum(tokens[run.start : run.stop]), run) for run in runs if run not in told)
    large = sorted((-size, run.start, run) for size, run in others if size > 2 * BARE_TOKENS)
    most = int(room // BARE_TOKENS)
    return sorted(told.union(run for *_, run in large[:most]), key=lambda run: run.start)
