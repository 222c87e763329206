"""Async versions of plain functions, which do their work in threads.

Counting 200,000 tokens takes half a second, and an event loop must continue meanwhile.
"""

from collections.abc import Callable, Coroutine
from inspect import signature
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

T = TypeVar("T")
Arguments = ParamSpec("Arguments")
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


def check_cancelled() -> None:
    """Stop the work of `in_thread` in this thread if its task was cancelled.

    Call this before the work changes anything.
    """
    from anyio.from_thread import check_cancelled

    check_cancelled()
