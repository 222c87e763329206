"""Compressions beside the agent's work: prepared early in a thread, and written when they are due.

One is written only if the view still begins with the messages that it covers; messages that came
meanwhile stay behind it. So no request waits for a model.
"""

import logging
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event as Flag
from threading import RLock, Thread, current_thread
from typing import Any, TypeAlias

from context_compression.compression.result import Result
from context_compression.compression.run import compress
from context_compression.listening import RunningCompaction, heard, variables_here
from context_compression.session.compressing import (
    Compressor,
    end_event,
    free,
    request_beside,
    settings_for,
)
from context_compression.session.pacing import Event, Pace, PlannedCompression
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.summaries.summarizer import Summarizer, SummaryRequest, asked
from context_compression.threads import OwnLoop, check_cancelled, working_for

logger = logging.getLogger(__name__)
Options: TypeAlias = Callable[[], dict[str, Any]]
ENDING_SECONDS = 5.0
"""How many seconds to wait at most for the end of a preparation that was cancelled."""


class Preparation:
    """One compression that is prepared; it keeps nothing of its session alive.

    Attributes:
        covered: the messages that it compresses: the view at its start.
        result: the prepared compression, until it is written or cancelled.
        problem: why it has no summary, or no result; `None` if all went well.
        is_elsewhere: whether it did not begin, because the conversation is being compressed by
            another session, or beside one.
        thread: runs it; the interpreter does not wait for it at its exit.
    """

    result: Result | None = None
    problem: str | None = None
    is_elsewhere = False

    def __init__(
        self, compressor: Compressor, state: State, options: Mapping[str, Any], tokens: int
    ) -> None:
        """Prepare nothing yet; `tokens` are in use."""
        conversation = compressor.conversation
        self.covered = state.view
        self._conversation = weakref.ref(conversation)
        self._model, self._beginner = conversation.model, variables_here()
        self._log, self._summarizer = conversation.log, compressor.summarizer
        self._request = request_beside(conversation, state, **options)
        self._on_event = compressor.on_event
        self._started = Event("start", "background", tokens, session=conversation.id)
        self._ended, self._is_cancelled, self._loop = Flag(), False, OwnLoop()
        self.thread = Thread(target=self._run, name="context-compression", daemon=True)

    @property
    def is_awaited(self) -> bool:
        """Whether it has a result, or may still have one."""
        return self.result is not None or not (self._ended.is_set() or self._is_cancelled)

    def cancel(self) -> None:
        """Cancel it and throw its result away, without waiting; may be called from any thread."""
        self._is_cancelled, self.result = True, None
        self._loop.cancel()

    def wait(self) -> None:
        """Wait for the end after a cancellation, but not in the thread that must bring it about."""
        if self.thread is not current_thread():
            self._ended.wait(ENDING_SECONDS)

    def _run(self) -> None:
        try:
            with self._loop, working_for(self._loop):
                if end := self._prepared_alone():
                    self._ended.set()
                    self._on_event(end)
        except BaseException as error:  # of the store, or of a task of the summarizer
            if not self._is_cancelled:
                self._fail(error)
        finally:
            self._ended.set()

    def _prepared_alone(self) -> Event | None:
        """The event of the end; `None` if it must not begin."""
        with free(self._log.preparing) as alone:
            with free(self._log.locked) as free_to_compress:
                self.is_elsewhere = not (alone and free_to_compress)
            return None if self.is_elsewhere or self._is_cancelled else self._prepared()

    def _prepared(self) -> Event:
        tokens = self._started.tokens_before
        aborted = replace(self._started, kind="end", tokens_after=tokens, aborted=True)
        self._on_event(self._started)
        try:
            with heard(self._compaction()) as end:
                result = compress(self._request, self._summarizer)
                end(result)
        except BaseException as error:
            if self._is_cancelled and not isinstance(error, Exception):
                self._on_event(replace(aborted, error="cancelled"))
                raise
            return replace(aborted, error=self._fail(error))
        self.problem = result.no_summary or None
        if result.changed and not self._is_cancelled:
            self.result = result
        return replace(end_event(self._started, result), first_kept=None)  # not recorded yet

    def _compaction(self) -> RunningCompaction:
        """What listeners hear of; nobody keeps it, because it would keep the session alive."""
        return RunningCompaction("background", self._conversation(), self._model, self._beginner)

    def _fail(self, error: BaseException) -> str:
        """Note an error, which the log tells now, and `status` until the next preparation."""
        said = str(error) if isinstance(error, Exception) else repr(error)
        self.problem = said or type(error).__name__
        logger.warning("session %s, in the background: %s", self._started.session, self.problem)
        return self.problem


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

    def run(
        self, compressor: Compressor, due: PlannedCompression | None, used: int, options: Options
    ) -> None:
        """Do what a request may wait for; the rest begins in a thread.

        Args:
            compressor: of the session.
            due: the compression that is due before the request; `None` if none is.
            used: the upper bound of the tokens in use.
            options: makes those of `Session.compress` when a compression starts.
        """
        with self._lock:
            now = self._step(compressor, due, used, options)
        if now:
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

    def _step(
        self, compressor: Compressor, due: PlannedCompression | None, used: int, options: Options
    ) -> PlannedCompression | None:
        """The compression that the request itself must make, without a model: it has no room."""
        conversation, last = compressor.conversation, self._last
        settings = conversation.settings
        if not settings.auto_compress:
            return None
        if last and last.is_awaited:
            view = conversation.state().view
            if view[: len(last.covered)] != last.covered:  # they were edited, or are gone
                last.cancel()
        if due and self._is_written(compressor):
            used = conversation.usage().used_tokens.upper
            due = replace(due, usage=None) if used > latest(settings) else None
        needs_summary = compressor.summarizer and settings.on_summary_failure == "skip"
        if due and used > latest(settings) and not needs_summary:
            self.discard()
            return due
        if last and last.is_elsewhere:
            self._starts.tried(0)
        has_grown = self._starts.worth_trying(used)  # asked each time: it notes a smaller view
        if has_grown and (due or used >= early(settings)) and not (last and last.is_awaited):
            self._start_if_worth_it(compressor, used, options, is_due=due is not None)
        return None

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

    def _start_if_worth_it(
        self, compressor: Compressor, used: int, options: Options, *, is_due: bool
    ) -> None:
        conversation, usage = compressor.conversation, compressor.conversation.usage()
        is_early = not is_due and usage.used_tokens.upper < early(conversation.settings)
        if is_early or not compressor.pace.worth_trying(usage.used_tokens):
            return
        self._starts.tried(used)
        given = options()
        asked = settings_for(conversation, given.pop("settings", None))
        settings = settings_of_early(asked)
        is_set = "target_usage" in asked.model_fields_set  # otherwise ours is not chosen by anybody
        aim = {} if is_set else {"aim": settings.target_tokens}
        given |= {**aim, **given, "settings": settings}
        self._last = Preparation(compressor, conversation.state(), given, int(usage.used_tokens))
        self._last.thread.start()
