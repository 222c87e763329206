"""The answer of `/chat/completions`, gathered from its chunks or from one object.

Servers leave out or add parts of it, so each part is read on its own.
"""

import re
from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.summaries.llms.failures import (
    Failure,
    called_a_tool,
    cut_off,
    empty,
    refused,
    unfinished,
)
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

THOUGHTS = re.compile(
    r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)"  # Qwen, DeepSeek and others
    r"|\s*\[THINK\].*?(?:\[/THINK\]|\Z)"  # Magistral
    r"|(?:(?!<think).)*?^</think>[ \t]*$",  # templates of DeepSeek write the first tag themselves
    re.S | re.M,
)
"""Thoughts at the beginning of an answer, where a server does not separate them itself."""
CHARACTERS_A_TOKEN = 10
"""A text has fewer characters to a token than this; if it seems to have more, it was not all read.
"""


class ChatAnswer:
    """An answer: its text, why it ended, and its usage."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._reason: str | None = None
        self._model: str | None = None
        self._usage: Any = None

    def take(self, part: Any) -> None:
        """Add a chunk of a stream, or a complete answer."""
        self._model = getattr(part, "model", None) or self._model
        self._usage = getattr(part, "usage", None) or self._usage  # some send it in each chunk
        choices: list[Any] = getattr(part, "choices", None) or []
        for choice in choices[:1]:
            message = getattr(choice, "delta", None) or getattr(choice, "message", None)
            self._texts.append(_text_of(getattr(message, "content", None)))
            self._refusals.append(getattr(message, "refusal", None) or "")
            self._reason = getattr(choice, "finish_reason", None) or self._reason

    @property
    def reply(self) -> SummaryReply:
        """The text without thoughts, and the tokens of the call."""
        details = _part(self._usage, "prompt_tokens_details")
        text = "".join(self._texts).strip()
        if thoughts := THOUGHTS.match(text):
            text = text[thoughts.end() :].strip()
        return SummaryReply(
            text,
            model=self._model,
            input_tokens=_tokens(self._usage, "prompt_tokens"),
            output_tokens=_tokens(self._usage, "completion_tokens"),
            cache_read_tokens=_tokens(details, "cached_tokens"),
            cache_write_tokens=_tokens(details, "cache_write_tokens"),
        )

    def why_no_summary(self, request: SummaryRequest, model: str) -> Failure | None:
        """The reason why this answer contains no summary; `None` if it does."""
        reply = self.reply
        read, sent = reply.input_tokens, len(request.system) + len(request.prompt)
        if 0 < read * CHARACTERS_A_TOKEN < sent:  # Ollama cuts what is beyond its `num_ctx`
            return Failure(
                f"{model} read only the last {read:,} tokens of the request: the server's window "
                "is smaller. Raise it (in Ollama: num_ctx), or summarise less at once.",
                retryable=False,
                too_long=True,
            )
        if any(self._refusals):
            return refused(model)
        match self._reason:
            case "length" if not reply.text and self._usage and not reply.output_tokens:
                return Failure(
                    f"The request leaves {model} no room for an answer.",
                    retryable=False,
                    too_long=True,
                )
            case "length":
                return cut_off(model)
            case "content_filter":
                return refused(model)
            case "stop":
                return None if reply.text else empty(model)
            case "tool_calls" | "function_call":
                return called_a_tool(model)
            case reason:
                return unfinished(model, reason)


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
