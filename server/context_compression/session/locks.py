"""Locks of a store: waited for as long as the caller wants it, or held only if they are free."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from time import monotonic, sleep
from typing import TypeAlias

from context_compression.errors import StoreError
from context_compression.threads import wait_until

Lock: TypeAlias = Callable[[float], AbstractContextManager[None]]
"""Takes the seconds to wait, and returns the lock."""


@contextmanager
def acquired(lock: Lock, seconds: float) -> Generator[None]:
    """Hold a lock of a store; a cancellation of the work ends the wait for it.

    Args:
        lock: takes the seconds to wait, and returns the lock.
        seconds: how long to wait before its `StoreError` is raised; others are raised at once.
    """
    until = monotonic() + seconds
    with ExitStack() as held:

        def is_held(limit: float | None) -> bool:
            try:
                held.enter_context(lock(seconds if limit is None else 0))
            except StoreError as error:
                if limit is None or not _is_busy(error):
                    raise
                if monotonic() > until:
                    raise StoreError(str(error).replace("0 s.", f"{seconds:g} s.")) from None
                sleep(limit)
                return False
            return True

        wait_until(is_held)
        yield


@contextmanager
def free(lock: Lock) -> Generator[bool]:
    """Hold a lock of a store if it is free; yields whether it is held.

    Raises:
        StoreError: the store cannot be used, for example because it cannot be written.
    """
    with ExitStack() as held:
        is_held = True
        try:
            held.enter_context(lock(0))
        except StoreError as error:
            if not _is_busy(error):
                raise
            is_held = False
        yield is_held


def _is_busy(error: StoreError) -> bool:
    """Whether somebody else holds the lock; otherwise, waiting for it would not help."""
    return type(error) is StoreError
