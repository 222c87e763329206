"""Why a call to a model gave no summary, and whether a retry may help.

The clients of Anthropic and OpenAI have the same kinds of exceptions. They are recognised by the
names of their classes: some versions use `httpx`, others `httpx2`, and neither is imported here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.summaries.error_texts import plain
from context_compression.summaries.overflow import is_overflow, window_named
from context_compression.summaries.summarizer import SummaryReply

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
