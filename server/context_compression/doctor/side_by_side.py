"""Checks of several hosts at the same time; what concerns them all is done once."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from context_compression.progress import counted

T = TypeVar("T")
U = TypeVar("U")


class Once:
    """Does the work for a key once, and gives all who ask for it the same outcome."""

    def __init__(self) -> None:
        self._outcomes: dict[object, Future[Any]] = {}
        self._lock = Lock()

    def of(self, key: object, work: Callable[[], T]) -> T:
        """The outcome of the work, which may be an exception."""
        with self._lock:
            is_first = key not in self._outcomes
            outcome: Future[T] = self._outcomes.setdefault(key, Future())
        if is_first:
            try:
                outcome.set_result(work())
            except BaseException as error:  # those who wait for it get it too
                outcome.set_exception(error)
        return outcome.result()


def side_by_side(work: Callable[[T], U], items: Sequence[T], stage: str = "") -> list[U]:
    """The outcome for each item; all are worked on at the same time, as a stage of progress."""
    with ThreadPoolExecutor(max_workers=max(1, len(items))) as pool:
        return list(counted(stage, pool.map(work, items), len(items)))
