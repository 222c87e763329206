"""Summaries by a Claude model over the Anthropic Messages API.

The first summary imports the SDK; retries and the deadline are those of `attempts.py`.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

from context_compression.errors import SummaryError
from context_compression.summaries.attempts import (
    DEADLINE_SECONDS,
    Attempts,
    Price,
    client_at,
    imported,
)
from context_compression.summaries.chat_completions import whole_answer
from context_compression.summaries.errors import (
    Failure,
    Provider,
    called_a_tool,
    cut_off,
    empty,
    explained,
    refused,
    unfinished,
)
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from anthropic.types import Message


BASE_URL = "https://api.anthropic.com"
ANTHROPIC = Provider(
    key="ANTHROPIC_API_KEY",
    client="AsyncAnthropic",
    model_advice="Set summary_model to the id of a Claude model.",
)


class AnthropicSummarizer:
    """A `Summarizer` that lets a Claude model write the summary.

    `AnthropicSummarizer("claude-haiku-4-5", price=Price(input=1, output=5))`

    Attributes:
        provider: the API, as `Settings.summarizer` names it.
        model: the id of the model that writes, if it was given.
    """

    provider = "anthropic"

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
        self.model = model
        self._client = client
        self._environ = os.environ if environ is None else environ
        self._attempts = Attempts(price, deadline_seconds, sleep)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary, after at most `request.attempts` calls, with the tokens of all of them.

        Raises:
            SummaryError: there is no model or key, no call gave a summary, or the deadline passed.
        """
        model = self.model or request.model
        if not model:
            raise SummaryError(
                "No model to write the summary: set summary_model to the id of a Claude model.",
                retryable=False,
            )
        return await self._attempts.reply(request, model, self._connected(), _call)

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Any]:
        """The caller's client, or a new one: a client must not outlive its event loop."""
        anthropic = await imported("anthropic")
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
        async with client_at(base_url, anthropic.AsyncAnthropic, key) as client:
            yield client


async def _call(client: Any, model: str, request: SummaryRequest) -> SummaryReply | Failure:
    """One call. It is streamed: proxies may time out before a long answer is complete."""
    try:
        anthropic = await imported("anthropic")
        async with client.messages.stream(
            model=model,
            max_tokens=request.max_tokens,
            system=request.system,
            messages=[{"role": "user", "content": request.prompt}],
        ) as stream:
            if whole := await whole_answer(stream, "content", anthropic.APIError):
                message = anthropic.types.Message.model_validate(whole)
            else:
                message = await stream.get_final_message()
    except Exception as error:  # in a stream, the SDK does not wrap errors of httpx2
        return explained(error, client, model, ANTHROPIC)
    reply = _reply(message)
    failure = _why_no_summary(message.stop_reason, reply.text, model)
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


def _why_no_summary(stop_reason: str | None, text: str, model: str) -> Failure | None:
    """The reason why a complete answer contains no summary; `None` if it does."""
    match stop_reason:
        case "max_tokens":
            return cut_off(model)
        case "model_context_window_exceeded":
            return Failure(
                f"The summary of {model} was cut off at the end of its window. Summarise less at "
                "once.",
                retryable=False,
                too_long=True,
            )
        case "refusal":
            return refused(model)
        case "end_turn" | "stop_sequence":
            return None if text else empty(model)
        case "tool_use":
            return called_a_tool(model)
        case reason:
            return unfinished(model, reason)
