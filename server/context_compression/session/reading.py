"""Reading what was archived: whole, some lines, the lines a pattern is found in."""

import re
from time import monotonic
from typing import Any

import regex

from context_compression.errors import StoreError
from context_compression.plan import canonical

NO_LINE = "no line matches"
LONGEST_PATTERN, MOST_REPEATS = 1_000, 10_000
REPEAT = re.compile(r"(?:\{|,)\s*(\d+)")
PATTERN_SECONDS = 2.0
"""How long one search with a pattern may take; patterns come from models."""


def as_text(original: Any) -> str:
    """An original as text: itself, or its JSON."""
    return original if isinstance(original, str) else canonical(original)


def _check(pattern: str) -> None:
    """Refuse what would fill the memory before it is even searched for.

    Raises:
        StoreError: a pattern that is too long, or repeats too much.
    """
    repeats = 1
    for count in REPEAT.findall(pattern):
        repeats *= max(1, int(count[:9]))
    if len(pattern) > LONGEST_PATTERN or repeats > MOST_REPEATS:
        raise StoreError(
            f"The pattern is too large: at most {LONGEST_PATTERN:,} characters, and repeats like "
            f"{{9}} of {MOST_REPEATS:,} in all. Use a simpler one."
        )


def select(text: str, lines: tuple[int, int] | None, pattern: str | None) -> str:
    """All of a text, a range of its lines, or those a pattern is found in, with their numbers.

    Raises:
        StoreError: an impossible range, or a pattern that is wrong or takes too long.
    """
    if lines is None and pattern is None:
        return text
    numbered = list(enumerate(text.split("\n"), 1))
    if lines is not None:
        first, last = lines
        if first < 1 or last < first or first > len(numbered):
            raise StoreError(
                f"lines {first}-{last} are not there; this has lines 1-{len(numbered)}."
            )
        numbered = numbered[first - 1 : last]
    if pattern is None:
        return "\n".join(line for _, line in numbered)
    _check(pattern)
    try:
        wanted = regex.compile(pattern)
        until = monotonic() + PATTERN_SECONDS
        found = [
            (number, line)
            for number, line in numbered
            if wanted.search(line, timeout=max(until - monotonic(), 0.001))
        ]
    except RecursionError:
        raise StoreError("The pattern is nested too deep; use a simpler one.") from None
    except regex.error as problem:
        raise StoreError(f"{pattern!r} is not a regular expression: {problem}.") from None
    except TimeoutError:
        raise StoreError(f"{pattern!r} takes too long; use a simpler pattern.") from None
    return "\n".join(f"{number}: {line}" for number, line in found) or NO_LINE
