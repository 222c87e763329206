"""Summaries by a model behind `/chat/completions`: OpenAI, vLLM, Ollama, LiteLLM and others.

The first summary imports the package `openai`, an extra; retries and the deadline are those of
`attempts.py`, and `chat_options.py` knows how servers differ.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from context_compression.errors import SummaryError
from context_compression.summaries.llms.attempts import (
    DEADLINE_SECONDS,
    Attempts,
    client_at,
    imported,
)
from context_compression.summaries.llms.chat_answer import ChatAnswer
from context_compression.summaries.llms.chat_options import ChatOptions
from context_compression.summaries.llms.failures import Failure, Provider, explained, host_of
from context_compression.summaries.llms.prices import Price
from context_compression.summaries.llms.unstreamed import whole_answer
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

BASE_URL = "https://api.openai.com/v1"
NO_KEY = "none"
"""Sent to a server of the caller's own that needs no key; the client insists on one."""
OPENAI = Provider(
    key="OPENAI_API_KEY",
    client="AsyncOpenAI",
    model_advice="Set summary_model to a model of this server, and OPENAI_BASE_URL to the address "
    "before /chat/completions; it mostly ends in /v1.",
)


class OpenAISummarizer:
    """A `Summarizer` that lets a model behind `/chat/completions` write the summary.

        OpenAISummarizer("gpt-5-mini", price=Price(input=0.25, output=2))
        OpenAISummarizer("qwen3:32b", base_url="http://localhost:11434/v1")  # Ollama, without a key

    It needs the package `openai`: `pip install '.[openai]'`. Thoughts that a
    model writes into its answer, such as `<think>…</think>`, are left out of the summary.

    Attributes:
        provider: the API, as `Settings.summarizer` names it.
        model: the id of the model that writes, if it was given.
    """

    provider = "openai"

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        client: Any = None,
        price: Price | None = None,
        environ: Mapping[str, str] | None = None,
        deadline_seconds: float | None = DEADLINE_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """A summarizer; the first summary imports the client and connects it.

        Args:
            model: the id of the model that writes; default: the model of the request.
            base_url: of the server, up to the part before `/chat/completions`; default:
                `OPENAI_BASE_URL`, else OpenAI.
            client: an `AsyncOpenAI` or `AsyncAzureOpenAI`; it is not closed.
            price: of the model; without it, a summary has its tokens, but no `cost`.
            environ: variables from which `OPENAI_API_KEY` and `OPENAI_BASE_URL` are read if there
                is no client; default: the environment of the process.
            deadline_seconds: for all attempts together; `None` for no deadline.
            sleep: waits between attempts, given seconds.
        """
        self.model = model
        self._client = client
        self._environ = os.environ if environ is None else environ
        self._base_url = base_url
        self._attempts = Attempts(price, deadline_seconds, sleep)
        self._options: dict[str, ChatOptions] = {}

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary, after at most `request.attempts` calls, with the tokens of all of them.

        A call that is refused for an option which the server does not know is repeated without it,
        and does not count.

        Raises:
            SummaryError: there is no model or key, the package `openai` is missing, no call gave a
                summary, or the deadline passed.
        """
        model = self.model or request.model
        if not model:
            raise SummaryError(
                "No model to write the summary: set summary_model to the id of a model.",
                retryable=False,
            )
        return await self._attempts.reply(request, model, self._connected(), self._call)

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Any]:
        """The caller's client, or a new one: a client must not outlive its event loop."""
        openai = await imported("openai")
        if isinstance(self._client, openai.OpenAI):
            raise SummaryError(
                "The client cannot be awaited. Hand in an AsyncOpenAI.", retryable=False
            )
        if self._client is not None:
            yield self._client.with_options(max_retries=0)
            return
        # not None, or the client would read os.environ
        base_url = self._base_url or self._environ.get("OPENAI_BASE_URL", "").strip() or BASE_URL
        key = self._environ.get("OPENAI_API_KEY", "").strip()
        if not key and base_url == BASE_URL:
            raise SummaryError(
                "No key for the summary's model: set OPENAI_API_KEY, or OPENAI_BASE_URL to a "
                "server that needs none.",
                retryable=False,
            )
        async with client_at(base_url, openai.AsyncOpenAI, key or NO_KEY) as client:
            yield client

    async def _call(
        self, client: Any, model: str, request: SummaryRequest
    ) -> SummaryReply | Failure:
        """One call, repeated only without options that the server refuses."""
        options = self._options.get(model) or ChatOptions.first_for(host_of(client))
        while True:
            try:
                answer = await _answer(client, options.arguments(model, request))
            except Exception as error:  # in a stream, older clients do not wrap errors of httpx
                simpler = options.without_refused(error)
                if simpler is None:
                    return explained(error, client, model, OPENAI)
                options = self._options[model] = simpler
                continue
            reply = answer.reply
            failure = answer.why_no_summary(request, model)
            return replace(failure, spent=reply) if failure else reply


async def _answer(client: Any, arguments: dict[str, Any]) -> ChatAnswer:
    """The complete answer to a request."""
    answer = ChatAnswer()
    got = await client.chat.completions.create(**arguments)
    error = (await imported("openai")).APIError
    if not arguments.get("stream"):
        if isinstance(got, str) or getattr(got, "error", None):
            raise error("no answer", None, body=getattr(got, "error", got))
        answer.take(got, whole=True)
        return answer
    async with got:
        if whole := await whole_answer(got, "choices", error):
            answer.take(whole, whole=True)
        else:
            async for chunk in got:
                answer.take(chunk)
    return answer
