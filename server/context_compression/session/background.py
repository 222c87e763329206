"""Compressions beside the agent's work: prepared early, and written when they are due.

One is written only if the view still begins with the messages that it covers; messages that came
meanwhile stay behind it. So no request waits for a model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

from context_compression.session.compressing import Compressor, Need, PlannedCompression
from context_compression.session.pacing import Pace
from context_compression.session.preparation import Preparation
from context_compression.session.recorded import RecordedConversation
from context_compression.session.requests import settings_for
from context_compression.settings import Settings
from context_compression.summaries.asking import asked
from context_compression.summaries.summarizer import Summarizer, SummaryRequest
from context_compression.threads import check_cancelled

EARLY = 0.85
"""The share of the threshold from which on a compression is prepared."""


def early(settings: Settings) -> int:
    """The tokens from which on a compression is prepared."""
    return max(1, int(EARLY * settings.threshold_tokens))


def latest(settings: Settings) -> int:
    """The most tokens that are sent as they are while a compression is being prepared.

    This is half way from the threshold to the end of the context window: the answer needs room.
    """
    return (settings.threshold_tokens + settings.token_budget) // 2


def settings_of_early(settings: Settings) -> Settings:
    """The settings of a compression that is due early and leaves room for what comes meanwhile."""
    budget, target = settings.token_budget, settings.target_tokens
    meanwhile = settings.threshold_tokens - early(settings)
    return settings.changed(
        {
            "trigger_threshold": early(settings) / budget,
            "target_usage": max(1, target - meanwhile, target // 2) / budget,
        }
    )


@dataclass(frozen=True)
class Alone:
    """A `Summarizer` that first cancels what is prepared, so that never two run at once."""

    summarizer: Summarizer
    discard: Callable[[], object]

    async def summarize(self, request: SummaryRequest) -> Any:
        """The summary of the summarizer."""
        self.discard()
        return await asked(self.summarizer, request)


class Background:
    """Prepares the compressions of one session beside its requests, one at a time."""

    _last: Preparation | None = None

    def __init__(self) -> None:
        self._starts = Pace()
        self._lock = RLock()

    def __del__(self) -> None:
        """Nobody needs the preparation any more."""
        self.discard()

    @property
    def warnings(self) -> list[str]:
        """What went wrong the last time, in a sentence."""
        problem = self._last.problem if self._last else None
        return [f"the compression in the background: {problem}"] if problem else []

    def run(self, compressor: Compressor, need: Need) -> None:
        """Do what a request may wait for; the rest begins in a thread."""
        if now := self._step(compressor, need):
            compressor.without_waiting().run(now)

    def discard(self) -> None:
        """Cancel what is being prepared, and throw away what is ready."""
        if self._last:
            self._last.cancel()

    def alone(self, summarizer: Summarizer | None) -> Summarizer | None:
        """The summarizer for a compression of the caller's: what is prepared is cancelled first."""
        return Alone(summarizer, self.discard) if summarizer else None

    def close(self) -> None:
        """`discard`, and wait for the end."""
        self.discard()
        if self._last:
            self._last.wait()

    def _step(self, compressor: Compressor, need: Need) -> PlannedCompression | None:
        """The compression that the request itself must make, without a model: it has no room."""
        conversation, settings = compressor.conversation, compressor.conversation.settings
        if not settings.auto_compress:
            return None
        due, used = need.due, need.used
        with self._lock:
            self._discard_outdated(conversation)
            if due and self._is_written(compressor):
                used = conversation.usage().used_tokens.upper
                due = due if used > latest(settings) else None
            needs_summary = compressor.summarizer and settings.on_summary_failure == "skip"
            if due and used > latest(settings) and not needs_summary:
                self.discard()
                return due
            if self._last and self._last.is_elsewhere:
                self._starts.tried(0)
            has_grown = self._starts.worth_trying(used)  # asked each time: it notes a smaller view
            if has_grown and (due or used >= early(settings)):
                self._start_if_worth_it(compressor, replace(need, due=due, used=used))
        return None

    def _discard_outdated(self, conversation: RecordedConversation) -> None:
        """Cancel the preparation if the messages that it covers were edited, or are gone."""
        last = self._last
        if last and last.is_awaited and not last.fits(conversation.state()):
            last.cancel()

    def _is_written(self, compressor: Compressor) -> bool:
        """Whether a compression was ready, and was written."""
        last = self._last
        if not (last and last.result):
            return False
        check_cancelled()
        result, last.result = last.result, None  # an error throws it away
        if compressor.write(result, last.covered):
            return True
        last.result = result  # another compression runs
        return False

    def _start_if_worth_it(self, compressor: Compressor, need: Need) -> None:
        """Start a preparation, if none runs or is ready."""
        conversation = compressor.conversation
        if self._last and self._last.is_awaited:
            return
        usage = conversation.usage()
        is_early = need.due is None and usage.used_tokens.upper < early(conversation.settings)
        if is_early or not compressor.pace.worth_trying(usage.used_tokens):
            return
        self._starts.tried(need.used)
        given = need.options()
        asked = settings_for(conversation, given.pop("settings", None))
        settings = settings_of_early(asked)
        is_set = "target_usage" in asked.model_fields_set  # otherwise ours is not chosen by anybody
        aim = {} if is_set else {"aim": settings.target_tokens}
        options = {**aim, **given, "settings": settings}
        self._last = Preparation(compressor, conversation.state(), options, int(usage.used_tokens))
        self._last.start()
