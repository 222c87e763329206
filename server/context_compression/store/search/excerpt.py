"""Excerpts for hits: the lines of a text that best show why it was found."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from context_compression.store.search.patterns import Pattern
from context_compression.store.search.query import shortened

BEST_LINES = 3
"""How many lines an excerpt has."""
LINE_LENGTH = 200
"""How many characters of a line are shown."""
MOST_PLACES = 200
"""How many occurrences of a term are considered."""
SHORTEST_PART = 3
"""If the text does not contain a word, its parts of at least this many letters are searched."""

Numbered = list[tuple[int, str]]
"""Lines with their numbers, from 1."""


def best_lines(text: str, terms: Sequence[str], pattern: Pattern | None = None) -> Numbered:
    """The best lines of a text, in their order; long lines are cut around the match.

    With a pattern, these are the first lines that match. Without one, these are the lines with the
    most terms; rare terms count more. If there are none, these are the first lines that are not
    blank.
    """
    lines = text.split("\n")
    if pattern:
        places = ((number, pattern.place_in(line)) for number, line in enumerate(lines))
        chosen = [*islice(((n, at) for n, at in places if at is not None), BEST_LINES)]
    else:
        best, needles = _with_terms(text, lines, terms)
        chosen = [(n, _rarest(lines[n], needles)) for n in sorted(islice(best, BEST_LINES))]
    if not chosen:
        not_blank = ((number, 0) for number, line in enumerate(lines) if line.strip())
        chosen = [*islice(not_blank, BEST_LINES)]
    return [(number + 1, _around(lines[number], at)) for number, at in chosen]


def _with_terms(
    text: str, lines: Sequence[str], terms: Sequence[str]
) -> tuple[Iterator[int], list[str]]:
    """The indexes of the lines that contain terms, the best first; and the terms that were found.

    If the text does not contain a term, another form of it counts, or else the parts of the term.
    A term counts once for a line that contains it, and once more for a line where it is a word by
    itself. A term in many lines counts less in each.
    """
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    lowered = _lowered(text)
    lines_with: defaultdict[tuple[str, bool], set[int]] = defaultdict(set)
    needles: list[str] = []
    for asked in terms:
        forms = (asked, shortened(asked))
        term = next((form for form in forms if form and _places(lowered, form)), asked)
        places = _places(lowered, term)
        parts = [term] if places else re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+", term)
        for part in parts:
            if places or len(part) >= SHORTEST_PART:
                needles.append(part)
                for place in places or _places(lowered, part):
                    line = bisect_right(starts, place) - 1
                    lines_with[term, False].add(line)
                    ends = (
                        lowered[place - 1 : place],
                        lowered[place + len(part) : place + len(part) + 1],
                    )
                    if not any(map(is_letter, ends)):
                        lines_with[term, True].add(line)
    weights: defaultdict[int, float] = defaultdict(float)
    for numbers in lines_with.values():
        for line in numbers:
            weights[line] += 1 / len(numbers)
    return iter(sorted(weights, key=lambda line: (-weights[line], line))), needles


def is_letter(sign: str) -> bool:
    """Whether a character can be part of a name: a letter, a digit or `_`. `False` for ""."""
    return sign.isalnum() or sign == "_"


def _places(lowered: str, term: str) -> list[int]:
    """The offsets of a term in a text in lower case."""
    places: list[int] = []
    needle = _lowered(term)
    at = lowered.find(needle)
    while at >= 0 and len(places) < MOST_PLACES:
        places.append(at)
        at = lowered.find(needle, at + len(needle))
    return places


def _lowered(text: str) -> str:
    """The text in lower case; unchanged if that would change its length, and so the offsets."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


def _rarest(line: str, needles: Sequence[str]) -> int:
    """The offset in a line of the needle that is rarest in it; 0 if it contains none."""
    lowered = _lowered(line)
    held = [needle for needle in map(_lowered, needles) if needle in lowered]
    return lowered.find(min(held, key=lowered.count)) if held else 0


def _around(line: str, at: int) -> str:
    """The line; if it is long, `LINE_LENGTH` characters around an offset, and `…` for the rest."""
    if len(line) <= LINE_LENGTH:
        return line
    start = max(0, min(at - LINE_LENGTH // 4, len(line) - LINE_LENGTH))
    shown = line[start : start + LINE_LENGTH]
    return "…" * (start > 0) + shown + "…" * (start + LINE_LENGTH < len(line))
