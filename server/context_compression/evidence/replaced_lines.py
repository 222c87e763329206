"""The lines of a text that later changes of its file replaced.

A change is located by the text that it replaced, which must occur exactly once. Lines that a later
change restored do not count as replaced.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from context_compression.conversation.rendering import LINE_NUMBER, NEWLINE, Span
from context_compression.evidence.ledger.changes import Change


def replaced(text: str, later: Sequence[Change], *, is_file: bool) -> Iterator[Span]:
    """The spans of lines in a text of a file that later changes replaced; they may overlap.

    Args:
        text: the text without line numbers.
        later: the changes of the file after the text, in order.
        is_file: whether the text is the file or a part of it, and nothing else.
    """
    parts = dict(replaced_parts(text, later, is_file=is_file))
    current = set[str]()  # lines that this change or a later one wrote
    for number in range(len(later) - 1, min(parts, default=len(later)) - 1, -1):
        for line in later[number].after.split(NEWLINE):
            current.add(line.strip())
            if numbered := LINE_NUMBER.match(line):  # `text` is without such line numbers
                current.add(line[numbered.end() :].strip())
        if number in parts:
            lines = lines_in(text, *parts[number])
            yield from (line for line in lines if text[slice(*line)].strip() not in current)


def replaced_parts(
    text: str, later: Sequence[Change], *, is_file: bool
) -> Iterator[tuple[int, Span]]:
    """The number of each change with the part of the text that it replaced.

    Changes whose place is unclear are left out. The arguments are those of `replaced`.
    """
    rewritten = max((n for n, change in enumerate(later) if change.before is None), default=-1)
    for number, change in enumerate(later):
        if change.before is None:
            if is_file and number == rewritten:
                yield number, (0, len(text))
        else:
            start = text.find(change.before)
            if start >= 0 and text.find(change.before, start + 1) < 0:
                yield number, (start, start + len(change.before))


def lines_in(text: str, start: int, stop: int) -> Iterator[Span]:
    """The spans of the lines that are not blank in a part of a text."""
    while start < stop:
        end = text.find(NEWLINE, start, stop)
        end = stop if end < 0 else end
        if text[start:end].strip():
            yield start, end
        start = end + 1


def unnumbered(text: str) -> tuple[str, Callable[[int], int]]:
    """A text without line numbers, and a function that maps places in it to places in `text`.

    Line numbers are numbers at the beginnings of lines that count up from line to line.
    """
    lines = text.splitlines(keepends=True)
    cuts = number_lengths(lines)
    if not any(cuts):
        return text, int
    kept = [line[cut:] for line, cut in zip(lines, cuts, strict=True)]
    starts = [0, *accumulate(map(len, kept))]
    shifts = [*accumulate(cuts)]

    def place(at: int) -> int:
        return at + shifts[min(bisect_right(starts, at), len(shifts)) - 1]

    return "".join(kept), place


def number_lengths(lines: Sequence[str]) -> Sequence[int]:
    """For each line, the characters of its line number; 0 if it has none."""
    cuts: list[int] = []
    next_number: int | None = None
    for line in lines:
        number = LINE_NUMBER.match(line)
        if number and next_number in (None, int(number[1])):
            next_number = int(number[1]) + 1
            cuts.append(number.end())
        else:
            cuts.append(0)
    return cuts
