"""When a session may compress: not while a request runs, and not at every request for little.

`Event` announces the start and the end of a compression.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from threading import Condition, get_ident
from typing import Literal, TypeAlias

Reason: TypeAlias = Literal["threshold", "overflow", "thinking", "manual"]
GROWTH = 1.05
"""Factor by which a view must have grown since a compression before the next automatic one.

A compression that leaves less room than that below the threshold would otherwise be followed by
another at every request. Each would empty the prompt cache and take the newest results out of view.
"""
POLL_SECONDS = 0.02
"""Between two looks whether another thread or process is done."""


@dataclass(frozen=True)
class Event:
    """The start or the end of a compression.

    Attributes:
        kind: `start` or `end`.
        reason: `threshold`: it was due; `overflow`: a request was refused as too long; `thinking`:
            one was refused for thinking that is no longer valid; `manual`: the caller wanted it.
        tokens_before: of the view.
        tokens_after: of the view at the end.
        aborted: whether it was cancelled or failed.
        will_retry: whether the refused request should be sent again.
        first_kept: index of the first message behind those that a summary covers.
        cost: of the summary in dollars, where the summarizer knows a price.
        error: how it was aborted.
        usage: tokens of the summary's calls, by the names of `SummaryReply`, and the cost.
    """

    kind: Literal["start", "end"]
    reason: Reason
    tokens_before: int = 0
    tokens_after: int = 0
    aborted: bool = False
    will_retry: bool = False
    first_kept: int | None = None
    cost: float | None = None
    error: str | None = None
    usage: Mapping[str, float | None] | None = None


class Pace:
    """Keeps one session's requests and compressions apart, and compressions from looping."""

    def __init__(self) -> None:
        self._free = Condition()
        self._holder: int | None = None
        self._claims: list[int] = []
        self._abort: Callable[[], object] | None = None
        self._left = 0
        self._recovered: set[Reason] = set()

    @contextmanager
    def request(self, abort: Callable[[], object] | None = None) -> Generator[None]:
        """While the agent's request runs; a compression calls `abort` to cut it short.

        The request waits for a running compression, but not for one of this very thread.
        """
        with self._free:
            self._free.wait_for(lambda: self._begins(abort, besides=get_ident()))
        with self._ending():
            yield

    @asynccontextmanager
    async def arequest(self, abort: Callable[[], object] | None = None) -> AsyncGenerator[None]:
        """`request` for an event loop, which goes on while this one waits."""
        await _until(lambda: self._begins(abort))
        with self._ending():
            yield

    @contextmanager
    def compressing(self) -> Generator[None]:
        """While a compression runs: a running request is aborted or waited for; none begins.

        A request of this very thread cannot be waited for.
        """
        with self._claimed():
            with self._free:
                self._free.wait_for(lambda: self._holder in (None, get_ident()))
            yield

    @asynccontextmanager
    async def acompressing(self) -> AsyncGenerator[None]:
        """`compressing` for an event loop."""
        with self._claimed():
            await _until(lambda: self._holder is None)
            yield

    def _begins(self, abort: Callable[[], object] | None, besides: int | None = None) -> bool:
        """Begin a request if none runs and no compression claims the turn; returns whether it did.

        Claims of the thread `besides` do not count.
        """
        with self._free:
            free = self._holder is None and all(thread == besides for thread in self._claims)
            if free:
                self._holder, self._abort = get_ident(), abort
            return free

    @contextmanager
    def _ending(self) -> Generator[None]:
        """The request is over when this is left."""
        try:
            yield
        finally:
            with self._free:
                self._holder = self._abort = None
                self._free.notify_all()

    @contextmanager
    def _claimed(self) -> Generator[None]:
        """No request begins from here on: not the one just aborted either, before its turn."""
        thread = get_ident()
        with self._free:
            self._claims.append(thread)
            abort = self._abort
        try:
            if abort is not None:
                abort()
            yield
        finally:
            with self._free:
                self._claims.remove(thread)
                self._free.notify_all()

    def worth_trying(self, tokens: int) -> bool:
        """Whether the view has grown enough since the last compression for an automatic one."""
        self._left = min(self._left, tokens)  # the view is smaller after a rewind
        return tokens > GROWTH * self._left

    def tried(self, tokens_after: int) -> None:
        """Note how large a compression left the view; a failed one leaves it as it was."""
        self._left = tokens_after

    def answered(self) -> None:
        """Note that the model answered: the next refusal may be recovered from again."""
        self._recovered.clear()

    def may_recover(self, reason: Reason) -> bool:
        """Whether a refused request may be retried for a reason: once until the model answers."""
        first = reason not in self._recovered
        self._recovered.add(reason)
        return first


async def _until(ready: Callable[[], bool]) -> None:
    """Wait until it is so; other threads bring it about, so the event loop has to look."""
    from anyio import sleep

    while True:
        if ready():
            return
        await sleep(POLL_SECONDS)
