"""The lines of a text that show best why it was found."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from context_compression.store.patterns import Pattern

BEST_LINES = 3
LINE_LENGTH = 200
"""Characters shown of a line."""
MOST_PLACES = 200
"""Places of a word that are looked at."""
SHORTEST_PART = 3
"""Letters of a part of a word that stands nowhere as a whole."""

Numbered = list[tuple[int, str]]


def best_lines(text: str, terms: Sequence[str], pattern: Pattern | None = None) -> Numbered:
    """Lines of a text in their order, numbered from 1; long ones cut around what was looked for.

    Those that hold most of the terms, and the rarer ones; with a pattern, the first in which it is
    found; where there are none, the first that say anything.
    """
    lines = text.split("\n")
    if pattern:
        places = ((number, pattern.place_in(line)) for number, line in enumerate(lines))
        chosen = [*islice(((n, at) for n, at in places if at is not None), BEST_LINES)]
    else:
        found, needles = _with_terms(text, lines, terms)
        chosen = [(n, _rarest(lines[n], needles)) for n in sorted(islice(found, BEST_LINES))]
    if not chosen:
        spoken = ((number, 0) for number, line in enumerate(lines) if line.strip())
        chosen = [*islice(spoken, BEST_LINES)]
    return [(number + 1, _around(lines[number], at)) for number, at in chosen]


def _with_terms(
    text: str, lines: Sequence[str], terms: Sequence[str]
) -> tuple[Iterator[int], list[str]]:
    """Lines that hold terms, and the terms as they were found.

    A term counts once where it is found and once more where it stands alone, and the less the more
    lines share that.
    """
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    lowered = _lowered(text)
    found_in: defaultdict[tuple[str, bool], set[int]] = defaultdict(set)
    needles: list[str] = []
    for term in terms:
        places = _places(lowered, term)
        parts = [term] if places else re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+", term)
        for part in parts:
            if places or len(part) >= SHORTEST_PART:
                needles.append(part)
                for place in places or _places(lowered, part):
                    line = bisect_right(starts, place) - 1
                    found_in[term, False].add(line)
                    ends = (
                        lowered[place - 1 : place],
                        lowered[place + len(part) : place + len(part) + 1],
                    )
                    if not any(map(is_letter, ends)):
                        found_in[term, True].add(line)
    weights: defaultdict[int, float] = defaultdict(float)
    for found in found_in.values():
        for line in found:
            weights[line] += 1 / len(found)
    return iter(sorted(weights, key=lambda line: (-weights[line], line))), needles


def is_letter(sign: str) -> bool:
    """Whether a name goes on with this sign; not where there is none."""
    return sign.isalnum() or sign == "_"


def _places(lowered: str, term: str) -> list[int]:
    """Where a term stands in a text, whatever its case."""
    found: list[int] = []
    sought = _lowered(term)
    at = lowered.find(sought)
    while at >= 0 and len(found) < MOST_PLACES:
        found.append(at)
        at = lowered.find(sought, at + len(sought))
    return found


def _lowered(text: str) -> str:
    """The text in lower case; as it is where letters would grow and offsets be off."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


def _rarest(line: str, needles: Sequence[str]) -> int:
    """Where in a line the needle stands that is rarest in it."""
    lowered = _lowered(line)
    held = [needle for needle in map(_lowered, needles) if needle in lowered]
    return lowered.find(min(held, key=lowered.count)) if held else 0


def _around(line: str, at: int) -> str:
    """A line, of a long one what stands around a place in it."""
    if len(line) <= LINE_LENGTH:
        return line
    start = max(0, min(at - LINE_LENGTH // 4, len(line) - LINE_LENGTH))
    shown = line[start : start + LINE_LENGTH]
    return "…" * (start > 0) + shown + "…" * (start + LINE_LENGTH < len(line))
