"""`/healthz`, whether the process lives, and `/readyz`, whether it can answer; without a token.

They tell a proxy where to send requests. So they say nothing about the store but whether it can be
reached; stderr says more, to the operator.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from anyio.to_thread import run_sync
from starlette.responses import JSONResponse

from context_compression.display.strings import one_line
from context_compression.errors import ContextCompressionError

LIVES, READY = "/healthz", "/readyz"
SECONDS = 2.0
"""How long the store may take for an answer."""
VALID_SECONDS = 1.0
"""How long its answer counts, so that nobody can load the store with these requests."""
DRAINING = "This server is shutting down."
UNREACHABLE = "The store cannot be reached."
SLOW = f"The store did not answer within {SECONDS:.0f} seconds."


@dataclass
class Health:
    """Whether this process can answer.

    Attributes:
        check: reads something small from the store; raises an exception if that fails.
        draining: whether the process is about to end.
    """

    check: Callable[[], object] = lambda: None
    draining: bool = False
    _reason: str = ""
    _known_until: float = 0.0
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)
    _asking: bool = False
    _told: str = ""

    async def response(self, path: str) -> JSONResponse:
        """The answer to a request for `LIVES` or `READY`."""
        reason = await self.not_ready() if path == READY else ""
        facts = {"ready" if path == READY else "lives": not reason}
        return JSONResponse(facts | ({"reason": reason} if reason else {}), 503 if reason else 200)

    async def not_ready(self) -> str:
        """Why this process cannot answer; "" if it can."""
        if self.draining:
            return DRAINING
        async with self._one_at_a_time:
            if time.monotonic() >= self._known_until:
                self._reason = await self._ask()
                self._known_until = time.monotonic() + VALID_SECONDS
        return self._reason

    async def _ask(self) -> str:
        if self._asking:  # a thread that was given up; another would hang as well
            return SLOW
        self._asking = True
        try:
            with anyio.fail_after(SECONDS):
                # a limiter of its own, because tools may have taken all other threads
                limiter = anyio.CapacityLimiter(1)
                await run_sync(self._ask_in_thread, abandon_on_cancel=True, limiter=limiter)
        except TimeoutError:
            self._say(self._told or SLOW)
            return SLOW
        except Exception:
            return UNREACHABLE
        self._told = ""
        return ""

    def tell(self, error: Exception) -> None:
        """Tells the operator why the store cannot be reached, once until it can again."""
        ours = isinstance(error, ContextCompressionError)
        self._say(str(error) if ours else type(error).__name__)

    def _say(self, why: str) -> None:
        if why != self._told:
            self._told = why
            sys.stderr.write(f"Not ready: {one_line(why, 1_000)}\n")
            sys.stderr.flush()

    def _ask_in_thread(self) -> None:
        try:
            self.check()
        except Exception as error:
            self.tell(error)  # also if it comes too late for an answer
            raise
        finally:
            self._asking = False
