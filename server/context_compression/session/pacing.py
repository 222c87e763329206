"""When a session may compress: not while a request runs, not again and again for little.

And what it tells of it: an `Event` before and after.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from threading import Condition, get_ident
from typing import Literal, TypeAlias

Reason: TypeAlias = Literal["threshold", "overflow", "thinking", "manual"]
GROWTH = 1.05
"""By how much a view must have grown since a compression before the next one that nobody asked for.

One that leaves less room than that below the threshold would else be followed by another at every
request, each with the prompt cache gone and the newest results taken out of view.
"""
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Event:
    """The start or the end of a compression.

    Attributes:
        kind: `start` or `end`.
        reason: the threshold, a request refused as too long or for thinking that is not valid any
            more, or somebody asked.
        tokens_before: of the view.
        tokens_after: at the end.
        aborted: whether it was cancelled or failed; `error` says how.
        will_retry: whether the refused request should be sent again.
        first_kept: index of the first message after what a summary covers.
        cost: of the summary in dollars, where the summarizer was told a price.
        usage: tokens its calls took, by the names of `SummaryReply`, and the cost.
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
        """While the agent's request runs; `abort` cuts it short when somebody wants to compress.

        It waits for a compression, but not for one of this very thread.
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
        """While somebody compresses: the request that runs is aborted or waited for; none begins.

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
        """Begin a request, where nobody is in the way; `besides` is a thread that never is."""
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
        """Whether the view has grown enough since the last compression for another, unasked."""
        self._left = min(self._left, tokens)  # it was rewound
        return tokens > GROWTH * self._left

    def tried(self, tokens_after: int) -> None:
        """How large a compression left the view, or found it if it failed."""
        self._left = tokens_after

    def answered(self) -> None:
        """The model answered: the next refusal may be recovered from again."""
        self._recovered.clear()

    def may_recover(self, reason: Reason) -> bool:
        """Whether a request refused so may be tried again: once until the model answers."""
        first = reason not in self._recovered
        self._recovered.add(reason)
        return first


async def _until(ready: Callable[[], bool]) -> None:
    """Until it is so; other threads bring it about, so the event loop has to look."""
    from anyio import sleep

    while True:
        if ready():
            return
        await sleep(POLL_SECONDS)
