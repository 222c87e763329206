"""Summaries by way of the Anthropic Messages API.

There is one retry policy and one deadline, both ours: the SDK's own would multiply the calls, and
an MCP client waits for an answer only so long. The SDK is imported with the first summary.
"""

import importlib
import logging
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from context_compression.conversation.messages import is_object
from context_compression.errors import SummaryError
from context_compression.summaries.llms.prices import READ, WRITE
from context_compression.summaries.overflow import is_overflow
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from anthropic.types import Message

logger = logging.getLogger(__name__)
BASE_URL = "https://api.anthropic.com"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the second call, doubled for each further one; those of the SDK, without dice."""
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
LONGEST_DETAIL = 200
"""Characters of the provider's own words in an error."""

STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""An error inside a stream arrives under status 200; its type says which it is.

Source: docs.anthropic.com/en/api/errors.
"""


@dataclass(frozen=True)
class Price:
    """What a model takes, in US dollars for a million tokens: `Price(input=3, output=15)`.

    What goes through a prompt cache takes 1.25 times the price of the input to write and 0.1 times
    to read, as with all of Anthropic's models.
    """

    input: float
    output: float

    def of(self, reply: SummaryReply) -> float:
        """Of the calls behind an answer."""
        read, write = reply.cache_read_tokens, reply.cache_write_tokens
        plain = reply.input_tokens - read - write
        charged = self.input * (plain + READ * read + WRITE * write)
        return (charged + self.output * reply.output_tokens) / 1_000_000


@dataclass(frozen=True)
class Failure:
    """Why a call gave no summary, and whether another one may.

    Attributes:
        text: what happened and what to do.
        retryable: whether asking again may help.
        too_long: whether the request was too long for the model.
        wait_seconds: how long the provider asks to wait.
        spent: what the call took, where it was answered.
    """

    text: str
    retryable: bool = True
    too_long: bool = False
    wait_seconds: float | None = None
    spent: SummaryReply | None = None


class AnthropicSummarizer:
    """Asks a Claude model for a summary; a `Summarizer`."""

    def __init__(
        self,
        model: str | None = None,
        *,
        client: Any = None,
        price: Price | None = None,
        environ: Mapping[str, str] | None = None,
        deadline_seconds: float | None = 25.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """A summarizer that has done nothing yet: no import, no connection.

        Args:
            model: who writes; else the request's model.
            client: an `AsyncAnthropic`, or one of its kin for another cloud; stays open.
            price: of the model; without it the tokens of a summary are known, but no `cost`.
            environ: where `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` are read when there is no
                client; default: the environment of the process.
            deadline_seconds: for all attempts together; `None` waits as long as it takes.
            sleep: waits between attempts.
        """
        self._model = model
        self._client = client
        self._price = price
        self._environ = os.environ if environ is None else environ
        self._deadline_seconds = deadline_seconds
        self._sleep = sleep

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary asked for, after at most `request.attempts` calls; it tells what all took.

        Raises:
            SummaryError: there is none, or not within the deadline.
        """
        model = self._model or request.model
        if not model:
            raise SummaryError(
                "No model to write the summary: set summary_model to the id of a Claude model.",
                retryable=False,
            )
        with anyio.move_on_after(self._deadline_seconds) as scope:
            async with self._connected() as client:
                return await self._ask_until(scope.deadline, client, model, request)
        raise SummaryError(
            f"No summary within {self._deadline_seconds:g} s from {model}. Try again later, or "
            "set summary_model to a faster model.",
            retryable=False,
        )

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Any]:
        """The client handed in, or one for this summary alone: event loops come and go."""
        # 1.5 s the first time (measured): in a thread, so that the event loop goes on
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
        # never None: the SDK would look into os.environ
        base_url = self._environ.get("ANTHROPIC_BASE_URL") or BASE_URL
        async with AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0) as client:
            yield client

    async def _ask_until(
        self, deadline: float, client: Any, model: str, request: SummaryRequest
    ) -> SummaryReply:
        """Asks again while that may help and a pause still fits before the deadline."""
        attempt = 1
        spent: list[SummaryReply] = []
        while not isinstance(answer := await _ask(client, model, request), SummaryReply):
            if answer.spent:
                spent.append(answer.spent)
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
        taken = replace(answer, **{name: _sum(name, answer, *spent) for name in TOKENS})
        return replace(taken, cost=self._price.of(taken)) if self._price else taken


async def _ask(client: Any, model: str, request: SummaryRequest) -> SummaryReply | Failure:
    """One call. Streamed: a long answer in one piece may outlast the proxies on the way."""
    try:
        async with client.messages.stream(
            model=model,
            max_tokens=request.max_tokens,
            system=request.system,
            messages=[{"role": "user", "content": request.prompt}],
        ) as stream:
            message = await stream.get_final_message()
    except Exception as error:  # also httpx2's and the SDK's own: it does not wrap them in a stream
        return _explained(error, client, model)
    reply = _reply(message)
    why_not = _why_not(message, reply.text, model)
    return replace(why_not, spent=reply) if why_not else reply


def _reply(message: "Message") -> SummaryReply:
    """What an answer says, and what it took."""
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


def _sum(name: str, *replies: SummaryReply) -> int:
    return sum(getattr(reply, name) for reply in replies)


def _why_not(message: "Message", text: str, model: str) -> Failure | None:
    """Why an answer holds no summary."""
    match message.stop_reason:
        case "max_tokens":
            return Failure(
                f"The summary of {model} was cut off at max_tokens. Raise max_summary_tokens or "
                "lower summary_target_tokens.",
                retryable=False,
            )
        case "model_context_window_exceeded":
            return Failure(
                f"The summary of {model} was cut off at the end of its window. Summarise less at "
                "once.",
                retryable=False,
                too_long=True,
            )
        case "refusal":
            return Failure(
                f"{model} refused to write the summary. Set summary_model to another model, or "
                "use the strategy extract.",
                retryable=False,
            )
        case "end_turn" | "stop_sequence" if text:
            return None
        case "end_turn" | "stop_sequence":
            return Failure(f"{model} answered with nothing.")
        case "tool_use":
            return Failure(f"{model} answered with a tool call instead of a summary.")
        case None:
            return Failure(f"The answer of {model} ended in the middle.")
        case reason:
            return Failure(f"{model} gave no finished answer ({reason}).")


def _explained(error: Exception, client: Any, model: str) -> Failure:
    """An exception of the SDK in our words; the provider's own only where they are needed."""
    from anthropic import AnthropicError, APIConnectionError, APIStatusError
    from httpx2 import TransportError

    match error:
        case APIStatusError():
            return _refused(error, client, model)
        case APIConnectionError() | TransportError():
            kind = type(error.__cause__ or error).__name__
            return Failure(f"The connection to {client.base_url.host} failed ({kind}).")
        case AnthropicError() | TypeError():  # no credentials, no async client
            return Failure(
                f"The client cannot ask for a summary ({type(error).__name__}). Hand in an "
                "AsyncAnthropic that has a key.",
                retryable=False,
            )
        case _:
            return Failure(f"The answer of {model} is not readable ({type(error).__name__}).")


def _refused(error: Any, client: Any, model: str) -> Failure:
    """An `anthropic.APIStatusError` in our words."""
    status: int = error.status_code
    if status < 400:
        status = STATUS_OF.get(error.type or "", 500)
    if is_overflow(error):
        text = f"The request is too long for {model}: {_detail(error, client)}"
        return Failure(text, retryable=False, too_long=True)
    match status:
        case 401:
            text = "The key was refused (401). Set ANTHROPIC_API_KEY to a valid one."
        case 403:
            text = f"The key may not use {model} (403). Set summary_model to one that it may."
        case 404:
            text = (
                f"There is no model {model} (404). Set summary_model to the id of a Claude model."
            )
        case 429:
            text = "The provider's rate limit is reached (429)."
        case 529:
            text = "The provider is overloaded (529)."
        case _ if status >= 500:
            text = f"The provider failed ({status})."
        case _:
            text = f"The provider refused the request ({status}): {_detail(error, client)}"
    wait = _seconds(error.response.headers.get("retry-after"))
    if wait:
        text += f" It asks to wait {wait:g} s."
    told = error.response.headers.get("x-should-retry")  # the API knows better than its status
    retryable = told == "true" if told else status in {408, 409, 429} or status >= 500
    return Failure(text, retryable=retryable, wait_seconds=wait)


def _detail(error: Any, client: Any) -> str:
    """The provider's own words, short, without the key: gateways echo what they were sent."""
    body = error.body
    told = body.get("error") if is_object(body) else None
    text = str(told.get("message") if is_object(told) else "no reason given")
    for secret in (getattr(client, name, None) for name in ("api_key", "auth_token")):
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "[key]")
    return text if len(text) <= LONGEST_DETAIL else text[:LONGEST_DETAIL] + "…"


def _seconds(header: str | None) -> float | None:
    """Of a `retry-after` given in seconds; a date would need a clock, and the API sends none."""
    return float(header) if header and re.fullmatch(r"\d{1,9}(\.\d+)?", header) else None
