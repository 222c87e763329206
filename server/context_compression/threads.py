"""Async versions of plain functions, which do their work in threads.

Counting 200,000 tokens takes half a second, and an event loop must continue meanwhile. What the
work needs of the event loop, it asks there: a model, or a function of the caller's. So there is one
way to do each thing, and an `a` before its name only says where it is done.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import cache, partial
from inspect import signature
from math import inf
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    import asyncio

    from anyio import CapacityLimiter
    from anyio.lowlevel import RunVar

T = TypeVar("T")
Arguments = ParamSpec("Arguments")
Async: TypeAlias = Callable[Arguments, Coroutine[Any, Any, T]]
AT_ONCE = 40
"""How many calls of `in_thread` compute at once in one event loop. Those that wait do not count."""
POLL_SECONDS = 0.02
"""Interval at which to check whether another thread or process is done."""


def twin_of(plain: Callable[Arguments, T]) -> Async[Arguments, T]:
    """The version of a function, or of a method, for an event loop: the same in a thread.

    Of a method, it runs the one that its object has: that of a subclass, for example.
    """
    in_class = "." in plain.__qualname__

    async def twin(*given: Any, **options: Any) -> T:
        if in_class:
            own = getattr(given[0], plain.__name__)
            return await in_thread(partial(own, *given[1:], **options))
        return await in_thread(partial(plain, *given, **options))

    twin.__name__, twin.__module__ = f"a{plain.__name__}", plain.__module__
    twin.__qualname__ = f"{plain.__qualname__.rpartition('.')[0]}.{twin.__name__}".lstrip(".")
    twin.__doc__ = f"`{plain.__name__}` for an event loop."
    vars(twin)["__signature__"] = signature(plain)
    return cast("Async[Arguments, T]", twin)


_caller: ContextVar["_EventLoop | OwnLoop | None"] = ContextVar("caller", default=None)
_hook: ContextVar[Callable[[], object] | None] = ContextVar("before writing", default=None)


def _for_nobody() -> None:
    """From here on, this context works for nobody; for code of the caller's."""
    _caller.set(None)
    _hook.set(None)


async def in_thread(work: Callable[[], T]) -> T:
    """The return value of `work`, computed in a thread.

    A thread cannot be stopped. So a cancellation waits until the work is done, even a cancellation
    by the event loop itself. Nothing is written after the caller continues. Work that waits for a
    model is cancelled there, and work that waits for a lock ends at once.
    """
    from anyio import create_task_group

    ended: list[Callable[[], T]] = []
    async with create_task_group() as group:  # anyio always waits for the thread of a child task
        group.start_soon(_worked, work, ended)
    return ended[0]()


async def _worked(work: Callable[[], T], ended: list[Callable[[], T]]) -> None:
    from anyio.to_thread import run_sync

    limits = _limits()
    loop = _EventLoop(limits.places)

    def noted() -> None:
        _caller.set(loop)  # in this thread's copy of the context
        try:
            result = work()
        except BaseException as error:
            failure = error

            def fail() -> T:
                raise failure

            ended.append(fail)
        else:
            ended.append(lambda: result)

    async with loop:
        await run_sync(noted, limiter=limits.threads)


class _Limits:
    """The threads of one event loop, and the places of those that compute."""

    def __init__(self) -> None:
        from anyio import CapacityLimiter

        self.threads, self.places = CapacityLimiter(inf), CapacityLimiter(AT_ONCE)


def _limits() -> _Limits:
    """The limits of this event loop."""
    limits = _limits_of_loops()
    if (known := limits.get(None)) is None:
        limits.set(known := _Limits())
    return known


@cache
def _limits_of_loops() -> "RunVar[_Limits | None]":
    from anyio.lowlevel import RunVar

    return RunVar("context_compression.limits")


def at_work() -> int:
    """How many threads work for this event loop."""
    return _limits().threads.borrowed_tokens


class _EventLoop:
    """The event loop for which a thread of `in_thread` works; the thread has one of its places."""

    def __init__(self, places: "CapacityLimiter") -> None:
        self._places, self._has_place = places, False

    async def __aenter__(self) -> None:
        await self._places.acquire_on_behalf_of(self)
        self._has_place = True

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    async def _come_back(self) -> None:
        """Take a place again, even if the work is cancelled: it must end."""
        from anyio import CancelScope

        with CancelScope(shield=True):
            await self.__aenter__()

    def _leave(self) -> None:
        if self._has_place:
            self._has_place = False
            self._places.release_on_behalf_of(self)

    def check(self) -> None:
        """End the work if it was cancelled."""
        from anyio.from_thread import check_cancelled

        check_cancelled()

    def ask(self, function: Callable[[], Awaitable[T]]) -> T:
        from asyncio import CancelledError
        from concurrent import futures

        from anyio.from_thread import run

        self.check()
        try:
            return run(self._asked, function)
        except futures.CancelledError:
            self.check()
            raise CancelledError from None

    async def _asked(self, function: Callable[[], Awaitable[T]]) -> T:
        _for_nobody()
        self._leave()
        try:
            return await function()
        finally:
            await self._come_back()

    def tell(self, function: Callable[[], object]) -> None:
        from anyio.from_thread import run_sync

        context = copy_context()
        context.run(_for_nobody)
        run_sync(context.run, function)

    @contextmanager
    def waiting(self) -> Generator[None]:
        from anyio.from_thread import run, run_sync

        run_sync(self._leave)
        try:
            yield
        finally:
            run(self._come_back)


class OwnLoop:
    """An event loop of this thread, in which it asks models; `cancel` ends what is asked."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner:
            self._runner.close()

    def check(self) -> None:
        """Raise `CancelledError` if another thread cancelled the work of this one."""
        from asyncio import CancelledError

        if self._is_cancelled:
            raise CancelledError

    def cancel(self) -> None:
        """End what is asked, and the work with it; may be called from any thread."""
        self._is_cancelled = True
        if task := self._task:
            with suppress(RuntimeError):  # its loop is closed
                task.get_loop().call_soon_threadsafe(task.cancel)

    def ask(self, function: Callable[[], Awaitable[T]]) -> T:
        """The answer of an async function."""
        import asyncio  # it imports sockets, which only a model needs

        self._runner = self._runner or asyncio.Runner()
        return self._runner.run(self._asked(function))

    async def _asked(self, function: Callable[[], Awaitable[T]]) -> T:
        import asyncio

        _for_nobody()
        self._task = asyncio.current_task()
        try:
            self.check()
            return await function()
        finally:
            self._task = None

    def tell(self, function: Callable[[], object]) -> None:
        """Call a function in this thread."""
        function()

    def waiting(self) -> AbstractContextManager[None]:
        """Nobody else needs this thread."""
        return nullcontext()


@contextmanager
def working_for(caller: OwnLoop) -> Generator[None]:
    """Meanwhile, this thread works for somebody."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


@contextmanager
def whom_to_ask() -> Generator[_EventLoop | OwnLoop]:
    """The caller of this thread's work; an event loop of its own if there is none."""
    if caller := _caller.get():
        yield caller
    else:
        with OwnLoop() as own:
            yield own


def ask(function: Callable[[], Awaitable[T]]) -> T:
    """The answer of an async function, from the caller's event loop."""
    with whom_to_ask() as caller:
        return caller.ask(function)


def tell(function: Callable[[], object]) -> None:
    """Call a function of the caller's, in the caller's event loop if there is one."""
    if caller := _caller.get():
        caller.tell(function)
    else:
        function()


def check_cancelled() -> None:
    """End this thread's work if it was cancelled."""
    if caller := _caller.get():
        caller.check()


def about_to_write() -> None:
    """Call this before the work changes anything: a cancelled one ends here."""
    check_cancelled()
    if hook := _hook.get():
        hook()


@contextmanager
def before_writing(hook: Callable[[], object]) -> Generator[None]:
    """Meanwhile, `hook` is called before anything is written; if it raises, nothing changes."""
    outer = _hook.get()

    def both() -> None:
        if outer:
            outer()
        hook()

    token = _hook.set(both)
    try:
        yield
    finally:
        _hook.reset(token)


def wait_until(ready: Callable[[float | None], bool]) -> None:
    """Wait for another thread or process; a cancellation of the work ends that.

    Args:
        ready: waits for at most so many seconds (`None`: as long as it takes); returns whether what
            it waits for came about.
    """
    caller = _caller.get()
    if caller is None:
        ready(None)
    elif not ready(0):
        with caller.waiting():
            while not ready(POLL_SECONDS):
                caller.check()
