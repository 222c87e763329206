"""Counts of many texts: in a thread, remembered by a fingerprint, or by samples.

Counting in a thread, which works because the tokenizer releases the interpreter's lock.

A thread counts texts in batches while the caller does other work or helps. Its counts go into the
same cache as all others, so the caller waits only for missing counts.

Caches of counts by a fingerprint of the text, so that no text is counted twice.

A key is a number made of a keyed hash of 64 bits and a length, so no text is copied or kept alive.
Hashing is some 300 times cheaper than counting.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, TypeAlias

from context_compression.errors import InvalidConversation
from context_compression.progress import COUNTING, advance

Task: TypeAlias = tuple[int, str]
"""The key of a count in the cache, and the text."""

WORTH_A_THREAD = 50_000  # characters, some 2 ms of counting; for fewer a thread costs too much
# characters of a batch; a thread that returns from the tokenizer waits up to 5 ms for the lock
BATCH = 100_000


class Counting:
    """Texts that a thread is counting.

    Attributes:
        chars: the number of characters in all texts.
    """

    def __init__(
        self,
        tasks: Collection[Task],
        counts: Callable[[Sequence[str]], Sequence[int]],
        remember: Callable[[int, int], None],
    ) -> None:
        """Start to count.

        Args:
            tasks: the key and text of each count.
            counts: takes texts and returns the tokens of each.
            remember: takes the key and the tokens of each text.
        """
        self.chars = sum(len(text) for _, text in tasks)
        self._counts, self._remember = counts, remember
        self._batches = deque(batches(tasks))
        self._counted = 0  # characters
        self._thread = Thread(target=self._work, daemon=True)
        with suppress(Exception):  # without a thread, `finish` counts everything
            self._thread.start()

    def _work(self) -> None:
        # Until no batch is left. A text that cannot be counted raises its error when it is needed.
        with suppress(Exception):
            while True:
                batch = self._batches.popleft()
                tokens = self._counts([text for _, text in batch])
                for (key, _), count in zip(batch, tokens, strict=True):
                    self._remember(key, count)
                self._counted += sum(len(text) for _, text in batch)
                advance(COUNTING, self._counted, self.chars)

    def finish(self) -> None:
        """Count the remaining batches, and wait for the thread."""
        self._work()
        if self._thread.ident is not None:
            self._thread.join()


def batches(tasks: Iterable[Task], limit: int = BATCH) -> Iterator[Sequence[Task]]:
    """Tasks in batches of about `limit` characters; no text is divided."""
    batch: list[Task] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += len(task[1])
        if size >= limit:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


TextCounter: TypeAlias = Callable[[str], int]
"""A function that takes a text and returns its number of tokens."""

SCALARS = frozenset({int, float, bool, type(None)})
MANY_PARTS = 300_000  # a value with more parts may hold itself, and then never ends
_LENGTH = 40  # bits of a key that hold the length
SHORT = 32  # characters; shorter texts are counted one by one, not ahead in a thread
SHORT_ONES = 4_000  # short texts have a cache of their own, so that they displace no long texts


def fingerprint(value: Any) -> int:
    """A hash of parsed JSON, the same for equal values within one process.

    It uses a stack instead of recursion, so depth has no limit. It includes the type and size of
    each container and the spelling of each number. Values with equal hashes of their own, such as
    -1 and -2 or 1 and True, therefore get different fingerprints.
    """
    parts: list[Any] = []
    stack: list[Any] = [value]
    most = MANY_PARTS
    while stack:
        if len(parts) > most:
            _check_end(value)
            most = math.inf
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
            # Python refuses to write long integers as decimals
            parts += (kind, hex(item) if kind is int else repr(item))
    return hash(tuple(parts))


def _check_end(value: Any) -> None:
    """Refuse a value that holds itself.

    Raises:
        InvalidConversation: it does.
    """
    try:
        json.dumps(value, default=str, skipkeys=True)
    except RecursionError:
        pass  # it is only deep
    except ValueError:
        raise InvalidConversation(
            "A value holds itself, so it cannot be written as JSON."
        ) from None


def key_of(text: str) -> int:
    """The key of a text within one process."""
    return hash(text) << _LENGTH | len(text)


class Recent:
    """A cache of counts: at least the `size / 2` counts used last, at most `size`.

    It has two generations instead of one ordered list. A hit in the young generation moves nothing,
    and threads that use the cache at the same time can at worst count a text twice.
    """

    def __init__(self, size: int = 50_000) -> None:
        self._half = size // 2
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def get(self, key: int) -> int | None:
        """The count under `key`, marked as recently used; `None` if there is none."""
        count = self._young.get(key)
        if count is None and (count := self._old.get(key)) is not None:
            self.put(key, count)
        return count

    def put(self, key: int, count: int) -> None:
        """Store a count; a full cache drops the half that was used longest ago."""
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._young[key] = count

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class Remembered:
    """A text counter with a cache."""

    def __init__(
        self, count: TextCounter, counts: Callable[[Sequence[str]], Sequence[int]] | None = None
    ) -> None:
        """A counter with a cache.

        Args:
            count: returns the tokens of one text.
            counts: returns the tokens of each of many texts; a thread may call it. Without it,
                `ahead` counts nothing.
        """
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
        """Start to count texts in a thread; `None` if there is too little text."""
        if self._counts is None:
            return None
        tasks = {key_of(text): text for text in texts if len(text) >= SHORT}
        tasks = {key: text for key, text in tasks.items() if self._recent.get(key) is None}
        if sum(map(len, tasks.values())) < WORTH_A_THREAD:
            return None
        return Counting(tasks.items(), self._counts, self._recent.put)

    def json(self, value: Any) -> int:
        """Tokens of parsed JSON, written compactly; a string is counted as plain text."""
        if isinstance(value, str):
            return self.text(value)
        key = fingerprint(value) << _LENGTH  # no text in the cache has the length 0
        count = self._recent.get(key)
        if count is None:
            written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
            count = self._count(written)
            self._recent.put(key, count)
        return count
