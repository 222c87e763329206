"""The requests to a model for a summary."""

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from context_compression.conversation.messages import Message
from context_compression.display.fences import sealed
from context_compression.display.plurals import how_many
from context_compression.display.strings import in_words
from context_compression.errors import SummaryError
from context_compression.evidence.redaction import redact
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.summarize.sizes import RequestSize
from context_compression.summaries.serialization import serialize
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from context_compression.summaries.acceptance import Source

logger = logging.getLogger(__name__)
TOO_LARGE = "The summary is not smaller than what it summarises."
TextRequest: TypeAlias = Generator[SummaryRequest, SummaryReply, str]
"""Yields requests, receives the replies, returns a text."""


def prompt(name: str, plan: Plan, target_tokens: int) -> str:
    """An instruction with the target filled in: the user's own, else the one in this package."""
    text = plan.archive.prompt(name)
    if text is None:
        folder = files("context_compression.summaries") / "prompts"
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("{target_tokens}", str(target_tokens)).strip()


class Requests:
    """Requests the summaries of one plan.

    Attributes:
        replies: all replies, in order.
    """

    def __init__(self, plan: Plan, target_tokens: int) -> None:
        """Requests for summaries of a plan, with a target size of `target_tokens`."""
        self._plan = plan
        self._size = RequestSize.of_settings(plan.settings, target_tokens)
        self._failed = FailedAttempts()
        self.replies: list[SummaryReply] = []

    def summary_of(
        self, messages: Sequence[Message], name: str, earlier: str | None, most: int
    ) -> TextRequest:
        """One summary; a record that is too long is sent in parts, each updating the last summary.

        Args:
            messages: the messages to summarise.
            name: the name of the instructions for a first summary.
            earlier: the summary to update; `None` or `""` if there is none.
            most: the tokens that the summary must stay below.

        Raises:
            SummaryError: no usable summary was given; its text names every attempt.
        """
        plan = self._plan
        while True:
            parts = serialize(messages, self._size.record, plan.counter.text, plan.archive.original)
            text, record = earlier, ""
            try:
                for record in parts:
                    text = yield from self._reply(record, name, text, most)
                return text or ""
            except SummaryError as error:
                smaller = error.too_long and self._smaller(error, record, name, text)
                if not smaller:
                    raise self._failed.as_error(error) from None
                self._size = smaller

    def _smaller(
        self, refused: SummaryError, record: str, name: str, earlier: str | None
    ) -> RequestSize | None:
        """The size of the next requests, after one with this part of the record was too long."""
        count, request = self._plan.counter.text, self._request(record, name, earlier)
        tokens = count(record)
        return self._size.after(
            refused, tokens, count(request.system) + count(request.prompt) - tokens
        )

    def _reply(self, record: str, name: str, earlier: str | None, most: int) -> TextRequest:
        """The answer to one request, repeated while that may help and attempts are left.

        A summarizer that repeats a request itself reports its attempts; all attempts count.
        """
        request = self._request(record, name, earlier)
        from context_compression.summaries.acceptance import Source  # loads only when needed

        source = Source(record, earlier or "", self._plan.counter.text)
        while True:
            try:
                reply = yield request
                self.replies.append(reply)
                return self._checked(reply, request, source, most)
            except SummaryError as error:
                self._failed.add(error)
                left = request.attempts - error.attempts
                if not error.retryable or error.too_long or left < 1:
                    raise
                logger.info("asking again for a summary: %s", error)
                request = replace(request, attempts=left)

    def _checked(
        self, reply: SummaryReply, request: SummaryRequest, source: "Source", most: int
    ) -> str:
        """The text of an answer.

        Raises:
            SummaryError: it is no summary.
        """
        text = reply.text.strip()
        if not text:
            raise SummaryError("The summary is empty.")
        if self._plan.counter.text(text) >= most:
            raise SummaryError(TOO_LARGE)
        if reply.stands_in:
            return text
        from context_compression.summaries.acceptance import why_no_summary

        if why := why_no_summary(text, request.instructions, source, system=request.system):
            raise SummaryError(f"The answer is no summary: {why}.")
        return text

    def _request(self, record: str, name: str, earlier: str | None) -> SummaryRequest:
        """The request: the record, the earlier summary, the instructions."""
        plan, size = self._plan, self._size
        parts = [f"<conversation>\n{sealed(record, 'conversation')}\n</conversation>"]
        if earlier:
            before = sealed(redact(earlier), "previous-summary")
            parts.append(f"<previous-summary>\n{before}\n</previous-summary>")
        instructions = prompt("update" if earlier else name, plan, size.summary)
        if plan.focus:
            focus = in_words(redact(plan.focus), measured.FOCUS_CHARS)
            instructions += f"\n\nAdditional focus: {focus}"
        return SummaryRequest(
            system=prompt("system", plan, size.summary),
            prompt="\n\n".join([*parts, instructions]),
            instructions=instructions,
            max_tokens=size.answer,
            model=plan.settings.summary_model or plan.model,
            attempts=plan.settings.summary_attempts,
            seconds=plan.settings.summary_seconds,
        )


class FailedAttempts:
    """The attempts at a summary that gave none, and why."""

    def __init__(self) -> None:
        self._reasons: list[str] = []

    def add(self, error: SummaryError) -> None:
        """Note a failed request; a summarizer that repeated it says so in its text."""
        self._reasons.append(str(error))

    def as_error(self, last: SummaryError) -> SummaryError:
        """The last error, whose text names all attempts: `down (2 attempts)`."""
        text = str(last)
        if len(self._reasons) > 1:
            ways = [(why, len([*group])) for why, group in groupby(self._reasons)]
            times = how_many(len(self._reasons), "attempt")
            text = f"{ways[0][0]} ({times})" if len(ways) == 1 else f"{times}: {_in_order(ways)}"
        return SummaryError(
            text, retryable=last.retryable, too_long=last.too_long, attempts=last.attempts
        )


def _in_order(ways: Sequence[tuple[str, int]]) -> str:
    """Reasons with their numbers: `1: down; 2 and 3: the answer is empty`."""
    told: list[str] = []
    first = 1
    for why, times in ways:
        last = first + times - 1
        joined = " and " if times == 2 else " to "
        told.append(f"{first}{f'{joined}{last}' if times > 1 else ''}: {why}")
        first = last + 1
    return "; ".join(told)
