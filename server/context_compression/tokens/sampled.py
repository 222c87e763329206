"""`Sampled`, which counts the tokens of many texts by parts of some of them.

Counting takes ten times as long as reading JSON. In a session of tens of megabytes, parts of texts
that are spread over all of them tell the tokens of each character well enough: sums are off by a
few percent, a single text by more.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, Protocol

from context_compression.tokens.counting import Counting
from context_compression.tokens.remembered import fingerprint, key_of

PART = 1_000  # characters that are counted of a text at least
AT_FIRST = 0.3  # tokens of a character, until the first text is counted


class Base(Protocol):
    """Counts texts and parsed JSON."""

    def text(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def json(self, value: Any) -> int:
        """Tokens of parsed JSON."""
        ...

    def ahead(self, texts: Iterable[str]) -> Counting | None:
        """Start to count texts in a thread."""
        ...


class Sampled:
    """Counts a share of the characters that it is given, and takes the rest to be like them.

    Args:
        base: counts the parts.
        share: of all characters, from 0 to 1.
    """

    def __init__(self, base: Base, share: float) -> None:
        self._base, self._share = base, share
        self._known: dict[int, int] = {}
        self._due = 0.0  # characters that are still to be counted
        self._chars = self._tokens = 0  # of the parts counted so far

    def text(self, text: str) -> int:
        """Tokens of a text: of a part of it, or as many as texts had on average so far."""
        return self._remembered(key_of(text), text) if text else 0

    def json(self, value: Any) -> int:
        """Tokens of parsed JSON, written compactly; a string is counted as plain text."""
        if isinstance(value, str):
            return self.text(value)
        key = fingerprint(value)
        if (known := self._known.get(key)) is not None:
            return known
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        return self._remembered(key, written)

    def ahead(self, texts: Iterable[str]) -> Counting | None:
        """Nothing: the parts are too short for a thread."""
        return None

    def _remembered(self, key: int, text: str) -> int:
        count = self._known.get(key)
        if count is None:
            count = self._known[key] = self._estimate(text)
        return count

    def _estimate(self, text: str) -> int:
        chars = len(text)
        self._due += chars * self._share
        if self._due > 0:
            size = min(chars, max(PART, int(chars * self._share)))
            part = text[(start := (chars - size) // 2) : start + size]
            tokens = self._base.text(part)
            self._due -= size
            self._chars += size
            self._tokens += tokens
            return math.ceil(tokens * chars / size)
        each = self._tokens / self._chars if self._chars else AT_FIRST
        return math.ceil(chars * each)
