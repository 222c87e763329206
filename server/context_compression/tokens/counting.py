"""Counting in a thread, which works because the tokenizer releases the interpreter's lock.

A thread counts texts in batches while the caller does other work or helps. Its counts go into the
same cache as all others, so the caller waits only for missing counts.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import TypeAlias

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
