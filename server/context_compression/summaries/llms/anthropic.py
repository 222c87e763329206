"""Summaries by a Claude model over the Anthropic Messages API.

This module has its own retries and its own deadline. The retries of the SDK would multiply the
calls, and an MCP client waits only a limited time for an answer. The first summary imports the SDK.
"""

import importlib
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from context_compression.errors import SummaryError
from context_compression.summaries.llms.failures import Failure, explained, why_no_summary
from context_compression.summaries.llms.prices import Price
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from anthropic.types import Message

logger = logging.getLogger(__name__)
BASE_URL = "https://api.anthropic.com"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the second call, doubled for each further call; and the longest pause. Both are
the values of the SDK, without its random part.
"""
DEADLINE_SECONDS = 25.0
"""Default time limit for all attempts together."""
TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class AnthropicSummarizer:
    """A `Summarizer` that lets a Claude model write the summary.

    `AnthropicSummarizer("claude-haiku-4-5", price=Price(input=1, output=5))`
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        client: Any = None,
        price: Price | None = None,
        environ: Mapping[str, str] | None = None,
        deadline_seconds: float | None = DEADLINE_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """A summarizer; the first summary imports the SDK and connects it.

        Args:
            model: the id of the model that writes; default: the model of the request.
            client: an `AsyncAnthropic` or its counterpart for another cloud; it is not closed.
            price: of the model; without it, a summary has its tokens, but no `cost`.
            environ: variables from which `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` are read if
                there is no client; default: the environment of the process.
            deadline_seconds: for all attempts together; `None` for no deadline.
            sleep: waits between attempts, given seconds.
        """
        self._model = model
        self._client = client
        self._price = price
        self._environ = os.environ if environ is None else environ
        self._deadline_seconds = deadline_seconds
        self._sleep = sleep

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary, after at most `request.attempts` calls, with the tokens of all of them.

        Raises:
            SummaryError: there is no model or key, no call gave a summary, or the deadline passed.
        """
        model = self._model or request.model
        if not model:
            raise SummaryError(
                "No model to write the summary: set summary_model to the id of a Claude model.",
                retryable=False,
            )
        with anyio.move_on_after(self._deadline_seconds) as scope:
            async with self._connected() as client:
                return await self._with_retries(scope.deadline, client, model, request)
        raise SummaryError(
            f"No summary within {self._deadline_seconds:g} s from {model}. Try again later, or "
            "set summary_model to a faster model.",
            retryable=False,
        )

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Any]:
        """The caller's client, or a new one: a client must not outlive its event loop."""
        # in a thread: the first import takes 1.5 s (measured), and the event loop must continue
        await anyio.to_thread.run_sync(importlib.import_module, "anthropic")
        from anthropic import AsyncAnthropic

        if self._client is not None:
            yield self._client.with_options(max_retries=0)
            return
        key = self._environ.get("ANTHROPIC_API_KEY", "").strip()
        if not key:
            raise SummaryError(
                "No key for the summary's model: set ANTHROPIC_API_KEY, or hand in a client.",
                retryable=False,
            )
        # not None, or the SDK would read os.environ
        base_url = self._environ.get("ANTHROPIC_BASE_URL") or BASE_URL
        async with AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0) as client:
            yield client

    async def _with_retries(
        self, deadline: float, client: Any, model: str, request: SummaryRequest
    ) -> SummaryReply:
        """Call the model until it succeeds, a retry is pointless, or no pause fits the deadline."""
        attempt = 1
        failed: list[SummaryReply] = []  # answered calls without a summary have a cost, too
        while not isinstance(answer := await _call(client, model, request), SummaryReply):
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
                )
            logger.info("asking again in %g s: %s", pause, answer.text)
            await self._sleep(pause)
            attempt += 1
        total = replace(answer, **{name: _sum_of(name, answer, *failed) for name in TOKEN_FIELDS})
        return replace(total, cost=self._price.of(total)) if self._price else total


async def _call(client: Any, model: str, request: SummaryRequest) -> SummaryReply | Failure:
    """One call. It is streamed: proxies may time out before a long answer is complete."""
    try:
        async with client.messages.stream(
            model=model,
            max_tokens=request.max_tokens,
            system=request.system,
            messages=[{"role": "user", "content": request.prompt}],
        ) as stream:
            message = await stream.get_final_message()
    except Exception as error:  # in a stream, the SDK does not wrap errors of httpx2
        return explained(error, client, model)
    reply = _reply(message)
    failure = why_no_summary(message, reply.text, model)
    return replace(failure, spent=reply) if failure else reply


def _reply(message: "Message") -> SummaryReply:
    """The text of an answer, and the tokens of the call."""
    usage = message.usage
    read = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    return SummaryReply(
        "".join(block.text for block in message.content if block.type == "text").strip(),
        model=message.model,
        input_tokens=usage.input_tokens + read + written,
        output_tokens=usage.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _sum_of(name: str, *replies: SummaryReply) -> int:
    return sum(getattr(reply, name) for reply in replies)
