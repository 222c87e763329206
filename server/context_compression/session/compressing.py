"""Runs a session's compressions: one at a time, announced by events."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeAlias

from context_compression.compression.prepared import CompressionRequest, Keeper
from context_compression.compression.result import Result
from context_compression.compression.run import compress, without_thinking
from context_compression.errors import StoreError
from context_compression.listening import RunningCompaction, heard
from context_compression.session.archive import Archiver, Rehearsal, archive_of
from context_compression.session.following import new_events
from context_compression.session.outgoing import system_for
from context_compression.session.pacing import Event, Pace, PlannedCompression, Reason, room_of
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.summaries.summarizer import Summarizer
from context_compression.threads import before_writing, wait_until
from context_compression.tokens.usage import Messages, Usage

if TYPE_CHECKING:
    from context_compression.session.session import Session
LOCK_SECONDS = 30.0
"""How many seconds a compression waits for another compression of the same conversation."""


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

    conversation: "Session"
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
        usage = planned.usage or self.conversation.usage()
        with self._announced(planned.reason, usage) as progress:
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
        if self.summarizer or self.conversation.store.exists():
            return None
        log = self.conversation.log
        with ExitStack() as held:

            def lock() -> None:
                held.enter_context(log.locked())
                if log.exists():
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
        if planned.messages is None:
            messages: Messages = self.conversation.fitting.read(state.view)
        else:
            messages = _as_passed(planned.messages, state.view)
        return request_that_archives(self.conversation, state, pending, messages, **options)

    @contextmanager
    def _announced(self, reason: Reason, usage_before: Usage) -> Generator[Progress]:
        """Announce the compression to listeners, by events and to the pace, with its outcome."""
        conversation = self.conversation
        with heard(RunningCompaction(reason, conversation, conversation.model)) as end:
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
    messages: Sequence[Mapping[str, Any]], view: list[dict[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """A view that is read from the record, as the very objects that the caller passed."""
    if len(messages) != len(view):
        return view
    both = zip(messages, view, strict=True)
    return [passed if passed == read else read for passed, read in both]


# Makes the compression requests of a session, with archived originals or as a preview.


def request_that_archives(
    conversation: "Session",
    state: State,
    pending: Sequence[dict[str, Any]],
    messages: Messages,
    **options: Any,
) -> CompressionRequest:
    """The request for a compression whose originals the session keeps.

    Args:
        conversation: the conversation to compress.
        state: its current state.
        pending: events that lead to this state and are written with the compression.
        messages: the messages to compress: the view of the state, or a first part of it.
        options: further fields of the request.
    """
    by_itself = options.get("must_answer") and not options.get("target_tokens")
    archiver = archiver_of(
        conversation, state, pending, automatic=bool(by_itself and not options.get("force"))
    )
    return _request(conversation, messages, system_for(conversation, state), archiver, **options)


def archiver_of(
    conversation: "Session",
    state: State,
    pending: Sequence[dict[str, Any]] = (),
    *,
    automatic: bool = False,
) -> Archiver:
    """The keeper of a compression; `request_that_archives` explains the arguments."""
    system = system_for(conversation, state)
    origin = origin_now(conversation, state)
    room = room_of(conversation, system) if automatic else None
    return Archiver(conversation.log, conversation.store, state, pending, system, origin, room)


def request_beside(conversation: "Session", state: State, **options: Any) -> CompressionRequest:
    """The request for a compression of a state's view whose originals are written later."""
    archive = archive_of(conversation.store, conversation.log, state)
    keeper, system = Rehearsal(archive, conversation.store), system_for(conversation, state)
    return _request(conversation, state.view, system, keeper, **options)


def preview(conversation: "Session", messages: Messages | None, **options: Any) -> Result:
    """The result that compressing the view, or `messages`, would have; writes nothing."""
    settings = settings_for(conversation, options.pop("settings", None))
    state = conversation.state()
    shown = state.view if messages is None else messages
    archive = archive_of(conversation.store, conversation.log, state)
    if list(shown[: len(state.view)]) != state.view:  # the log does not say what is missing there
        archive = replace(archive, missing=None)
    summarizer = options.pop("summarizer", None)
    system = system_for(conversation, state, messages)
    keeper = Rehearsal(archive, conversation.store)
    request = _request(conversation, shown, system, keeper, settings=settings, **options)
    return compress(request, summarizer)


def settings_for(conversation: "Session", given: Settings | Mapping[str, Any] | None) -> Settings:
    """The settings for one call: the session's, the session's with some changes, or others."""
    if isinstance(given, Settings):
        return given
    return conversation.settings.changed(given) if given else conversation.settings


def origin_now(conversation: "Session", state: State) -> dict[str, Any]:
    """The origin of a conversation, as a plan or compression records it.

    If the tokens outside the messages are not known this time, the earlier number is kept.
    """
    origin: dict[str, Any] = {**conversation.origin()}
    if origin and not origin["beside"] and origin["host"] != "messages":
        origin["beside"] = state.origin.get("beside", 0)
    return origin


def _request(
    conversation: "Session", messages: Messages, system: Any, keeper: Keeper, **more: Any
) -> CompressionRequest:
    return CompressionRequest(
        messages=messages, system=system, tools=conversation.tools, model=conversation.model,
        counter=conversation.counter, store=keeper, **more,
    )  # fmt: skip


# Locks of a store: waited for as long as the caller wants it, or held only if they are free.


Lock: TypeAlias = Callable[[float], AbstractContextManager[None]]
"""Takes the seconds to wait, and returns the lock."""


@contextmanager
def acquired(lock: Lock, seconds: float) -> Generator[None]:
    """Hold a lock of a store; a cancellation of the work ends the wait for it.

    Args:
        lock: takes the seconds to wait, and returns the lock.
        seconds: how long to wait before its `StoreError` is raised; others are raised at once.
    """
    until = monotonic() + seconds
    with ExitStack() as held:

        def is_held(limit: float | None) -> bool:
            try:
                held.enter_context(lock(seconds if limit is None else 0))
            except StoreError as error:
                if limit is None or not _is_busy(error):
                    raise
                if monotonic() > until:
                    raise StoreError(str(error).replace("0 s.", f"{seconds:g} s.")) from None
                sleep(limit)
                return False
            return True

        wait_until(is_held)
        yield


@contextmanager
def free(lock: Lock) -> Generator[bool]:
    """Hold a lock of a store if it is free; yields whether it is held.

    Raises:
        StoreError: the store cannot be used, for example because it cannot be written.
    """
    with ExitStack() as held:
        is_held = True
        try:
            held.enter_context(lock(0))
        except StoreError as error:
            if not _is_busy(error):
                raise
            is_held = False
        yield is_held


def _is_busy(error: StoreError) -> bool:
    """Whether somebody else holds the lock; otherwise, waiting for it would not help."""
    return type(error) is StoreError
