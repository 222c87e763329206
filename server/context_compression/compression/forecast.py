"""A forecast of the cost of a summary, and whether it pays; no model is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Self

from context_compression.compression.result import Result
from context_compression.conversation.formats import parse
from context_compression.plurals import how_many
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.tokens import Counter
from context_compression.tokens.prices import OUTPUT, READ, WRITE
from context_compression.tokens.usage import Messages

ASSUMED_SHARE = 0.2
"""The assumed size of a summary that is not written yet, as a share of its source, and at most this
share of a target."""
BEGINS, ENDS = "<conversation>\n", "\n</conversation>"
"""What stands before and after the conversation in the prompt of a request."""


@dataclass
class PlaceholderSummarizer:
    """A `Summarizer` that answers with filler of the size that a summary would have.

    Attributes:
        tokens: the most tokens of a summary.
        requests: all requests it received.
        written: the tokens of all its answers.
    """

    tokens: int
    requests: list[SummaryRequest] = field(default_factory=list[SummaryRequest])
    written: int = 0

    @classmethod
    def of(cls, options: Mapping[str, Any], most: int) -> Self:
        """A placeholder for a compression with these options; a small target leaves less room."""
        target = options.get("target_tokens")
        if target is None:
            return cls(most)
        return cls(min(most, int(ASSUMED_SHARE * target)))

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """A sentence that says it stands in for a summary, and filler."""
        self.requests.append(request)
        source_tokens = Counter().text(conversation_in(request))
        tokens = max(1, min(self.tokens, int(ASSUMED_SHARE * source_tokens)))
        self.written += tokens
        text = f"## Goal\nA summary would stand here.{' …' * tokens}"
        return SummaryReply(text, stands_in=True)


@dataclass(frozen=True)
class Forecast:
    """The cost of a summary.

    Attributes:
        messages: how many messages it would replace.
        tokens: the tokens of those messages.
        calls: how many requests to the model it takes.
        input_tokens: the tokens of all these requests.
        max_output_tokens: the most tokens of all answers.
        summary_tokens: the assumed tokens of all answers.
        cached: how many messages a prompt cache still covers afterwards.
        written_anew: the tokens of the other messages, which are written to the cache again.
        pays_after: after how many further requests, with a prompt cache in use, the compression is
            cheaper than no compression; `None` if it never is.
    """

    messages: int
    tokens: int
    calls: int
    input_tokens: int
    max_output_tokens: int
    summary_tokens: int
    cached: int
    written_anew: int
    pays_after: int | None


def forecast_summary(
    preview: Callable[..., Result],
    messages: Messages,
    options: Mapping[str, Any],
    *,
    counter: Counter,
    most: int,
    by_caller: bool = False,
) -> tuple[Result, Forecast | None]:
    """The result that a compression would have, and the cost of its summary.

    The forecast is `None` if no summary would be written.

    Args:
        preview: `Session.preview`; it must not be called in an event loop.
        messages: the messages to compress.
        options: the options of the compression.
        counter: counts in the same tokens as `preview`.
        most: the most tokens of a summary.
        by_caller: whether the calling agent writes the summary. It has the conversation in its
            context already, so only the instructions count as input.
    """
    placeholder = PlaceholderSummarizer.of(options, most)
    result = preview(messages, summarizer=placeholder, **options)
    return result, _forecast(result, messages, placeholder, counter, by_caller)


def _forecast(
    result: Result,
    messages: Messages,
    summarizer: PlaceholderSummarizer,
    counter: Counter,
    by_caller: bool,
) -> Forecast | None:
    if result.summary is None or result.first_changed is None:
        return None
    requests = summarizer.requests
    prompts = [r.instructions if by_caller else f"{r.system}\n{r.prompt}" for r in requests]
    input_tokens = sum(map(counter.text, prompts))
    rewritten = counter.messages(parse(result.messages[result.first_changed :]).messages)
    cost_once = rewritten * (WRITE - READ) + input_tokens + summarizer.written * OUTPUT
    saved_each_time = result.tokens_freed * READ
    return Forecast(
        messages=len(result.compressed),
        tokens=counter.messages(parse([messages[i] for i in result.compressed]).messages),
        calls=len(requests),
        input_tokens=input_tokens,
        max_output_tokens=sum(request.max_tokens for request in requests),
        summary_tokens=summarizer.written,
        cached=result.first_changed,
        written_anew=rewritten,
        pays_after=ceil(cost_once / saved_each_time) if saved_each_time > 0 else None,
    )


def cache_sentence(forecast: Forecast) -> str:
    """A sentence on whether the compression pays with a prompt cache."""
    pays = "it never pays back"
    stay = "stays" if forecast.cached == 1 else "stay"
    are = "is" if forecast.written_anew == 1 else "are"
    if forecast.pays_after is not None:
        requests = how_many(forecast.pays_after, "further request")
        pays = f"the compression pays back after {requests}"
    return (
        f"with a prompt cache (write {WRITE:g}, read {READ:g}, output {OUTPUT:g} times the input "
        f"price) {pays}: {how_many(forecast.cached, 'message')} {stay} cached, "
        f"{how_many(forecast.written_anew, 'token')} {are} written again"
    )


def conversation_in(request: SummaryRequest) -> str:
    """The text of the conversation in a request; the complete prompt if it marks none."""
    begin, end = request.prompt.find(BEGINS), request.prompt.rfind(ENDS)
    inside = begin >= 0 and end >= begin + len(BEGINS)
    return request.prompt[begin + len(BEGINS) : end] if inside else request.prompt
