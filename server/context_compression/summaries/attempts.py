"""Calls to a model until it has written a summary: retries, one deadline, the price of all.

All summarizers that call a model have the same rules. The retries of the providers' clients are
off: they would multiply the calls, and an MCP client waits only a limited time for an answer.
"""

import importlib
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import anyio
import anyio.to_thread

from context_compression.errors import SummaryError
from context_compression.summaries.errors import Failure
from context_compression.summaries.summarizer import Summarizer, SummaryReply, SummaryRequest, asked
from context_compression.tokens.prices import Price


class InTime:
    """Wraps a `Summarizer` with a time limit for each request; that of a request's own comes first.

    A request that takes longer counts as an attempt. It is repeated only if the settings chose the
    limit: otherwise an agent waits for its tool, and its client might give up.
    """

    @property
    def provider(self) -> Any:
        """The API of the wrapped summarizer, if it names one."""
        return getattr(self._other, "provider", None)

    @property
    def model(self) -> Any:
        """The model of the wrapped summarizer, if it names one."""
        return getattr(self._other, "model", None)

    def __init__(self, other: Summarizer, seconds: float | None = None) -> None:
        """The limit is `seconds`; `None` for none but that of a request."""
        self._other, self._seconds = other, seconds

    async def summarize(self, request: SummaryRequest) -> Any:
        """The summary for a request.

        Raises:
            SummaryError: no summary, or not in time.
        """
        seconds = request.seconds or self._seconds
        with anyio.move_on_after(seconds):
            return await asked(self._other, request)
        raise SummaryError(
            f"No summary within {seconds:g} s. Set summary_model to a faster model, or "
            "summary_seconds to more.",
            retryable=request.seconds is not None,
        )


logger = logging.getLogger(__name__)
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the second call, doubled for each further call; and the longest pause. Both are
the values of the clients, without their random part.
"""
DEADLINE_SECONDS = 25.0
"""Default time limit for all attempts together."""
TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")

Connection: TypeAlias = AbstractAsyncContextManager[Any]
Call: TypeAlias = Callable[[Any, str, SummaryRequest], Awaitable[SummaryReply | Failure]]
"""One call, given the client, the id of the model and the request."""


async def imported(package: str) -> Any:
    """The package of a provider's client.

    It is imported in a thread: the first import takes 1.5 s (measured), and the event loop must
    continue.

    Raises:
        SummaryError: the package is not installed.
    """
    try:
        return await anyio.to_thread.run_sync(importlib.import_module, package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
    raise SummaryError(
        f"The package {package} is missing, which asks the model for the summary. Install it: "
        f"pip install '.[{package}]'.",
        retryable=False,
    )


def client_at(base_url: str, make: Callable[..., Any], key: str) -> Any:
    """The client of a provider for an address.

    Raises:
        SummaryError: the client cannot use the address, which is not told: it may hold a password.
    """
    if re.match("https?://.", base_url):
        with suppress(Exception):  # of httpx or httpx2
            return make(api_key=key, base_url=base_url, max_retries=0)
    raise SummaryError(
        "The base URL of the summary's model is no address. Write it with its scheme, for "
        "example http://localhost:11434/v1.",
        retryable=False,
    )


@dataclass(frozen=True)
class Attempts:
    """The rules for the calls of a summarizer.

    Attributes:
        price: of the model; without it, a reply has its tokens, but no `cost`.
        deadline_seconds: for all attempts together; `None` for no deadline.
        sleep: waits between attempts, given seconds.
    """

    price: Price | None
    deadline_seconds: float | None
    sleep: Callable[[float], Awaitable[None]]

    async def reply(
        self, request: SummaryRequest, model: str, connection: Connection, call: Call
    ) -> SummaryReply:
        """The summary, after at most `request.attempts` calls, with the tokens of all of them.

        Raises:
            SummaryError: no call gave a summary, or the deadline passed.
        """
        with anyio.move_on_after(self.deadline_seconds) as scope:
            async with connection as client:
                until = min(scope.deadline, anyio.current_effective_deadline())
                return await self._with_retries(until, client, model, request, call)
        raise SummaryError(
            f"No summary within {self.deadline_seconds:g} s from {model}. Try again later, or "
            "set summary_model to a faster model.",
            retryable=False,
        )

    async def _with_retries(
        self, deadline: float, client: Any, model: str, request: SummaryRequest, call: Call
    ) -> SummaryReply:
        """Call the model until it succeeds, a retry is pointless, or no pause fits the deadline."""
        attempt = 1
        failed: list[SummaryReply] = []  # answered calls without a summary have a cost, too
        while not isinstance(answer := await call(client, model, request), SummaryReply):
            if answer.spent:
                failed.append(answer.spent)
            pause = answer.wait_seconds or min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE)
            in_time = anyio.current_time() + pause < deadline
            if not (answer.retryable and attempt < request.attempts and in_time):
                text = answer.text + (f" Asked {attempt} times." if attempt > 1 else "")
                raise SummaryError(
                    text,
                    retryable=answer.retryable,
                    too_long=answer.too_long,
                    attempts=attempt,
                    window=answer.window,
                    used=answer.used,
                )
            logger.info("asking again in %g s: %s", pause, answer.text)
            await self.sleep(pause)
            attempt += 1
        total = replace(answer, **{name: _sum_of(name, answer, *failed) for name in TOKEN_FIELDS})
        return replace(total, cost=self.price.of(total)) if self.price else total


def _sum_of(name: str, *replies: SummaryReply) -> int:
    return sum(getattr(reply, name) for reply in replies)
