"""When a session may compress: not during a request, and not at every request for a small gain.

`Event` announces the start and the end of a compression.
"""

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Condition, get_ident
from typing import Literal, TypeAlias

from context_compression.threads import tell, wait_until

logger = logging.getLogger(__name__)
Reason: TypeAlias = Literal["threshold", "overflow", "thinking", "manual", "background"]
GROWTH = 1.05
"""Factor by which a view must have grown since a compression before the next automatic one.

Without it, a compression that leaves little room below the threshold would be followed by another
at every request. Each would empty the prompt cache and take the newest results out of view.
"""


@dataclass(frozen=True)
class Event:
    """The start or the end of a compression.

    Attributes:
        kind: `start` or `end`.
        reason: `threshold`: it was due; `overflow`: a request was refused as too long; `thinking`:
            a request was refused because its thinking is no longer valid; `manual`: the caller
            requested it; `background`: it is prepared beside the agent's work, and the events of
            `threshold` tell when it is written.
        tokens_before: of the view.
        tokens_after: of the view at the end.
        aborted: whether it was cancelled or failed.
        will_retry: whether the refused request should be sent again.
        first_kept: index in the recorded history of the first message that a summary does not
            cover.
        cost: of the summary in US dollars, if the summarizer knows a price.
        error: why it was aborted, or why it has no summary although one was asked for.
        usage: tokens of the summary's calls, by the names of `SummaryReply`, and the cost.
        session: the id of the session.
        strategy: the strategy that made the view; `"none"` if nothing was compressed, and "" before
            that is known.
        files_removed: the paths of offloaded files that were deleted.
        missed: why the context is larger than its target, in plain words; "" if it is not.
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
    session: str = ""
    strategy: str = ""
    files_removed: tuple[str, ...] = ()
    missed: str = ""


class Announcer:
    """Calls `on_event`, in the caller's event loop if there is one. Its first error is logged.

    Attributes:
        on_event: the function.
        no_summary: why the last compression has no summary; "" if it has one, or needs none.
    """

    def __init__(self, on_event: Callable[[Event], object], no_summary: str = "") -> None:
        self.on_event, self.no_summary = on_event, no_summary
        self._has_failed = False

    def __call__(self, event: Event) -> None:
        """Announce an event."""
        if event.error or event.strategy not in ("", "none"):
            self.no_summary = (event.error or "") if event.strategy else self.no_summary
        try:
            tell(partial(self.on_event, event))
        except Exception as error:
            if not self._has_failed:
                why = str(error) or type(error).__name__
                logger.warning("session %s: on_event failed: %s", event.session, why)
            self._has_failed = True


class Pace:
    """Keeps one session's requests and compressions apart, and prevents loops of compressions."""

    def __init__(self) -> None:
        self._free = Condition()
        self._holder: int | None = None
        self._claims: list[int] = []
        self._abort: Callable[[], object] | None = None
        self._left = 0
        self._recovered: set[Reason] = set()

    @contextmanager
    def request(self, abort: Callable[[], object] | None = None) -> Generator[None]:
        """Enclose the agent's request; a compression calls `abort` to cut it short.

        The request waits for a running compression, unless this thread itself runs it.
        """
        begins = partial(self._begins, abort, besides=get_ident())
        wait_until(partial(self._waited, begins))
        with self._ending():
            yield

    @contextmanager
    def compressing(self) -> Generator[None]:
        """Enclose a compression: a running request is aborted or waited for, and none begins.

        A request of the same thread is not waited for.
        """
        with self._claimed():
            thread = get_ident()
            wait_until(partial(self._waited, lambda: self._holder in (None, thread)))
            yield

    def _waited(self, ready: Callable[[], bool], seconds: float | None) -> bool:
        with self._free:
            return self._free.wait_for(ready, seconds)

    def _begins(self, abort: Callable[[], object] | None, besides: int | None = None) -> bool:
        """Begin a request if none runs and no compression runs or waits; returns whether it began.

        Claims of the thread `besides` do not count.
        """
        with self._free:
            free = self._holder is None and all(thread == besides for thread in self._claims)
            if free:
                self._holder, self._abort = get_ident(), abort
            return free

    @contextmanager
    def _ending(self) -> Generator[None]:
        """Ends the request on exit."""
        try:
            yield
        finally:
            with self._free:
                self._holder = self._abort = None
                self._free.notify_all()

    @contextmanager
    def _claimed(self) -> Generator[None]:
        """Lets no request begin, not even the aborted one again; aborts the running request."""
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
        """Record the size of the view after a compression, even a failed one."""
        self._left = tokens_after

    def answered(self) -> None:
        """Record that the model answered, so that the next refusal may be recovered from."""
        self._recovered.clear()

    def may_recover(self, reason: Reason) -> bool:
        """Whether a refused request may be retried for a reason: once until the model answers."""
        first = reason not in self._recovered
        self._recovered.add(reason)
        return first
