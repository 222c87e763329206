"""Why a call to the Anthropic API gave no summary, and whether a retry may help."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from context_compression.conversation.messages import is_object
from context_compression.summaries.overflow import is_overflow
from context_compression.summaries.summarizer import SummaryReply

if TYPE_CHECKING:
    from anthropic.types import Message

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

Source: docs.anthropic.com/en/api/errors.
"""
HTTP_CLIENTS = frozenset({"httpx", "httpx2"})
"""The packages below the SDK: the first before its version 1, the second since."""


@dataclass(frozen=True)
class Failure:
    """The reason why a call gave no summary.

    Attributes:
        text: what happened and what to do.
        retryable: whether another call may succeed.
        too_long: whether the request was too long for the model.
        wait_seconds: how long the provider asks to wait, if it does.
        spent: the tokens of the call, if it was answered.
    """

    text: str
    retryable: bool = True
    too_long: bool = False
    wait_seconds: float | None = None
    spent: SummaryReply | None = None


def why_no_summary(message: "Message", text: str, model: str) -> Failure | None:
    """The reason why an answer contains no summary; `None` if it does.

    Args:
        message: the complete answer.
        text: its text.
        model: the model's id, for the text of the failure.
    """
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


def explained(error: Exception, client: Any, model: str) -> Failure:
    """The failure for an exception of the SDK; quotes the provider only where needed."""
    from anthropic import AnthropicError, APIConnectionError, APIStatusError

    match error:
        case APIStatusError():
            return _refused(error, client, model)
        case _ if isinstance(error, APIConnectionError) or _is_of_transport(error):
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


def _is_of_transport(error: Exception) -> bool:
    """Whether it is a `TransportError` of httpx2, or of httpx, which older SDKs are built on."""
    return any(
        kind.__name__ == "TransportError" and kind.__module__.partition(".")[0] in HTTP_CLIENTS
        for kind in type(error).__mro__
    )


def _refused(error: Any, client: Any, model: str) -> Failure:
    """The failure for an `anthropic.APIStatusError`."""
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
    advice = error.response.headers.get("x-should-retry")  # more precise than the status
    retryable = advice == "true" if advice else status in RETRYABLE or status >= 500
    return Failure(text, retryable=retryable, wait_seconds=wait)


def _detail(error: Any, client: Any) -> str:
    """The provider's message, clipped and without the key, because gateways echo requests."""
    body = error.body
    details = body.get("error") if is_object(body) else None
    text = str(details.get("message") if is_object(details) else "no reason given")
    for secret in (getattr(client, name, None) for name in ("api_key", "auth_token")):
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "[key]")
    return text if len(text) <= LONGEST_DETAIL else text[:LONGEST_DETAIL] + "…"


def _seconds(header: str | None) -> float | None:
    """The seconds of a `retry-after` header; `None` for a date, which the API does not send."""
    return float(header) if header and re.fullmatch(r"\d{1,9}(\.\d+)?", header) else None
