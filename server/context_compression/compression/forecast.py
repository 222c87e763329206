"""What a summary would take, and whether it pays, without asking any model."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Self

from context_compression.compression.result import Result
from context_compression.conversation.formats import parse
from context_compression.display.plurals import how_many
from context_compression.summaries.llms.prices import OUTPUT, READ, WRITE
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.tokens import Counter
from context_compression.tokens.usage import Messages

ASSUMED_SHARE = 0.2
"""Of its source, and of a target: so long a summary that nobody has written yet is taken to be."""
RECORD = re.compile(r"<conversation>\n(.*)\n</conversation>", re.S)


@dataclass
class PlaceholderSummarizer:
    """A `Summarizer` that writes nothing, but as much of it as a summary may have.

    Attributes:
        tokens: of a summary, at most.
        requests: what it was asked.
        written: tokens it answered with.
    """

    tokens: int
    requests: list[SummaryRequest] = field(default_factory=list[SummaryRequest])
    written: int = 0

    @classmethod
    def of(cls, options: Mapping[str, Any], most: int) -> Self:
        """For a compression with these options; a small target leaves less room."""
        target = options.get("target_tokens")
        return cls(most if target is None else min(most, int(ASSUMED_SHARE * target)))

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Marks without a meaning, and a note that says so."""
        self.requests.append(request)
        tokens = max(
            1, min(self.tokens, int(ASSUMED_SHARE * Counter().text(conversation_in(request))))
        )
        self.written += tokens
        return SummaryReply(f"A summary would stand here.{' …' * tokens}")


@dataclass(frozen=True)
class Forecast:
    """What a summary would take.

    Attributes:
        messages: how many it would stand for.
        tokens: of those.
        calls: requests to the model.
        input_tokens: of all the requests.
        max_output_tokens: of all the answers.
        summary_tokens: that were assumed.
        cached: how many messages a prompt cache still covers afterwards.
        written_anew: tokens of the others.
        pays_after: requests, a prompt cache in use, from which on it was cheaper to compress;
            `None` when that is never.
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
    """What a compression would do, and what a summary in it would take; asks nobody.

    Args:
        preview: of a session; must not be called in an event loop.
        messages: to compress.
        options: of the compression.
        counter: counts as `preview` does.
        most: tokens of a summary.
        by_caller: the calling agent writes, which has the conversation before it already.
    """
    stand_in = PlaceholderSummarizer.of(options, most)
    result = preview(messages, summarizer=stand_in, **options)
    return result, _forecast(result, messages, stand_in, counter, by_caller)


def _forecast(
    result: Result,
    messages: Messages,
    asked: PlaceholderSummarizer,
    counter: Counter,
    by_caller: bool,
) -> Forecast | None:
    """`None` where no summary would be written."""
    if result.summary is None or result.first_changed is None:
        return None
    wanted = [r.instructions if by_caller else f"{r.system}\n{r.prompt}" for r in asked.requests]
    input_tokens = sum(map(counter.text, wanted))
    anew = counter.messages(parse(result.messages[result.first_changed :]).messages)
    once = anew * (WRITE - READ) + input_tokens + asked.written * OUTPUT
    each = result.tokens_freed * READ
    return Forecast(
        messages=len(result.compressed),
        tokens=counter.messages(parse([messages[i] for i in result.compressed]).messages),
        calls=len(asked.requests),
        input_tokens=input_tokens,
        max_output_tokens=sum(request.max_tokens for request in asked.requests),
        summary_tokens=asked.written,
        cached=result.first_changed,
        written_anew=anew,
        pays_after=ceil(once / each) if each > 0 else None,
    )


def cache_sentence(found: Forecast) -> str:
    """Whether the prompt cache makes it worth it, in a sentence."""
    pays = "it never pays back"
    stay = "stays" if found.cached == 1 else "stay"
    are = "is" if found.written_anew == 1 else "are"
    if found.pays_after is not None:
        pays = f"the compression pays back after {how_many(found.pays_after, 'further request')}"
    return (
        f"with a prompt cache (write {WRITE:g}, read {READ:g}, output {OUTPUT:g} times the input "
        f"price) {pays}: {how_many(found.cached, 'message')} {stay} cached, "
        f"{how_many(found.written_anew, 'token')} {are} written anew"
    )


def conversation_in(request: SummaryRequest) -> str:
    """The record of the conversation in a request."""
    found = RECORD.search(request.prompt)
    return found[1] if found else request.prompt


def first_words(texts: Sequence[str], most: int = 80) -> str:
    r"""`["", "Look at\n  this"]` -> `"Look at this"`; cut after `most` characters."""
    words = " ".join(" ".join(texts).split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
