"""Regular expressions written by models: bounded in size, repeats and time."""

import re
from time import monotonic

import regex

from context_compression.errors import StoreError

LONGEST, MOST_REPEATS = 1_000, 10_000
SECONDS = 2.0
"""How long all searches with one pattern may take together."""
REPEAT = re.compile(r"(?:\{|,)\s*(\d+)")
RECURSION = re.compile(r"\(\?(?:R|[+-]?\d+|&|P>)")
"""A group in place of which a part of the pattern stands once more: memory has no bound then."""
FUZZY = re.compile(r"\{(?:[\d<=\s]|#[^\n]*\n)*[deis]")
"""How `{e}` or `{1<=e<=3}` begins, behind what may be found with errors in it. Such a search tries
so much that it does not see its time run out, and nobody needs one in an archive."""
LITERALLY = re.compile(
    r"\(\?#[^)]*\)|\\[pP]\{\^?\w+\}|\\.|\[\^?\]?[^\]\\]*(?:\\.[^\]\\]*)*\]", re.DOTALL
)
"""What stands for itself: a comment, a property, a sign behind a backslash, a class of signs."""
VERBOSE = re.compile(r"\(\?[a-zA-Z0-9]*x")
"""A flag that lets a pattern hold other comments."""
LITERAL = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s]|\\ )+")
"""A pattern in which every character stands for itself, perhaps behind a backslash."""


class Pattern:
    r"""A regular expression that gives up before anybody waits too long for it.

    In one that stands for itself a slash is also found as a backslash, or as two, which is how
    JSON writes one: it is mostly a path, and not everybody wrote that path the same way.
    """

    def __init__(self, pattern: str) -> None:
        """Compile it; the time it may take begins with the first search.

        Raises:
            StoreError: it is wrong, too long, or repeats so much that it would fill the memory.
        """
        self.pattern = pattern
        _check(pattern)
        wanted = pattern if self.literal is None else "|".join(map(regex.escape, self.spellings))
        try:
            self._wanted = regex.compile(wanted, regex.MULTILINE)
        except RecursionError:
            raise StoreError("The pattern is nested too deep; use a simpler one.") from None
        except regex.error as problem:
            raise StoreError(f"{pattern!r} is not a regular expression: {problem}.") from None
        self._until: float | None = None

    @property
    def literal(self) -> str | None:
        """The very text it looks for, where it looks for one text only."""
        return re.sub(r"\\(.)", r"\1", self.pattern) if LITERAL.fullmatch(self.pattern) else None

    @property
    def spellings(self) -> list[str]:
        """That text as it may be written; nothing where there is none."""
        text = self.literal
        if text is None:
            return []
        return [text, *(text.replace("/", slash) for slash in ("\\", "\\\\") if "/" in text)]

    def is_in(self, text: str) -> bool:
        """Whether it is found in a text; raises what `place_in` raises."""
        return self.place_in(text) is not None

    def place_in(self, text: str) -> int | None:
        """Where it is found first in a text.

        Raises:
            StoreError: it takes too long, or too much memory.
        """
        if self._until is None:
            self._until = monotonic() + SECONDS
        try:
            left = self._until - monotonic()
            if left <= 0:
                raise TimeoutError
            found = self._wanted.search(text, timeout=left)
        except TimeoutError:
            raise StoreError(f"{self.pattern!r} takes too long; use a simpler pattern.") from None
        except MemoryError:
            raise StoreError(f"{self.pattern!r} takes too much; use a simpler pattern.") from None
        return found.start() if found else None


def _check(pattern: str) -> None:
    repeats = 1
    for count in REPEAT.findall(pattern):
        repeats *= max(1, int(count[:9]))
    if len(pattern) > LONGEST or repeats > MOST_REPEATS:
        raise StoreError(
            f"The pattern is too large: at most {LONGEST:,} characters, and repeats like "
            f"{{9}} of {MOST_REPEATS:,} in all. Use a simpler one."
        )
    plain = LITERALLY.sub("x", pattern)
    told = pattern if VERBOSE.search(plain) else plain
    if RECURSION.search(told):
        raise StoreError("The pattern calls itself; use one without (?R), (?1) or (?&name).")
    if found := FUZZY.search(told):
        raise StoreError(
            f"The pattern is a fuzzy one, by {found[0]!r}: its search cannot be stopped in time. "
            "Use one without; for the brace itself write \\{."
        )
