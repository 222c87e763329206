"""The answer of `/chat/completions`, gathered from its chunks or from one object.

Servers leave out or add parts of it, so each part is read on its own.
"""

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
from context_compression.summaries.llms.thoughts import without_thoughts
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.tokens import CHARACTERS_A_TOKEN, sure_characters

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
