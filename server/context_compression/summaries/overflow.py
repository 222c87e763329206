"""Recognises two errors of providers: a conversation that is too long, and misplaced thinking.

Providers report the first in some thirty wordings; all have a phrase about the input and a limit.
Errors about rate limits or the length of the answer use the same words, so they are excluded first.
Many name the limit as well (`window_named`), so that the next request can be as large as it may be.
"""

import re
from itertools import chain
from typing import NamedTuple

from context_compression.summaries.error_texts import (
    Error,
    objects_of_error,
    statuses_of,
    texts_of_error,
)

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
