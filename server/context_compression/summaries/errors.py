"""What an error of a provider says: too long, misplaced thinking, and whether to retry.

An error is read by its texts, the objects of its body and its statuses. Reading never raises: a
body may be nested without end, hold itself, or be no JSON at all, and an exception of a client may
fail when it is read.

Providers report a conversation that is too long in some thirty wordings; all have a phrase about
the input and a limit. Errors about rate limits or the length of the answer use the same words, so
they are excluded first. Many name the limit as well (`window_named`), so that the next request can
be as large as it may be.

The clients of Anthropic and OpenAI have the same kinds of exceptions. They are recognised by the
names of their classes: some versions use `httpx`, others `httpx2`, and neither is imported here.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

from context_compression.conversation.messages import is_array, is_object, strings_in
from context_compression.summaries.summarizer import SummaryReply

Error: TypeAlias = BaseException | Mapping[str, Any] | str
"""An exception, the body of an answer, or its text."""
DEEPEST, MOST_PARTS = 60, 10_000
"""How deep a body is read, and how many of its parts: providers may echo the request."""
LARGEST_NUMBER = 1 << 63
"""A larger number is none of tokens, and too long for Python to write."""
FIELDS = ("message", "body", "type", "code")
STATUSES = ("status_code", "status", "code")


def texts_of_error(error: Error) -> Iterator[str]:
    """The texts of an error; for an exception also those of its body, its answer and its causes."""
    if not isinstance(error, BaseException):
        yield from strings_in(plain(error))
        return
    for link in _chain(error):
        yield type(link).__name__
        yield _as_text(link)
        for name in FIELDS:
            yield from strings_in(plain(_field(link, name)))
        answer = _field(_field(link, "response"), "text")
        if isinstance(answer, str):
            yield answer


def objects_of_error(error: Error) -> Iterator[str]:
    """The objects of an error's bodies as JSON: llama.cpp names its window in a field."""
    if isinstance(error, BaseException):
        bodies = [_field(link, "body") for link in _chain(error)]
    else:
        bodies = [error]
    for body in filter(is_object, map(plain, bodies)):
        yield json.dumps(body)


def statuses_of(error: Error) -> set[int]:
    """The HTTP statuses of an error, and the codes that may be one."""
    values: list[Any] = []
    if isinstance(error, BaseException):
        for link in _chain(error):
            for holder in (link, _field(link, "response")):
                values += [_field(holder, name) for name in STATUSES]
    elif is_object(body := plain(error)):
        for holder in (body, body.get("error")):
            if is_object(holder):
                values += [holder.get(name) for name in STATUSES]
    return {value for value in values if isinstance(value, int)}


def plain(body: Any) -> Any:
    """A body as JSON values, as deep and as much of it as is read; what cannot be read is left out.

    `plain({1: b"too long"})` -> `{"1": "too long"}`
    """
    left = MOST_PARTS

    def some(value: Any) -> Iterator[Any]:
        nonlocal left
        parts: Iterable[Any] = value.items() if is_object(value) else value
        for part in islice(parts, left):
            left -= 1
            if left < 0:
                return
            yield part

    def copy(value: Any, inside: tuple[int, ...]) -> Any:
        """The copy of a value that is in others, given by their identities."""
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int) and abs(value) < LARGEST_NUMBER:
            return int(value)
        try:
            holds = is_object(value) or is_array(value)
            if not holds or isinstance(value, bytearray):
                return _as_text(value)
            if id(value) in inside or len(inside) >= DEEPEST:
                return None
            inside = (*inside, id(value))
            if is_object(value):
                return {_as_text(key): copy(item, inside) for key, item in some(value)}
            return [copy(item, inside) for item in some(value)]
        except Exception:  # a mapping or a list of its own kind may fail as it likes
            return None

    return copy(body, ())


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those it was raised from; frameworks wrap the provider's exception."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _field(holder: Any, name: str) -> Any:
    """An attribute; `None` if there is none, or if it cannot be read, as that of an open stream."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def _as_text(value: Any) -> str:
    """A value as a text; "" for one that has none."""
    try:
        if isinstance(value, bytes | bytearray):
            return bytes(value).decode(errors="replace")
        return str(value)
    except Exception:
        return ""


LONGEST_TEXT = 4000
"""How many characters of each text are searched: providers may echo the request."""
TOO_LARGE = 413
"""The HTTP status for a request that is too large."""
FULL_WINDOW = 0.99
"""Share of the window from which an input counts as filling it."""
PACE = frozenset({429, 503, 529})
"""Statuses that ask to wait: rate limit, unavailable, overloaded."""
STATUS = re.compile(
    r"(?:^\W*(?:http(?:/[\d.]+)? )?|\b(?:status|error)(?: code)?:? )([45]\d\d)\b", re.I
)
NO_BODY = re.compile(
    r"\W*(?:error code: |http )?(?:400|413)(?: status code)?(?: \(no body\))?\W*", re.I
)

NOT_OVERFLOW = re.compile(
    r"rate[ _-]?limit|too[ _]many[ _]requests|throttl(?:ed|ing)|service[ _]?unavailable|overloaded"
    r"|tokens per (?:min|day)|please wait"
    r"|(?:output|completion)[ _]tokens?\b[^.]{0,40}exceed|output[ _]token[ _]limit"
    r"|\b(?:images?|requests|files?|bytes)\b[^.]{0,40}exceeds the limit",
    re.I,
)
OVERFLOW = re.compile(
    "|".join(
        (
            # about the prompt or the request
            r"(?:prompt|input) (?:\(\d+ tokens\) )?(?:is )?too long",  # Anthropic, Bedrock, z.ai
            r"prompt exceeds max length",  # z.ai
            r"request_too_large|request (?:entity |body )?too large",  # Anthropic, proxies
            r"prompt tokens \(\d+\) exceed",
            r"tokens in request more than max tokens allowed",
            r"input token count.{0,40}exceeds the maximum",  # Gemini
            r"prompt has [\d,]+ tokens, but the configured context size",  # DS4
            r"\binputs\b[^.]{0,60} must (?:be <=|have less than)",  # TGI
            r"range of input length should be",  # DashScope
            r"reduce the length of the messages",  # Groq
            # about a context length, window, size or limit
            r"context[ _](?:length|window)[ _]exceed",  # OpenAI and compatible, LiteLLM, z.ai
            r"contextwindowexceeded|contextlengthexceeded",  # names of exceptions
            r"exceed(?:s|ed)?\b.{0,60}\bcontext (?:window|length|size|limit)",
            r"context window exceeds limit",  # MiniMax
            r"(?:longer|greater) than the (?:model's )?context length",  # Together, LM Studio
            r"longer than the maximum model length",  # vLLM
            r"maximum (?:context|prompt|allowed input) length (?:of|is) [\d,]+",  # OpenRouter, xAI
            r"context length (?:is|of) only [\d,]+",
            r"too large for model with [\d,]+ maximum context length",  # Mistral
            r"超[过出][^。]{0,30}(?:上下文|长度)|(?:上下文|长度)[^。]{0,10}超[过出]",
            # about a number of tokens
            r"too many tokens|token limit exceeded|exceeded model token limit",  # the last: Kimi
            r"exceeds the limit of [\d,]{4,}\b(?!\s*(?!tokens?\b)\w)",  # Copilot
        )
    ),
    re.I | re.S,
)

N = r"(\d[\d,_]{2,14})"
"""A number of tokens, with or without separators. A smaller number is a code, or a part of a text.
"""
WINDOW = (
    rf"(?:\d|\btokens) > {N}",  # Anthropic: 213462 tokens > 200000 maximum
    rf"\bn_ctx\W{{1,5}}{N}",  # llama.cpp
    rf"(?:<=|less than|at most|up to|cannot exceed|no more than) {N}",  # TGI, Cohere
    rf"\b(?:limit|allowed|maximum)(?: is| of| ?[:=(]){{1,3}} ?{N}",
    rf"\b(?:max(?:imum)?|context|model|configured)\b[^.\d]{{0,30}}(?:length|size|window)"
    rf"(?: is| of| only| ?[:=(]){{0,3}} ?{N}",  # most
    rf"\bshould be \[\d{{1,3}}, ?{N}",  # DashScope
    rf"\b(?:with|your) {N}[- ](?:maximum context|tokens?\b)",  # Mistral
    rf"(?:长度|上下文|限制)[^\d.]{{0,8}}{N}",
)
"""How errors name a window, the surest first."""
NOT_TOKENS = r"\b(?!\.\d| ?(?:messages?|requests?|images?|files?|bytes|seconds|[kmg]i?b)\b)"
"""What may follow the number of a window: limits of other things have it, too."""
WINDOW_NAMED = tuple(re.compile(f"(?:{pattern}){NOT_TOKENS}", re.I) for pattern in WINDOW)
LEAST_WINDOW = 1_000
"""A smaller number names no window: it is a code, or the window is too small for any summary."""
NUMBER = re.compile(rf"(?<![\w.-]){N}\b(?![.-]?\w)")

FOREIGN_THINKING = re.compile(r"\bbound to (?:a different|another) conversation\b", re.I)


def is_overflow(error: Error, *, provider: str | None = None) -> bool:
    """Whether a provider refused a request because the conversation is too long.

    `is_overflow("prompt is too long: 213462 tokens > 200000 maximum")` -> `True`

    Args:
        error: an exception, the body of an answer, or its text. For an exception, its status, its
            body and its causes are searched too.
        provider: needed for Cerebras, which refuses with a bare 400; from other providers, a bare
            400 may mean anything.
    """
    texts = [text[:LONGEST_TEXT] for text in texts_of_error(error)]
    statuses = statuses_of(error)
    for text in texts:
        if (status := STATUS.search(text)) and (text == error or len(text) > 3):
            statuses.add(int(status[1]))  # a bare number in a body is no status
    if statuses & PACE or any(NOT_OVERFLOW.search(text) for text in texts):
        return False
    if TOO_LARGE in statuses or any(OVERFLOW.search(text) for text in texts):
        return True
    return (provider or "").lower() == "cerebras" and (
        any(NO_BODY.fullmatch(text) for text in texts) or (400 in statuses and not any(texts))
    )


class NamedWindow(NamedTuple):
    """What an error says of the window.

    Attributes:
        tokens: of the window, or of the input that it may hold.
        used: the tokens of the refused request; 0 if the error does not name them.
    """

    tokens: int
    used: int = 0


def window_named(error: Error) -> NamedWindow | None:
    """The window that an error names; `None` if it names none.

    `window_named("prompt is too long: 213462 tokens > 200000 maximum")` -> `(200000, 213462)`

    Args:
        error: as `is_overflow`, of which it must be one.
    """
    for text in (
        text[:LONGEST_TEXT] for text in chain(texts_of_error(error), objects_of_error(error))
    ):
        if found := next(filter(None, (named.search(text) for named in WINDOW_NAMED)), None):
            tokens = _number(found[1])
            if tokens < LEAST_WINDOW:
                continue
            numbers = map(_number, NUMBER.findall(text))
            return NamedWindow(tokens, max((n for n in numbers if n > tokens), default=0))
    return None


def _number(digits: str) -> int:
    return int(digits.replace(",", "").replace("_", ""))


def is_foreign_thinking(error: Error) -> bool:
    """Whether a provider refused thinking because the messages before it have changed.

    Anthropic reports that for a `signature`, with status 400 (Claude docs, "Fix a thinking block
    bound to a different conversation"). It accepts the same conversation without any thinking.

    Args:
        error: as `is_overflow`.
    """
    return any(FOREIGN_THINKING.search(text[:LONGEST_TEXT]) for text in texts_of_error(error))


def silent_overflow(
    stop_reason: str | None, input_tokens: int, output_tokens: int, window: int
) -> bool:
    """Whether a successful answer shows that the conversation did not fit.

    z.ai answers even if the input is larger than the window; MiMo stops at once with `length`.

    Args:
        stop_reason: as the provider spelled it.
        input_tokens: all of the input, including cached tokens.
        output_tokens: of the answer.
        window: tokens of the model's window.
    """
    match stop_reason:
        case "model_context_window_exceeded":
            return True
        case "stop" | "end_turn":
            return input_tokens > window
        case "length" | "max_tokens":
            return output_tokens == 0 and input_tokens >= FULL_WINDOW * window
        case _:
            return False


LONGEST_DETAIL = 200
"""How many characters of the provider's message an error quotes."""

RETRYABLE = frozenset({408, 409, 429})
"""HTTP statuses below 500 after which the same request may succeed: timeout, conflict, rate limit.
"""
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
"""The HTTP status for each type of error, because an error inside a stream has status 200.

Source: docs.anthropic.com/en/api/errors. OpenAI-compatible servers mostly send a status as `code`.
"""
NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of OpenAI for an account without credit; the status is 429, but waiting does not help."""
PAGE = re.compile(r"\s*<(?:!doctype|html)\b", re.I)
FILTERED = frozenset({"content_filter", "content_policy_violation"})
"""Codes for a request that a content filter refused: Azure's and LiteLLM's."""


@dataclass(frozen=True)
class Failure:
    """The reason why a call gave no summary.

    Attributes:
        text: what happened and what to do.
        retryable: whether another call may succeed.
        too_long: whether the request was too long for the model.
        window: the tokens of the window that the provider named; 0 if it named none.
        used: the tokens of the request by its count; 0 if it named none.
        wait_seconds: how long the provider asks to wait, if it does.
        spent: the tokens of the call, if it was answered.
    """

    text: str
    retryable: bool = True
    too_long: bool = False
    window: int = 0
    used: int = 0
    wait_seconds: float | None = None
    spent: SummaryReply | None = None


@dataclass(frozen=True)
class Provider:
    """What errors say about the API that is asked.

    Attributes:
        key: the environment variable with the key.
        client: the class of the client.
        model_advice: what to do if a model is unknown.
    """

    key: str
    client: str
    model_advice: str


def cut_off(model: str) -> Failure:
    """The failure for a summary that was longer than the limit of the answer."""
    return Failure(
        f"The summary of {model} was cut off at max_tokens. Raise max_summary_tokens or "
        "lower summary_target_tokens.",
        retryable=False,
    )


def refused(model: str) -> Failure:
    """The failure for a model that does not want to, or may not, write the summary."""
    return Failure(
        f"{model} refused to write the summary. Set summary_model to another model, or "
        "use the strategy extract.",
        retryable=False,
    )


def unfinished(model: str, reason: str | None) -> Failure:
    """The failure for an answer that ended for no known reason; `None` if it just broke off."""
    if reason is None:
        return Failure(f"The answer of {model} ended in the middle.")
    return Failure(f"{model} gave no finished answer ({reason}).")


def empty(model: str) -> Failure:
    """The failure for an answer without a text."""
    return Failure(f"{model} answered with nothing.")


def called_a_tool(model: str) -> Failure:
    """The failure for a tool call, although no tools were offered."""
    return Failure(f"{model} answered with a tool call instead of a summary.")


def explained(error: Exception, client: Any, model: str, provider: Provider) -> Failure:
    """The failure for an exception of a client; quotes the provider only where needed."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"APIConnectionError", "TransportError"}:
        kind = type(error.__cause__ or error).__name__
        return Failure(f"The connection to {host_of(client)} failed ({kind}).")
    if "APIStatusError" in kinds or type(error).__name__ == "APIError":  # the latter in a stream
        return _answered_with(error, client, model, provider)
    if kinds & {"AnthropicError", "OpenAIError", "TypeError"}:  # no credentials, no async client
        return Failure(
            f"The client cannot ask for a summary ({type(error).__name__}). Hand in an "
            f"{provider.client} that has a key.",
            retryable=False,
        )
    return Failure(f"The answer of {model} is not readable ({type(error).__name__}).")


def host_of(client: Any) -> str:
    """The host that a client asks."""
    return getattr(getattr(client, "base_url", None), "host", None) or "the provider"


def _answered_with(error: Any, client: Any, model: str, provider: Provider) -> Failure:
    """The failure for an error that the provider sent."""
    given: Any = getattr(getattr(error, "response", None), "headers", None)
    headers: Mapping[str, Any] = given if is_object(given) else {}
    status, codes = _status(error), {str(getattr(error, name, None)) for name in ("code", "type")}
    is_inside = getattr(error, "status_code", 200) < 400  # of an answer, so the status says nothing
    if is_inside and isinstance(error.body, str) and PAGE.match(error.body):
        text = f'{host_of(client)} answered with a web page: "{detail(error, client)}".'
        return Failure(f"{text} {provider.model_advice}", retryable=False)
    if is_overflow(error):
        text = f"The request is too long for {model}: {detail(error, client)}"
        window, used = window_named(error) or (0, 0)
        return Failure(text, retryable=False, too_long=True, window=window, used=used)
    if codes & FILTERED:
        return refused(model)
    match status:
        case 401:
            text = f"The key was refused (401). Set {provider.key} to a valid one."
        case 403:
            text = f"The key may not use {model} (403). Set summary_model to one that it may."
        case 404:
            text = f"There is no model {model} (404). {provider.model_advice}"
        case 429 if codes & NO_CREDIT:
            text = f"The account has no credit left (429): {detail(error, client)}"
            return Failure(text, retryable=False)
        case 429:
            text = "The provider's rate limit is reached (429)."
        case 529:
            text = "The provider is overloaded (529)."
        case _ if status >= 500 and is_inside:
            text = f'The provider sent this instead of a summary: "{detail(error, client)}".'
        case _ if status >= 500:
            text = f"The provider failed ({status})."
        case _:
            text = f"The provider refused the request ({status}): {detail(error, client)}"
    wait = _seconds(headers.get("retry-after"))
    if wait:
        text += f" It asks to wait {wait:g} s."
    advice = headers.get("x-should-retry")  # more precise than the status
    retryable = advice == "true" if advice else status in RETRYABLE or status >= 500
    return Failure(text, retryable=retryable, wait_seconds=wait)


def _status(error: Any) -> int:
    """The HTTP status of an error; for an error inside a stream, the status that it stands for."""
    status: int = getattr(error, "status_code", 200)
    if status >= 400:
        return status
    code = str(getattr(error, "code", None))
    if re.fullmatch("[45][0-9][0-9]", code):
        return int(code)
    return STATUS_OF.get(str(getattr(error, "type", None)), 500)


def detail(error: Any, client: Any) -> str:
    """The provider's message, clipped and without the key, because gateways echo requests."""
    said = plain(error.body)
    for name in ("error", "message", "detail"):
        said = said.get(name, said) if is_object(said) else said
    if is_array(said):  # FastAPI: one object for each wrong field
        said = "; ".join(str(each.get("msg")) for each in said if is_object(each))
    text = " ".join(said.split()) if isinstance(said, str) else ""
    text = text or "no reason given"
    for secret in (getattr(client, name, None) for name in ("api_key", "auth_token")):
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "[key]")
    return text if len(text) <= LONGEST_DETAIL else text[:LONGEST_DETAIL] + "…"


def _seconds(header: str | None) -> float | None:
    """The seconds of a `retry-after` header; `None` for a date, which the APIs do not send."""
    return float(header) if header and re.fullmatch(r"\d{1,9}(\.\d+)?", header) else None
