"""Which errors say that a conversation is too long: shapes as the providers send them."""

from typing import Any

import pytest

from context_compression.summaries.errors import (
    is_foreign_thinking,
    is_overflow,
    silent_overflow,
    window_named,
)
from context_compression.testing.messages_api import foreign_thinking, too_long

TOO_LONG = {
    "Anthropic": "prompt is too long: 213462 tokens > 200000 maximum",
    "Anthropic, with the answer": "input length and `max_tokens` exceed context limit: "
    "188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
    "Anthropic, bytes": '413 {"type":"error","error":{"type":"request_too_large",'
    '"message":"Request exceeds the maximum size"}}',
    "Bedrock": "An error occurred (ValidationException) when calling the ConverseStream operation: "
    "Input is too long for requested model.",
    "OpenAI": "Your input exceeds the context window of this model. Please adjust your input",
    "OpenAI chat": "Error code: 400 - {'error': {'message': \"This model's maximum context length "
    "is 128000 tokens. However, your messages resulted in 130512 tokens. Please reduce the length "
    "of the messages.\", 'type': 'invalid_request_error', 'code': 'context_length_exceeded'}}",
    "LiteLLM": "litellm.ContextWindowExceededError: litellm.BadRequestError: Context Window "
    "exceeded",
    "compatible": "The input (140000 tokens) exceeds the model's maximum context length of 131072 "
    "tokens",
    "compatible, in brackets": "Input length (140000) exceeds the model's maximum context length "
    "(131072).",
    "Gemini": "The input token count (1196265) exceeds the maximum number of tokens allowed "
    "(1048575).",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Groq": "Please reduce the length of the messages or completion.",
    "OpenRouter": "This endpoint's maximum context length is 262144 tokens. However, you requested "
    "about 300001 tokens",
    "Poolside": "request exceeds the maximum allowed input length of 131072 tokens",
    "Together": "The input (40123 tokens) is longer than the model's context length (32769)",
    "Copilot": "prompt token count of 163839 exceeds the limit of 128000",
    "Copilot, with separators": "prompt token count of 163,839 exceeds the limit of 128,000 tokens",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "LM Studio": "tokens to keep from the initial prompt is greater than the context length",
    "LM Studio, short": "the model is loaded with context length of only 4096 tokens, which is not "
    "enough",
    "MiniMax": "invalid params, context window exceeds limit",
    "Kimi": "Invalid request: Your request exceeded model token limit : 262144",
    "Mistral": "Prompt contains 40961 tokens, too large for model with 32768 maximum context "
    "length",
    "DS4": "Prompt has 70021 tokens, but the configured context size is 65536 tokens",
    "z.ai": "Prompt too long",
    "z.ai, stop reason": "model_context_window_exceeded",
    "z.ai, China": "Prompt exceeds max length",
    "Ollama": "prompt too long; exceeded max context length by 4 tokens",
    "Ollama, short": "prompt too long; exceeded context length",
    "DashScope": "<400> InternalError.Algo.InvalidParameter: Range of input length should be "
    "[1, 98304]",
    "model maximum": "prompt tokens (330095) exceed model maximum (278528)",
    "max tokens allowed": "tokens in request more than max tokens allowed",
    "a proxy": "Request Entity Too Large",
    "a status line": "HTTP/1.1 413 Payload Too Large",
    "an HTTP client": "Request failed with status code 413",
    "input length": "input length 40000 exceeds the maximum context length",
    "llama.cpp, with its count": "request (12345 tokens) exceeds the available context size "
    "(4096 tokens), try increasing it",
    "llama.cpp in Python": "Requested tokens (5160) exceed context window of 4096",
    "vLLM, with the answer": "This model's maximum context length is 16384 tokens. However, you "
    "requested 22946 tokens (12946 in the messages, 10000 in the completion).",
    "vLLM's scheduler": "Input prompt (35247 tokens) is too long and exceeds limit of 1000",
    "TGI": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: "
    "5000 `inputs` tokens and 1000 `max_new_tokens`",
    "Cohere": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received "
    "5000.",
    "GitHub's models": "Request body too large for gpt-4o-mini model. Max size: 8000 tokens.",
    "in Chinese": "输入长度超过模型最大上下文长度 8192",
    "generic tokens": "too many tokens",
    "generic limit": "Token limit exceeded",
}
WINDOWS = {
    "Anthropic": (200_000, 213_462),
    "Anthropic, with the answer": (200_000, 0),
    "OpenAI chat": (128_000, 130_512),
    "compatible, in brackets": (131_072, 140_000),
    "Gemini": (1_048_575, 1_196_265),
    "xAI": (131_072, 537_812),
    "OpenRouter": (262_144, 300_001),
    "Together": (32_769, 40_123),
    "Copilot, with separators": (128_000, 163_839),
    "LM Studio, short": (4_096, 0),
    "Kimi": (262_144, 0),
    "Mistral": (32_768, 40_961),
    "DS4": (65_536, 70_021),
    "DashScope": (98_304, 0),
    "model maximum": (278_528, 330_095),
    "llama.cpp, with its count": (4_096, 12_345),
    "llama.cpp in Python": (4_096, 5_160),
    "vLLM, with the answer": (16_384, 22_946),
    "vLLM's scheduler": (1_000, 35_247),
    "TGI": (4_096, 5_000),
    "Cohere": (4_081, 5_000),
    "GitHub's models": (8_000, 0),
    "in Chinese": (8_192, 0),
}
"""The window that an error names, and the tokens of the refused request if it names them."""
NOT_TOO_LONG = {
    "OpenAI's rate": "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): "
    "Limit 30000, Used 28000, Requested 5000. Please try again in 6s.",
    "Anthropic's rate": "429 This request would exceed your organization's rate limit of 40,000 "
    "input tokens per minute",
    "Bedrock's rate": "Throttling error: Too many tokens, please wait before trying again.",
    "an exception's name": "ThrottlingException: Too many tokens",
    "unavailable": "Service unavailable: prompt is too long",
    "too many requests": "Too many requests, token limit exceeded",
    "overloaded": '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "requests per time": "Your organization exceeds the limit of 60 requests per minute",
    "images": "The message exceeds the limit of 100 images",
    "number of images": "Number of images exceeds the limit of 1000",
    "bytes": "image exceeds the limit of 5242880 bytes",
    "the answer's length": "Output token limit exceeded",
    "the answer's limit": "max_tokens: 64000 > 32000, which is the maximum allowed number of "
    "output tokens for this model",
    "the answer's number": "completion tokens exceeds the limit of 16384",
    "authentication": "401 invalid x-api-key",
    "another bad request": "messages.3: `tool_use` ids were found without `tool_result` blocks",
    "thinking that was changed": "messages.1.content.0: Invalid `signature` in `thinking` block",
    "no body": "400 status code (no body)",
    "a network": "Connection error.",
    "nothing": "",
}

# Anthropic's text (Claude docs, "Fix a thinking block bound to a different conversation"), as it
# comes through clouds, proxies and clients
FOREIGN = foreign_thinking().message
FOREIGN_THINKING = {
    "Anthropic": FOREIGN,
    "Anthropic, with what changed": f"{FOREIGN} That setting requires the "
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. The `system` "
    "prompt differs from the one this block was created with.",
    "redacted": FOREIGN.replace("`signature` in `thinking`", "`data` in `redacted_thinking`"),
    "the client": f"Error code: 400 - {foreign_thinking().body}",
    "Bedrock": "An error occurred (ValidationException) when calling the InvokeModel operation: "
    + FOREIGN,
    "Vertex": 'Error code: 400 - [{"error": {"code": 400, "message": "{\\"type\\":\\"error\\",'
    f'\\"error\\":{{\\"message\\":\\"{FOREIGN}\\"}}}}", "status": "INVALID_ARGUMENT"}}}}]',
    "LiteLLM": f"litellm.BadRequestError: AnthropicException - {foreign_thinking().body}. Received "
    "Model Group=claude-fable-5-1",
}


class ProviderError(Exception):
    """As the SDKs of OpenAI and Anthropic raise it."""

    def __init__(self, message: str, status_code: int | None = None, body: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.status_code = status_code
        self.body = body


class Answer:
    """An HTTP answer of which only the text tells what is wrong."""

    def __init__(self, text: str | None, status_code: int = 400) -> None:
        self.status_code = status_code
        self._text = text

    @property
    def text(self) -> str:
        if self._text is None:
            raise RuntimeError("the stream was not read")
        return self._text


class HTTPStatusError(Exception):
    def __init__(self, response: Answer) -> None:
        super().__init__("Client error for url 'https://llm.example/v1'")
        self.response = response


@pytest.mark.parametrize("text", TOO_LONG.values(), ids=TOO_LONG)
def test_each_provider_is_understood_when_it_says_too_long(text: str) -> None:
    assert is_overflow(text)
    assert is_overflow({"type": "error", "error": {"type": "invalid_request", "message": text}})
    assert is_overflow(ProviderError(text, 400))


@pytest.mark.parametrize("provider", WINDOWS)
def test_the_window_that_an_error_names_is_read(provider: str) -> None:
    assert window_named(TOO_LONG[provider]) == WINDOWS[provider]


@pytest.mark.parametrize(
    "provider", ["Bedrock", "OpenAI", "Anthropic, bytes", "MiniMax", "Ollama", "z.ai"]
)
def test_an_error_that_names_no_window_has_none(provider: str) -> None:
    assert window_named(TOO_LONG[provider]) is None


def test_a_window_in_a_field_of_the_body_is_read() -> None:
    body = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 1024}}

    assert window_named(body) == (1024, 1407)
    assert window_named(ProviderError("the request exceeds it", 400, body)) == (1024, 1407)


@pytest.mark.parametrize("text", NOT_TOO_LONG.values(), ids=NOT_TOO_LONG)
def test_other_errors_are_not_taken_for_it(text: str) -> None:
    assert not is_overflow(text)
    assert not is_overflow({"error": {"message": text}})
    assert not is_overflow(ProviderError(text, 400))


@pytest.mark.parametrize("text", FOREIGN_THINKING.values(), ids=FOREIGN_THINKING)
def test_thinking_of_another_conversation_is_known_and_no_overflow(text: str) -> None:
    try:
        raise RuntimeError("the agent stopped") from ProviderError(text, 400)
    except RuntimeError as wrapped:
        said = [
            text,
            {"type": "error", "error": {"type": "invalid_request_error", "message": text}},
            ProviderError(text, 400),
            ProviderError("Bad request", 400, {"error": {"message": text}}),
            HTTPStatusError(Answer(text)),
            wrapped,
        ]
    for error in said:
        assert is_foreign_thinking(error)
        assert not is_overflow(error)


@pytest.mark.parametrize("text", [*TOO_LONG.values(), *NOT_TOO_LONG.values()])
def test_other_errors_say_nothing_of_thinking(text: str) -> None:
    assert not is_foreign_thinking(text)
    assert not is_foreign_thinking(ProviderError(text, 400))
    assert not is_foreign_thinking(too_long().body)


def test_the_code_in_the_body_is_enough() -> None:
    body = {"error": {"message": "Bad request", "code": "context_length_exceeded"}}

    assert is_overflow(body)
    assert is_overflow(ProviderError("Bad request", 400, body))
    assert is_overflow(ProviderError("too much", body={"error": {"type": "request_too_large"}}))


def test_the_answers_text_is_read_where_the_exception_says_nothing() -> None:
    assert is_overflow(HTTPStatusError(Answer('{"message": "prompt is too long"}')))
    assert not is_overflow(HTTPStatusError(Answer('{"message": "no such model"}')))
    assert not is_overflow(HTTPStatusError(Answer(None)))
    assert is_overflow(HTTPStatusError(Answer(None, 413)))


def test_the_cause_of_an_exception_is_looked_at() -> None:
    try:
        try:
            raise ProviderError("prompt is too long: 9 tokens > 8 maximum", 400)
        except ProviderError as error:
            raise RuntimeError("the agent stopped") from error
    except RuntimeError as wrapped:
        assert is_overflow(wrapped)


def test_status_413_is_too_long_and_status_429_never_is() -> None:
    assert is_overflow(ProviderError("no", 413))
    assert is_overflow({"status": 413})
    assert is_overflow("413")
    assert not is_overflow(ProviderError("prompt is too long", 429))
    assert not is_overflow({"status": 503, "message": "too many tokens"})


def test_a_number_in_the_body_is_not_a_status() -> None:
    assert not is_overflow({"error": {"message": "no"}, "usage": {"input_tokens": 413}})
    assert is_overflow({"error": {"message": "prompt is too long"}, "usage": {"tokens": 429}})


def test_a_bare_400_is_too_long_only_from_cerebras() -> None:
    for bare in ("400 status code (no body)", ProviderError("400 status code (no body)", 400)):
        assert is_overflow(bare, provider="cerebras")
        assert is_overflow(bare, provider="Cerebras")
        assert not is_overflow(bare, provider="groq")
        assert not is_overflow(bare)
    assert not is_overflow("400 model not found", provider="cerebras")


def test_an_echo_of_the_conversation_far_behind_is_not_read() -> None:
    echo = "unexpected role. Request: " + "x" * 5000 + " prompt is too long"

    assert not is_overflow(echo)


@pytest.mark.parametrize(
    ("reason", "used", "answered", "overflowed"),
    [
        ("stop", 210_000, 50, True),
        ("end_turn", 200_001, 50, True),
        ("stop", 200_000, 50, False),
        ("length", 198_000, 0, True),
        ("max_tokens", 198_000, 0, True),
        ("length", 198_000, 12, False),
        ("length", 100_000, 0, False),
        ("model_context_window_exceeded", 10, 5, True),
        ("tool_use", 10, 5, False),
        (None, 210_000, 5, False),
    ],
)
def test_an_answer_can_show_that_the_conversation_did_not_fit(
    reason: str | None, used: int, answered: int, overflowed: bool
) -> None:
    assert silent_overflow(reason, used, answered, 200_000) is overflowed


@pytest.mark.parametrize(
    "text",
    [
        "<html><head><title>413 Request Entity Too Large</title></head></html>",
        "prompt is too long: 213462 tokens > 001 maximum",
        "request too large: the limit is 32000000 bytes",
        "prompt is too long; the limit is 2000 messages",
    ],
)
def test_numbers_of_other_things_name_no_window(text: str) -> None:
    assert window_named(text) is None
