"""Counting in a thread: the tokenizer releases the interpreter's lock.

A thread counts texts in batches while the caller goes on, or helps. Its counts are remembered with
all others, so the caller waits only for those that are missing.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import TypeAlias

Task: TypeAlias = tuple[int, str]
"""The key under which a count is remembered, and the text."""

WORTH_A_THREAD = 50_000  # characters, some 2 ms of counting: below, to start one costs too much
# characters of a batch: a thread that comes back from the tokenizer waits up to 5 ms for the lock
BATCH = 100_000


class Counting:
    """Texts that are being counted in a thread.

    Attributes:
        chars: characters of all texts.
    """

    def __init__(
        self,
        tasks: Collection[Task],
        counts: Callable[[Sequence[str]], Sequence[int]],
        remember: Callable[[int, int], None],
    ) -> None:
        """Begin to count: `remember` gets the key and the tokens of each text."""
        self.chars = sum(len(text) for _, text in tasks)
        self._counts, self._remember = counts, remember
        self._batches = deque(batches(tasks))
        self._thread = Thread(target=self._work, daemon=True)
        with suppress(Exception):  # without a thread `finish` counts
            self._thread.start()

    def _work(self) -> None:
        # until no batch is left; what cannot be counted raises its error where it is asked for
        with suppress(Exception):
            while True:
                batch = self._batches.popleft()
                tokens = self._counts([text for _, text in batch])
                for (key, _), count in zip(batch, tokens, strict=True):
                    self._remember(key, count)

    def finish(self) -> None:
        """Help until all is counted."""
        self._work()
        if self._thread.ident is not None:
            self._thread.join()


def batches(tasks: Iterable[Task], limit: int = BATCH) -> Iterator[Sequence[Task]]:
    """Tasks in batches of about `limit` characters; a text is never divided."""
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
