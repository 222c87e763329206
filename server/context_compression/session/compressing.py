"""Runs a session's compressions: one at a time, announced by events."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from context_compression.compression.request import CompressionRequest
from context_compression.compression.result import Result
from context_compression.compression.run import compress
from context_compression.compression.thinking import without_thinking
from context_compression.listening import Compaction, heard
from context_compression.session.following import new_events
from context_compression.session.locks import acquired, free
from context_compression.session.pacing import Event, Pace, Reason
from context_compression.session.recorded import RecordedConversation
from context_compression.session.requests import (
    archiver_of,
    request_that_archives,
    settings_for,
)
from context_compression.summaries.summarizer import Summarizer
from context_compression.threads import before_writing
from context_compression.tokens.usage import Usage

LOCK_SECONDS = 30.0
"""How many seconds a compression waits for another compression of the same conversation."""


@dataclass(frozen=True)
class PlannedCompression:
    """A compression that is about to run.

    Attributes:
        reason: why it runs.
        options: those of `Session.compress`.
        messages: the conversation, if its host keeps it.
        loop: index in the view of the first message of a running tool loop, which stays as it is.
    """

    reason: Reason
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    messages: Sequence[Mapping[str, Any]] | None = None
    loop: int | None = None


@dataclass(frozen=True)
class Need:
    """What the next request needs.

    Attributes:
        due: the compression that is due before it; `None` if none is.
        used: the upper bound of the tokens in use.
        options: makes those of `Session.compress` when a compression starts.
        tokens: the tokens in use.
    """

    due: PlannedCompression | None
    used: int
    options: Callable[[], dict[str, Any]] = dict
    tokens: int = 0


@dataclass
class Progress:
    """The outcome of a running compression, as far as it is known.

    Attributes:
        result: set when the compression is done.
        usage: how full the context is afterwards, if that is counted already.
    """

    result: Result | None = None
    usage: Usage | None = None

    def done(self, result: Result) -> Result:
        """Store the result, and return it."""
        self.result = result
        return result


class _RecordedMeanwhile(Exception):
    """Another process was the first to record the conversation, while we compressed it."""


@dataclass(frozen=True)
class Compressor:
    """Runs the compressions of one conversation.

    Attributes:
        conversation: the conversation to compress.
        pace: records how large a compression left the view.
        summarizer: writes summaries; with `None`, no model is called.
        waits: whether a compression may wait for a summarizer; if not, it has none.
        on_event: called at the start and the end of a compression.
    """

    conversation: RecordedConversation
    pace: Pace
    summarizer: Summarizer | None
    on_event: Callable[[Event], object]
    waits: bool = True

    def without_waiting(self) -> "Compressor":
        """The same for a request that cannot wait for the summarizer, if there is one."""
        return replace(self, summarizer=None, waits=self.summarizer is None)

    def run(self, planned: PlannedCompression) -> Result:
        """The result of a compression, with its originals on disk.

        Raises:
            ContextCompressionError: as for `Session.compress`.
        """
        with self._announced(planned.reason, self.conversation.usage()) as progress:
            if first := self._first(planned):
                return progress.done(first)
            with acquired(self.conversation.log.locked, LOCK_SECONDS):
                return progress.done(self._compressed(planned))

    def write(self, result: Result, covered: Sequence[dict[str, Any]]) -> bool:
        """Write a compression that was prepared before; from then on, its view counts.

        Its summary was paid for when it was prepared, so the events tell no cost.

        Args:
            result: the compression.
            covered: the messages that it compresses.

        Returns:
            Whether it was written. It is not if another compression runs, or if the view does not
            begin with the covered messages any more.

        Raises:
            StoreError: a file cannot be written; the conversation is unchanged.
        """
        conversation = self.conversation
        with ExitStack() as announced, free(conversation.log.locked) as is_free:
            state = conversation.state()
            if not (is_free and state.view[: len(covered)] == covered):
                return False
            usage = conversation.usage()
            progress = announced.enter_context(self._announced("threshold", usage))
            kept = archiver_of(conversation, state, automatic=True).keep(covered, result)
            written = replace(
                result, files_removed=kept.files_removed, first_kept_index=kept.first_kept_index,
                tokens_after=int(usage.used_tokens) - result.tokens_freed, summary=None,
            )  # fmt: skip
            progress.done(written)
        return True

    def _first(self, planned: PlannedCompression) -> Result | None:
        """The result of the first compression in a store; `None` if the store is there already.

        The lock makes the folder of the store, so it is taken when there is something to write. A
        compression that is refused or not due writes nothing, not even an empty folder.
        """
        if self.summarizer or self.conversation.store.exists:
            return None
        log = self.conversation.log
        with ExitStack() as held:

            def lock() -> None:
                held.enter_context(log.locked())
                if log.exists:
                    raise _RecordedMeanwhile

            try:
                with before_writing(lock):
                    return self._compressed(planned)
            except _RecordedMeanwhile:
                return None

    def _compressed(self, planned: PlannedCompression) -> Result:
        request = self._request(planned)
        if planned.reason == "thinking":
            return without_thinking(request)
        return compress(request, self.summarizer)

    def _request(self, planned: PlannedCompression) -> CompressionRequest:
        """The request for the current state of the log."""
        state, pending = self.conversation.state(), list[dict[str, Any]]()
        if planned.messages is not None:
            pending = new_events(state, planned.messages, from_start=True)
        for event in pending:
            state.replay(event)
        settings = settings_for(self.conversation, planned.options.get("settings"))
        options = {**planned.options, "settings": settings, "waits": self.waits}
        if planned.loop is not None:
            options["pins"] = tuple(range(len(state.view))[planned.loop :])
        return request_that_archives(
            self.conversation, state, pending, _as_passed(planned.messages, state.view), **options
        )

    @contextmanager
    def _announced(self, reason: Reason, usage_before: Usage) -> Generator[Progress]:
        """Announce the compression to listeners, by events and to the pace, with its outcome."""
        conversation = self.conversation
        with heard(Compaction(reason, conversation, conversation.model)) as end:
            with self._with_events(reason, usage_before) as progress:
                yield progress
            end(progress.result)

    @contextmanager
    def _with_events(self, reason: Reason, usage_before: Usage) -> Generator[Progress]:
        before = int(usage_before.used_tokens)
        progress = Progress()
        event = Event("start", reason, before, session=self.conversation.id)
        self.on_event(event)
        try:
            yield progress
        except BaseException as error:
            if progress.result is None:
                if reason == "threshold" and isinstance(error, Exception):
                    self.pace.tried(before)
                text = str(error) or type(error).__name__
                self.on_event(
                    replace(event, kind="end", tokens_after=before, aborted=True, error=text)
                )
            raise
        finally:
            if progress.result is not None:
                usage = progress.usage or self.conversation.usage()
                changed = progress.result.changed or reason == "threshold"
                if reason != "thinking" and (changed or usage.over_threshold):
                    self.pace.tried(int(usage.used_tokens))
                self.on_event(end_event(event, progress.result))


def end_event(start: Event, result: Result) -> Event:
    """The event at the end of a compression that was not aborted."""
    summary = result.summary
    return replace(
        start,
        kind="end",
        tokens_after=result.tokens_after,
        aborted=bool(result.no_summary) and not result.changed,
        error=result.no_summary or None,
        will_retry=start.reason in ("overflow", "thinking") and result.changed,
        strategy=result.strategy,
        files_removed=result.files_removed,
        missed=result.missed,
        first_kept=result.first_kept_index,
        cost=summary.cost if summary else None,
        usage=summary.usage if summary else None,
    )


def _as_passed(
    messages: Sequence[Mapping[str, Any]] | None, view: list[dict[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """A view that is read from the record, as the very objects that the caller passed."""
    if messages is None or len(messages) != len(view):
        return view
    both = zip(messages, view, strict=True)
    return [passed if passed == read else read for passed, read in both]
