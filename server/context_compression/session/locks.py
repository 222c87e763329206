"""Locks of a store: waited for without blocking an event loop, or held only if they are free."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from time import monotonic

from context_compression.errors import StoreError
from context_compression.session.pacing import POLL_SECONDS


@asynccontextmanager
async def acquired(
    lock: Callable[[float], AbstractContextManager[None]], seconds: float
) -> AsyncGenerator[None]:
    """Hold a lock of a store, waiting for it without blocking the event loop.

    Args:
        lock: takes the seconds to wait, and returns the lock.
        seconds: how long to wait before its `StoreError` is raised; others are raised at once.
    """
    from anyio import sleep

    until = monotonic() + seconds
    while True:
        with ExitStack() as stack:
            try:
                stack.enter_context(lock(0))
            except StoreError as error:
                if not _is_busy(error) or monotonic() > until:
                    raise
            else:
                yield
                return
        await sleep(POLL_SECONDS)


@contextmanager
def free(lock: Callable[[float], AbstractContextManager[None]]) -> Generator[bool]:
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
