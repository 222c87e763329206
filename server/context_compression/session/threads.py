"""Async versions of plain functions, which do their work in threads.

Counting 200,000 tokens takes half a second, and an event loop must continue meanwhile.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from inspect import signature
from time import monotonic
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from context_compression.errors import StoreError
from context_compression.session.pacing import POLL_SECONDS

T = TypeVar("T")
Arguments = ParamSpec("Arguments")
"""Errors of a lock that no waiting mends."""
Async: TypeAlias = Callable[Arguments, Coroutine[Any, Any, T]]


def same_signature_as(
    plain: Callable[Arguments, T],
) -> Callable[[Callable[..., Coroutine[Any, Any, T]]], Async[Arguments, T]]:
    """Marks an async function that takes the same arguments as a plain one."""

    def marked(twin: Callable[..., Coroutine[Any, Any, T]]) -> Async[Arguments, T]:
        vars(twin)["__signature__"] = signature(plain)
        return cast("Async[Arguments, T]", twin)

    return marked


async def in_thread(work: Callable[[], T]) -> T:
    """The return value of `work`, computed in a thread.

    A thread cannot be stopped. So a cancellation waits until the work is done, even a cancellation
    by the event loop itself. Nothing is written after the caller continues.
    """
    from anyio import create_task_group

    ended: list[Callable[[], T]] = []
    async with create_task_group() as group:  # anyio always waits for the thread of a child task
        group.start_soon(_note, work, ended)
    return ended[0]()


async def _note(work: Callable[[], T], ended: list[Callable[[], T]]) -> None:
    from anyio.to_thread import run_sync

    try:
        result = await run_sync(work)
    except Exception as error:
        failure = error

        def fail() -> T:
            raise failure

        ended.append(fail)
    else:
        ended.append(lambda: result)


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


def check_cancelled() -> None:
    """Stop the work of `in_thread` in this thread if its task was cancelled.

    Call this before the work changes anything.
    """
    from anyio.from_thread import check_cancelled

    check_cancelled()
