"""Remembers counts by a fingerprint of the text, so that nothing is counted twice.

A key is a number of 64 bits of keyed hash and a length: no text is copied or kept alive. Hashing is
some 300 times cheaper than counting.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from context_compression.tokens.counting import WORTH_A_THREAD, Counting

TextCounter: TypeAlias = Callable[[str], int]
"""Text in, tokens out."""

SCALARS = frozenset({int, float, bool, type(None)})
_LENGTH = 40  # bits of a key that tell the length
SHORT = 32  # characters; shorter texts are counted one by one, not ahead in a thread
SHORT_ONES = 4_000  # short texts that are remembered apart, so that they push out no long ones


def fingerprint(value: Any) -> int:
    """A hash of parsed JSON, the same for equal values within one process.

    It walks with a stack instead of recursing, so depth is no limit. Each container leaves its type
    and size and each number its spelling, so that different values leave different parts (the bare
    hashes of -1 and -2, or of 1 and True, are equal).
    """
    parts: list[Any] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        if kind is str:
            parts.append(item)
        elif kind is dict:
            parts += (dict, len(item), *item)
            stack.extend(item.values())
        elif kind is list or kind is tuple:
            parts += (list, len(item))
            stack.extend(item)
        elif kind not in SCALARS and callable(dump := getattr(item, "model_dump", None)):
            stack.append(dump())  # an object of a provider's library
        else:
            parts += (kind, hex(item) if kind is int else repr(item))  # long ones have no decimals
    return hash(tuple(parts))


def key_of(text: str) -> int:
    """The key of a text within one process."""
    return hash(text) << _LENGTH | len(text)


class Recent:
    """Counts by key: at least the `size / 2` used last, at most `size`.

    Two generations instead of one ordered list: a hit among the young moves nothing, and threads
    that meet here can at worst count something once more.
    """

    def __init__(self, size: int = 50_000) -> None:
        self._half = size // 2
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def get(self, key: int) -> int | None:
        """The count under `key`, which is then the one used last; `None` if there is none."""
        count = self._young.get(key)
        if count is None and (count := self._old.get(key)) is not None:
            self.put(key, count)
        return count

    def put(self, key: int, count: int) -> None:
        """Remember a count; a full cache forgets the half that was used longest ago."""
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._young[key] = count

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class Remembered:
    """A text counter with a memory."""

    def __init__(
        self, count: TextCounter, counts: Callable[[Sequence[str]], Sequence[int]] | None = None
    ) -> None:
        """A counter by `count`, and by `counts` for many texts at once, which threads may call."""
        self._count, self._counts = count, counts
        self._recent, self._short = Recent(), Recent(SHORT_ONES)

    def text(self, text: str) -> int:
        """Tokens of a text."""
        if not text:
            return 0
        recent = self._short if len(text) < SHORT else self._recent
        key = key_of(text)
        count = recent.get(key)
        if count is None:
            count = self._count(text)
            recent.put(key, count)
        return count

    def ahead(self, texts: Iterable[str]) -> Counting | None:
        """Begin to count texts in a thread; `None` if there are too few."""
        if self._counts is None:
            return None
        tasks = {key_of(text): text for text in texts if len(text) >= SHORT}
        tasks = {key: text for key, text in tasks.items() if self._recent.get(key) is None}
        if sum(map(len, tasks.values())) < WORTH_A_THREAD:
            return None
        return Counting(tasks.items(), self._counts, self._recent.put)

    def json(self, value: Any) -> int:
        """Tokens of parsed JSON, written compactly; a string is counted as it is."""
        if isinstance(value, str):
            return self.text(value)
        key = fingerprint(value) << _LENGTH  # no text that is remembered has the length 0
        count = self._recent.get(key)
        if count is None:
            written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
            count = self._count(written)
            self._recent.put(key, count)
        return count
