"""The way into event loops: twins of plain functions, whose work is done in threads.

Counting 200,000 tokens takes half a second, and a loop must go on meanwhile.
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
    """Marks an async function that takes the very arguments of a plain one."""

    def marked(twin: Callable[..., Coroutine[Any, Any, T]]) -> Async[Arguments, T]:
        vars(twin)["__signature__"] = signature(plain)
        return cast("Async[Arguments, T]", twin)

    return marked


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns, worked out in a thread.

    Nobody can stop a thread, so a cancellation, an event loop's own too, waits until it is done:
    what it writes is never written behind the back of who has gone on.
    """
    from anyio import create_task_group

    ended: list[Callable[[], T]] = []
    async with create_task_group() as group:  # only a child's thread is waited for in any case
        group.start_soon(_note, work, ended)
    return ended[0]()


async def _note(work: Callable[[], T], ended: list[Callable[[], T]]) -> None:
    from anyio.to_thread import run_sync

    try:
        found = await run_sync(work)
    except Exception as error:
        failure = error

        def fail() -> T:
            raise failure

        ended.append(fail)
    else:
        ended.append(lambda: found)


def check_cancelled() -> None:
    """Asked in such a thread before it changes anything: once cancelled, it ends here."""
    from anyio.from_thread import check_cancelled

    check_cancelled()
