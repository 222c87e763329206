"""Reading what was archived: whole, some lines, the lines a pattern is found in."""

from typing import Any

from context_compression.errors import StoreError
from context_compression.plan import canonical
from context_compression.store import Pattern

NO_LINE = "no line matches"


def as_text(original: Any) -> str:
    """An original as text: itself, or its JSON."""
    return original if isinstance(original, str) else canonical(original)


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
    wanted = Pattern(pattern)
    found = [f"{number}: {line}" for number, line in numbered if wanted.is_in(line)]
    return "\n".join(found) or NO_LINE
