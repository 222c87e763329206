"""Summaries by a model behind `/chat/completions`: OpenAI, vLLM, Ollama, LiteLLM and others.

Thoughts that a model writes into its answer, where its server does not separate them. Only what
stands at the beginning, and surely is no summary, is left out: a summary may speak of these marks.

The answer of a server that sends no stream although it was asked for one. Some servers do not know
`stream` and send one JSON object; proxies send web pages, or an error with the status 200.

The answer of `/chat/completions`, gathered from its chunks or from one object. Servers leave out or
add parts of it, so each part is read on its own.

The options of a request to `/chat/completions`, which not all servers and models know. OpenAI's
reasoning models refuse `max_tokens`, others know only that; some servers refuse `stream_options`,
streaming, or a system prompt. So the first request asks for all of it, and each refusal that names
an option leaves that option out.

The first summary imports the package `openai`, an extra; retries and the deadline are those of
`attempts.py`.
"""

import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio

from context_compression.conversation.messages import is_array, is_object, strings_in
from context_compression.errors import SummaryError
from context_compression.summaries.attempts import (
    DEADLINE_SECONDS,
    Attempts,
    Price,
    client_at,
    imported,
)
from context_compression.summaries.errors import (
    Failure,
    Provider,
    called_a_tool,
    cut_off,
    empty,
    explained,
    host_of,
    refused,
    unfinished,
)
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.tokens import CHARACTERS_A_TOKEN, sure_characters

TAGS = "think|thinking|thoughts?|reasoning|seed:think|longcat_think"
"""Of Qwen, DeepSeek, Gemma, Seed-OSS, LongCat and others."""
MARKS = (
    ("[THINK]", "[/THINK]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Cohere
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<|channel>thought", "<channel|>"),  # Gemma 4
)
CHANNEL = r"(?:<\|start\|>)?(?:assistant)?<\|channel\|>"
"""A part of an answer in harmony, the format of gpt-oss, begins with this."""

_ENCLOSED = [rf"<({TAGS})>.*?(?:</\1>|\Z)"] + [
    rf"{re.escape(first)}.*?(?:{re.escape(last)}|\Z)" for first, last in MARKS
]
_HARMONY = rf"(?:{CHANNEL})?(?:analysis|commentary)[^<\n]*<\|message\|>.*?(?:(?={CHANNEL}final)|\Z)"
_UNMARKED = (
    r"(?:analysis(?=[A-Z]).*?)?assistantfinal"  # harmony, from a server that drops its marks
)
_UNOPENED = r"(?!\s*#)(?:(?!<think).)*?(?:^</think>[ \t]*$|</think>(?=\s*#))"
"""Thoughts whose first tag is written by the template of DeepSeek. A text that begins with a
heading is a summary from its beginning.
"""
_THOUGHTS = re.compile(
    rf"(?:\s*(?:{'|'.join([*_ENCLOSED, _HARMONY])}))+|\s*{_UNMARKED}|{_UNOPENED}", re.S | re.M
)
_FRAME = re.compile(
    rf"\s*(?:{CHANNEL}final[^<\n]*<\|message\|>|<\|START_RESPONSE\|>|<\|begin_of_solution\|>)"
    r"(.*?)(?:<\|(?:return|end|END_RESPONSE|end_of_solution)\|>\s*)?",
    re.S,
)
"""What some models write around the answer that follows their thoughts."""


def without_thoughts(text: str) -> str:
    r"""The text of an answer without the thoughts at its beginning.

    `without_thoughts("<think>Hm.</think>\n\n## Goal")` -> `"## Goal"`
    """
    thoughts = _THOUGHTS.match(text)
    rest = text[thoughts.end() :] if thoughts else text
    frame = _FRAME.fullmatch(rest)
    return (frame[1] if frame else rest).strip()


_TEXT = re.compile(r"application/json|text/(?!event-stream)", re.I)
"""The content type of an answer that may be no stream; clouds have types of their own for one."""
_EVENTS = re.compile(r"\s*(?:data|event|id|retry)?:")
"""How a stream of events begins, whatever its content type says."""


async def whole_answer(stream: Any, part: str, error: Any) -> Mapping[str, Any] | None:
    """The answer that was sent at once; `None` if it is a stream.

    Args:
        stream: as the client returned it.
        part: a key that each answer has.
        error: the class `APIError` of the client.

    Raises:
        APIError: something else was sent: an error, or a page.
    """
    response: Any = getattr(stream, "response", None)
    if not _TEXT.match(getattr(response, "headers", {}).get("content-type", "")):
        return None
    text = (await response.aread()).decode("utf-8", "replace")
    if _EVENTS.match(text):
        return None
    try:
        answer: Any = json.loads(text)
    except ValueError:
        answer = text
    if is_object(answer) and part in answer:
        return answer
    said = answer.get("error") or answer if is_object(answer) else text
    raise error("no answer", response.request, body=said)


ENDS = {
    "stop": ("stop", "end_turn", "stop_sequence", "eos_token", "eos", "end", "complete"),
    "length": ("length", "max_tokens", "model_length", "max_output_tokens"),
    "filter": ("content_filter", "refusal", "safety", "guardrail_intervened"),
    "tool": ("tool_calls", "function_call", "tool_use"),
}
"""Reasons why an answer ended, in lower case. OpenAI's are the first of each; servers before other
models pass on those of Anthropic, Gemini, Cohere, Mistral, Bedrock and text-generation-inference.
"""
END_OF = {reason: end for end, reasons in ENDS.items() for reason in reasons}


class ChatAnswer:
    """An answer: its text, why it ended, and its usage."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._reason: str | None = None
        self._is_at_end = False
        self._model: str | None = None
        self._usage: Any = None

    def take(self, part: Any, *, whole: bool = False) -> None:
        """Add a chunk of a stream, or the whole answer."""
        self._is_at_end = whole or self._is_at_end
        self._model = _part(part, "model") or self._model
        self._usage = _part(part, "usage") or self._usage  # some send it in each chunk
        choices: list[Any] = _part(part, "choices") or []
        for choice in choices[:1]:
            message = _part(choice, "delta") or _part(choice, "message")
            reason = _part(choice, "finish_reason")
            text = _text_of(_part(message, "content"))
            self._texts.append(text)
            self._refusals.append(_part(message, "refusal") or "")
            self._reason = reason or self._reason
            self._is_at_end = whole or (reason == "" and not text)

    @property
    def reply(self) -> SummaryReply:
        """The text without thoughts, and the tokens of the call."""
        details = _part(self._usage, "prompt_tokens_details")
        return SummaryReply(
            without_thoughts("".join(self._texts)),
            model=self._model,
            input_tokens=_tokens(self._usage, "prompt_tokens"),
            output_tokens=_tokens(self._usage, "completion_tokens"),
            cache_read_tokens=_tokens(details, "cached_tokens"),
            cache_write_tokens=_tokens(details, "cache_write_tokens"),
        )

    def why_no_summary(self, request: SummaryRequest, model: str) -> Failure | None:
        """The reason why this answer contains no summary; `None` if it does."""
        reply = self.reply
        read, sent = reply.input_tokens, sure_characters(f"{request.system}\n{request.prompt}")
        if 0 < read * CHARACTERS_A_TOKEN < sent:  # Ollama cuts what is beyond its `num_ctx`
            return Failure(
                f"{model} read only the last {read:,} tokens of the request: the server's window "
                "is smaller. Raise it (in Ollama: num_ctx), or summarise less at once.",
                retryable=False,
                too_long=True,
            )
        if any(self._refusals):
            return refused(model)
        match self._end:
            case "length" if not reply.text and self._usage and not reply.output_tokens:
                return Failure(
                    f"The request leaves {model} no room for an answer.",
                    retryable=False,
                    too_long=True,
                )
            case "length":
                return cut_off(model)
            case "filter":
                return refused(model)
            case "stop":
                return None if reply.text else empty(model)
            case "tool":
                return called_a_tool(model)
            case _:
                return unfinished(model, self._reason)

    @property
    def _end(self) -> str | None:
        """Why it ended, as `ENDS` names it; `None` if it did not, or for another reason.

        Some servers give no reason. What came as a whole is complete then, and so is a stream whose
        last chunk gives an empty one.
        """
        if self._reason is None and self._is_at_end:
            return "stop"
        return END_OF.get(str(self._reason).lower().replace("-", "_"))


def _text_of(content: Any) -> str:
    """The text of a content: a string, or parts, of which thoughts are left out."""
    if is_array(content):
        texts = [part for part in content if is_object(part) and part.get("type") == "text"]
        return "".join(str(part.get("text", "")) for part in texts)
    return content if isinstance(content, str) else ""


def _part(value: Any, name: str) -> Any:
    return value.get(name) if is_object(value) else getattr(value, name, None)


def _tokens(usage: Any, name: str) -> int:
    tokens = _part(usage, name)
    return tokens if isinstance(tokens, int) else 0


OLD, NEW = "max_tokens", "max_completion_tokens"
"""The two names of the limit of an answer."""
OF_OPENAI = re.compile(
    r"(?:.*\.)?openai\.(?:com|azure\.com)|.*\.cognitiveservices\.azure\.com", re.I
)
"""Hosts whose newest models refuse the old name of the limit."""
NOT_KNOWN = re.compile(
    r"unsupported|not supported|does(?: not|n't) support|not permitted|not allowed|forbidden"
    r"|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|must be verified",
    re.I,
)
"""Words of a refusal that is about an option itself, not about its value."""
LONGEST_TEXT = 4000
"""How many characters of a refusal are searched: servers may echo the request."""
NO_SYSTEM_ROLE = re.compile(r"system (?:role|messages?|prompts?)\b|['\"`]system['\"`]", re.I)


@dataclass(frozen=True)
class ChatOptions:
    """The options that a server and its model take, as far as is known.

    Attributes:
        limits: the names of the limit of an answer; the first is used.
        streamed: whether the answer is streamed, because proxies may time out before a long answer
            is complete.
        with_usage: whether a stream is asked for its usage.
        system_role: whether the system prompt is a message of its own.
    """

    limits: tuple[str, ...] = (OLD, NEW)
    streamed: bool = True
    with_usage: bool = True
    system_role: bool = True

    @classmethod
    def first_for(cls, host: str) -> "ChatOptions":
        """The options to begin with at a host: OpenAI knows the new limit, and all know the old."""
        return cls((NEW, OLD) if OF_OPENAI.fullmatch(host) else (OLD, NEW))

    def arguments(self, model: str, request: SummaryRequest) -> dict[str, Any]:
        """The arguments of `client.chat.completions.create`."""
        user, system = request.prompt, list[dict[str, str]]()
        if self.system_role:
            system = [{"role": "system", "content": request.system}]
        else:
            user = f"{request.system}\n\n{user}"
        asked: dict[str, Any] = {
            "model": model,
            "messages": [*system, {"role": "user", "content": user}],
            self.limits[0]: request.max_tokens,
        }
        if self.streamed:
            asked["stream"] = True
            if self.with_usage:
                asked["stream_options"] = {"include_usage": True}
        return asked

    def without_refused(self, error: Exception) -> "ChatOptions | None":
        """The options without the one that a server refused; `None` if it refused none of them."""
        if getattr(error, "status_code", 0) not in (400, 422):
            return None
        text = " ".join(strings_in(getattr(error, "body", None)))[:LONGEST_TEXT]
        if not NOT_KNOWN.search(text):
            return None
        named = {*re.findall(r"\w+", (getattr(error, "param", None) or text).lower())}
        if self.streamed and self.with_usage and named & {"stream_options", "include_usage"}:
            return replace(self, with_usage=False)
        if len(self.limits) > 1 and self.limits[0] in named:
            return replace(self, limits=self.limits[1:])
        if self.streamed and named & {"stream", "streaming"}:
            return replace(self, streamed=False)
        if self.system_role and NO_SYSTEM_ROLE.search(text):
            return replace(self, system_role=False)
        return None


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
