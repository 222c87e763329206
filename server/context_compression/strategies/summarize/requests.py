"""The requests to a model for a summary."""

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import TypeAlias

from context_compression.conversation.messages import Message
from context_compression.display.fences import sealed
from context_compression.display.strings import in_words
from context_compression.errors import SummaryError
from context_compression.evidence.redaction import redact
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.summaries.acceptance import why_no_summary
from context_compression.summaries.serialization import serialize
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

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
        self._plan, self._target_tokens = plan, target_tokens
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
            SummaryError: no usable summary was given.
        """
        plan, settings = self._plan, self._plan.settings
        room = int(measured.RECORD_SHARE * settings.token_budget) - settings.summary_limit
        budget = max(measured.LEAST_RECORD_TOKENS, room)
        for _ in range(measured.RECORD_HALVINGS):
            parts = serialize(messages, budget, plan.counter.text, plan.archive.original)
            text = earlier
            try:
                for part in parts:
                    text = yield from self._reply(self._request(part, name, text), most)
            except SummaryError as error:
                if not error.too_long:
                    raise
                budget //= 2
            else:
                return text or ""
        raise SummaryError(f"The record is too long for the model, even at {budget:,} tokens.")

    def _reply(self, request: SummaryRequest, most: int) -> TextRequest:
        """The answer to one request, repeated while that may help and attempts are left.

        A summarizer that repeats a request itself reports its attempts; all attempts count.
        """
        while True:
            try:
                reply = yield request
                self.replies.append(reply)
                text = reply.text.strip()
                if not text:
                    raise SummaryError("The summary is empty.")
                if self._plan.counter.text(text) >= most:
                    raise SummaryError(TOO_LARGE)
                if why := why_no_summary(text, request.instructions):
                    raise SummaryError(f"The answer is no summary: {why}.")
                return text
            except SummaryError as error:
                left = request.attempts - error.attempts
                if not error.retryable or error.too_long or left < 1:
                    raise
                logger.info("asking again for a summary: %s", error)
                request = replace(request, attempts=left)

    def _request(self, record: str, name: str, earlier: str | None) -> SummaryRequest:
        """The request: the record, the earlier summary, the instructions."""
        plan = self._plan
        parts = [f"<conversation>\n{sealed(record, 'conversation')}\n</conversation>"]
        if earlier:
            before = sealed(redact(earlier), "previous-summary")
            parts.append(f"<previous-summary>\n{before}\n</previous-summary>")
        instructions = prompt("update" if earlier else name, plan, self._target_tokens)
        if plan.focus:
            focus = in_words(redact(plan.focus), measured.FOCUS_CHARS)
            instructions += f"\n\nAdditional focus: {focus}"
        return SummaryRequest(
            system=prompt("system", plan, self._target_tokens),
            prompt="\n\n".join([*parts, instructions]),
            instructions=instructions,
            max_tokens=plan.settings.summary_limit,
            model=plan.settings.summary_model or plan.model,
            attempts=plan.settings.summary_attempts,
        )
