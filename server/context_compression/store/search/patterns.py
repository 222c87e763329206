"""Regular expressions from models, with limits on size, repeats and time."""

import re
from time import monotonic

import regex

from context_compression.errors import StoreError

LONGEST, MOST_REPEATS = 1_000, 10_000
"""The most characters of a pattern, and the largest product of its repeats."""
SECONDS = 2.0
"""Time limit for all searches with one pattern together."""
REPEAT = re.compile(r"(?:\{|,)\s*(\d+)")
RECURSION = re.compile(r"\(\?(?:R|[+-]?\d+|&|P>)")
"""A group that repeats a part of the pattern; its use of memory has no limit."""
FUZZY = re.compile(r"\{(?:[\d<=\s]|#[^\n]*\n)*[deis]")
"""The beginning of `{e}` or `{1<=e<=3}`, which allows errors in a match. Such a search tries so
many ways that it does not stop at its time limit, and a search in an archive does not need it.
"""
LITERALLY = re.compile(
    r"\(\?#[^)]*\)|\\[pP]\{\^?\w+\}|\\.|\[\^?\]?[^\]\\]*(?:\\.[^\]\\]*)*\]", re.DOTALL
)
"""Parts whose characters have no special meaning: comments, properties, escapes, character classes.
"""
VERBOSE = re.compile(r"\(\?[a-zA-Z0-9]*x")
"""The flag that allows comments of another kind."""
LITERAL = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s]|\\ )+")
"""A pattern that is plain text: each character, escaped or not, stands for itself."""


class Pattern:
    r"""A regular expression whose searches are limited in time.

    In plain text, `/` also matches one backslash, or two, as JSON writes a backslash. Such a
    pattern is usually a path, and Windows writes paths with backslashes.
    """

    def __init__(self, pattern: str) -> None:
        """Compile a pattern. Its time limit starts with the first search.

        Raises:
            StoreError: the pattern is not a regular expression, or is too long, or could use too
                much time or memory.
        """
        self.pattern = pattern
        _check(pattern)
        full = pattern if self.literal is None else "|".join(map(regex.escape, self.spellings))
        try:
            self._compiled = regex.compile(full, regex.MULTILINE)
        except RecursionError:
            raise StoreError("The pattern is nested too deep; use a simpler one.") from None
        except regex.error as problem:
            raise StoreError(f"{pattern!r} is not a regular expression: {problem}.") from None
        self._until: float | None = None

    @property
    def literal(self) -> str | None:
        """The text that the pattern matches if it is plain text; else `None`."""
        return re.sub(r"\\(.)", r"\1", self.pattern) if LITERAL.fullmatch(self.pattern) else None

    @property
    def spellings(self) -> list[str]:
        """The ways to write the plain text; `[]` if the pattern is not plain text."""
        text = self.literal
        if text is None:
            return []
        return [text, *(text.replace("/", slash) for slash in ("\\", "\\\\") if "/" in text)]

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in a text; raises the same errors as `place_in`."""
        return self.place_in(text) is not None

    def place_in(self, text: str) -> int | None:
        """The offset of the first match in a text; `None` if there is no match.

        Raises:
            StoreError: the search took too long, or too much memory.
        """
        if self._until is None:
            self._until = monotonic() + SECONDS
        try:
            left = self._until - monotonic()
            if left <= 0:
                raise TimeoutError
            match = self._compiled.search(text, timeout=left)
        except TimeoutError:
            raise StoreError(f"{self.pattern!r} takes too long; use a simpler pattern.") from None
        except MemoryError:
            raise StoreError(
                f"{self.pattern!r} takes too much memory; use a simpler pattern."
            ) from None
        return match.start() if match else None


def _check(pattern: str) -> None:
    repeats = 1
    for count in REPEAT.findall(pattern[:LONGEST]):
        repeats *= max(1, int(count[:9]))
    if len(pattern) > LONGEST or repeats > MOST_REPEATS:
        raise StoreError(
            f"The pattern is too large: at most {LONGEST:,} characters, and repeats like "
            f"{{9}} of {MOST_REPEATS:,} in all. Use a simpler one."
        )
    plain = LITERALLY.sub("x", pattern)
    checked = pattern if VERBOSE.search(plain) else plain
    if RECURSION.search(checked):
        raise StoreError("The pattern calls itself; use one without (?R), (?1) or (?&name).")
    if match := FUZZY.search(checked):
        raise StoreError(
            f"The pattern is a fuzzy one, by {match[0]!r}: its search cannot be stopped in time. "
            "Use one without; for the brace itself write \\{."
        )
