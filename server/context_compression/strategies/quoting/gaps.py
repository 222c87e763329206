"""Gaps, which are runs of missing messages between shown or quoted ones, and their marks."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from context_compression.display.plurals import how_many
from context_compression.strategies import measured


def gaps(run: range, shown: Iterable[int]) -> Iterator[range]:
    """The missing messages of a run before each shown message, then those after the last one."""
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
    ref_of: Callable[[range], str],
    room: float,
    *,
    between: bool,
) -> set[int]:
    """The starts of the largest gaps, as many as can have a mark with a ref in `room`.

    A gap has a mark only if it has more than twice the tokens of the mark, and a ref.

    Args:
        runs: the runs of messages that are not in the view.
        quoted: the indices of messages that are quoted in part.
        tokens: the tokens of each message.
        ref_of: takes a gap and returns its ref, `""` if it has none.
        room: the tokens that the marks may take.
        between: whether gaps between quotes have marks with refs, too.
    """
    up_to = [0, *accumulate(tokens)]
    candidates: list[tuple[int, int, int, range]] = []
    for run in runs:
        indices = [index for index in run if index in quoted]
        if indices and not between:
            continue
        for missing in filter(None, gaps(run, indices)):
            size = up_to[missing.stop] - up_to[missing.start]
            price = measured.GAP_MARK_TOKENS if indices else measured.NOTE_TOKENS
            candidates.append((-size, missing.start, price, missing))
    with_ref = set[int]()
    for size, start, price, missing in sorted(candidates, key=itemgetter(0, 1)):
        if price <= room and -size > 2 * price and ref_of(missing):
            room -= price
            with_ref.add(start)
    return with_ref


def largest(
    runs: Iterable[range],
    quoted: Container[int],
    tokens: Sequence[int],
    ref_of: Callable[[range], str],
    stands_for_more: Callable[[int], bool],
) -> set[int]:
    """The start of the largest gap that can have a mark with a ref; empty if there is none.

    A gap between quotes comes before all others, because its mark needs no note of its own. The
    arguments are those of `largest_with_ref`. A gap of any size is large enough if one of its
    messages stands for more (`stands_for_more`), as an earlier note does.
    """
    candidates: list[tuple[bool, int, int, range]] = []
    for run in runs:
        indices = [index for index in run if index in quoted]
        price = measured.GAP_MARK_TOKENS if indices else measured.NOTE_TOKENS
        for missing in filter(None, gaps(run, indices)):
            size = sum(tokens[missing.start : missing.stop])
            if size > 2 * price or any(map(stands_for_more, missing)):
                candidates.append((not indices, -size, missing.start, missing))
    best_first = (missing for *_, missing in sorted(candidates, key=itemgetter(0, 1, 2)))
    one = next(filter(ref_of, best_first), None)
    return set() if one is None else {one.start}


def noted(
    runs: Sequence[range],
    quoted: Container[int],
    with_ref: Container[int],
    tokens: Sequence[int],
    room: float,
) -> Sequence[range]:
    """The runs that have a note: those with quotes, those with a ref, and the largest others.

    `room` is the tokens for notes of the others. A run of the others must have more than twice the
    tokens of its note.
    """
    chosen = {run for run in runs if run.start in with_ref or any(i in quoted for i in run)}
    others = ((sum(tokens[run.start : run.stop]), run) for run in runs if run not in chosen)
    price = measured.BARE_NOTE_TOKENS
    large = sorted((-size, run.start, run) for size, run in others if size > 2 * price)
    most = int(room // price)
    return sorted(chosen.union(run for *_, run in large[:most]), key=lambda run: run.start)
