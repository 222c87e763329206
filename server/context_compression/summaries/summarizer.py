"""Who writes a summary, and what is asked of them."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class SummaryRequest:
    """What a model is asked: one text, no tools.

    Attributes:
        system: instructions.
        prompt: the user message: the record of the conversation, then the instructions.
        max_tokens: limit of the answer.
        model: the model of the settings, else the conversation's own, where it is known.
        attempts: calls in all that may be made for it, the first included.
        instructions: those of the prompt alone, for an agent that still has the conversation.
    """

    system: str
    prompt: str
    max_tokens: int
    model: str | None = None
    attempts: int = 3
    instructions: str = ""


@dataclass(frozen=True)
class SummaryReply:
    """What came back.

    Attributes:
        text: the summary.
        model: who wrote it.
        input_tokens: what the call was charged for, caches included.
        output_tokens: likewise.
        cache_read_tokens: of the input, what a prompt cache held.
        cache_write_tokens: of the input, what was written into one.
        cost: in US dollars, where the summarizer was told a price; we keep no list of prices.
    """

    text: str
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None


class Summarizer(Protocol):
    """Writes summaries. One method, so that anybody can bring their own."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary asked for.

        Raises:
            SummaryError: there is none: an error of the provider, an empty or cut off answer, a
                refusal, a tool call.
        """
        ...
