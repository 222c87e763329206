"""`Summarizer`: the interface to the author of a summary, with its request and its reply."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True)
class SummaryRequest:
    """A request to a model: one text, no tools.

    Attributes:
        system: instructions.
        prompt: the user message: the record of the conversation, then the instructions.
        max_tokens: the most tokens of the answer.
        model: the model of the settings, else that of the conversation, if it is known.
        attempts: the most calls for this request, including the first.
        instructions: the instructions of the prompt alone, for an agent that still has the
            conversation.
        seconds: how long the answer may take; `None` if no setting says so.
    """

    system: str
    prompt: str
    max_tokens: int
    model: str | None = None
    attempts: int = 3
    instructions: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class SummaryReply:
    """The reply to a request.

    Attributes:
        text: the summary.
        model: the id of the model that wrote it.
        input_tokens: tokens of the input that were charged, including cached tokens.
        output_tokens: tokens of the answer.
        cache_read_tokens: tokens of the input that were read from a prompt cache.
        cache_write_tokens: tokens of the input that were written into a prompt cache.
        cost: in US dollars, if the summarizer has a price; this package has no list of prices.
        stands_in: whether it only stands for a summary, in a forecast; then it is not judged.
    """

    text: str
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None
    stands_in: bool = False


class Summarizer(Protocol):
    """Writes summaries. It has one method, so that callers can bring their own.

    The method may be async or plain; a plain one runs in a thread. A function of the request alone
    is a summarizer, too.
    """

    def summarize(
        self, request: SummaryRequest
    ) -> Awaitable[SummaryReply | str] | SummaryReply | str:
        """The summary for a request, as a reply or as its text.

        Raises:
            SummaryError: there is no summary: an error of the provider, an empty or cut off answer,
                a refusal, or a tool call.
        """
        ...


SummaryFunction: TypeAlias = Callable[
    [SummaryRequest], Awaitable[SummaryReply | str] | SummaryReply | str
]
"""The same as a function."""
