"""Runs a session's compressions: one at a time, announced by events; also by plans of callers."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from operator import is_
from secrets import token_hex
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeAlias

from context_compression.compression.prepared import CompressionRequest, Keeper
from context_compression.compression.result import Result
from context_compression.compression.run import compress, start, without_thinking
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.refs import digest_of
from context_compression.errors import InvalidSettings, PlanError, StoreBusy, SummaryError
from context_compression.listening import RunningCompaction, heard
from context_compression.session.archive import Archiver, Rehearsal, archive_of
from context_compression.session.events import age_of, timestamp, undo_of
from context_compression.session.following import new_events
from context_compression.session.outgoing import system_for
from context_compression.session.pacing import Event, Pace, PlannedCompression, Reason, room_of
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.strings import one_line
from context_compression.summaries.summarizer import Summarizer, SummaryReply
from context_compression.threads import about_to_write, before_writing, wait_until
from context_compression.tokens.usage import AnyMessages, Messages, Usage

if TYPE_CHECKING:
    from context_compression.session.session import Session
LOCK_SECONDS = 30.0
"""How many seconds a compression waits for another compression of the same conversation."""
PLAN_SECONDS = 3_600
"""How many seconds a caller may take to write a summary."""
ONE_TRY = {"on_summary_failure": "skip", "summary_attempts": 1}
"""Settings of a plan: an unusable summary of the caller is an error, and there is no second
attempt.
"""


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
        with self._announced(planned.reason, usage) as done:
            result = self._first(planned)
            if result is None:
                with acquired(self.conversation.log.locked, LOCK_SECONDS):
                    result = self._compressed(planned)
            done.append(result)
            return result

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
            done = announced.enter_context(self._announced("threshold", usage))
            kept = archiver_of(conversation, state, automatic=True).keep(covered, result)
            written = replace(
                result, files_removed=kept.files_removed, first_kept_index=kept.first_kept_index,
                tokens_after=int(usage.used_tokens) - result.tokens_freed, summary=None,
            )  # fmt: skip
            done.append(written)
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
        view, given = self.conversation.fitting.read(state.view), None
        if planned.messages is not None:
            given = parse(planned.messages)
            pending = new_events(state, given, from_start=True, view=view)
        for event in pending:
            state.replay(event)
        settings = settings_for(self.conversation, planned.options.get("settings"))
        options = {**planned.options, "settings": settings, "waits": self.waits}
        if planned.loop is not None:
            options["pins"] = tuple(range(len(state.view))[planned.loop :])
        messages = view if given is None else _as_passed(given, state.view)
        return request_that_archives(self.conversation, state, pending, messages, **options)

    @contextmanager
    def _announced(self, reason: Reason, usage_before: Usage) -> Generator[list[Result]]:
        """Announce the compression to listeners, by events and to the pace.

        Yields:
            An empty list, for its result.
        """
        conversation, done = self.conversation, list[Result]()
        event = Event("start", reason, int(usage_before.used_tokens), session=conversation.id)
        with heard(RunningCompaction(reason, conversation, conversation.model)) as end:
            self.on_event(event)
            try:
                yield done
            except BaseException as error:
                if not done:
                    self._tell_failure(event, error)
                raise
            finally:
                if done:
                    self._tell_end(event, done[0])
            end(done[0] if done else None)

    def _tell_failure(self, start: Event, error: BaseException) -> None:
        before = start.tokens_before
        if start.reason == "threshold" and isinstance(error, Exception):
            self.pace.tried(before)
        text = str(error) or type(error).__name__
        self.on_event(replace(start, kind="end", tokens_after=before, aborted=True, error=text))

    def _tell_end(self, start: Event, result: Result) -> None:
        usage = self.conversation.usage()
        changed = result.changed or start.reason == "threshold"
        if start.reason != "thinking" and (changed or usage.over_threshold):
            self.pace.tried(int(usage.used_tokens))
        self.on_event(end_event(start, result))


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


def _as_passed(messages: Conversation, view: list[dict[str, Any]]) -> Messages:
    """A view that is read from the record, as the very objects that the caller passed."""
    if len(messages) != len(view):
        return view
    both = zip(messages, view, strict=True)
    shown = [passed if passed == read else read for passed, read in both]
    return messages if all(map(is_, shown, messages)) else shown


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
        messages: the view of the state, or a first part of it.
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


def preview(conversation: "Session", messages: AnyMessages | None, **options: Any) -> Result:
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
    return conversation.settings if given is None else conversation.settings.changed(given)


def origin_now(conversation: "Session", state: State) -> dict[str, Any]:
    """The origin of a conversation, as a plan or compression records it.

    If the tokens outside the messages are not known this time, the earlier number is kept.
    """
    origin: dict[str, Any] = {**conversation.origin()}
    if origin and not origin["beside"] and origin["host"] != "messages":
        origin["beside"] = state.origin.get("beside", 0)
    return origin


def _request(
    conversation: "Session", messages: AnyMessages, system: Any, keeper: Keeper, **more: Any
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

    After so many seconds its `StoreBusy` is raised; others are raised at once.
    """
    until = monotonic() + seconds
    with ExitStack() as held:

        def is_held(limit: float | None) -> bool:
            try:
                held.enter_context(lock(seconds if limit is None else 0))
            except StoreBusy as error:
                if limit is None:
                    raise
                if monotonic() > until:
                    raise StoreBusy(str(error).replace("0 s.", f"{seconds:g} s.")) from None
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
        except StoreBusy:
            is_held = False
        yield is_held


# Summaries that the calling agent writes: one call requests a summary, the next call brings it.
#
# Meanwhile the compression is a plan in the log. It runs again from its start with each summary.


@dataclass(frozen=True)
class SummaryAssignment:
    """A summary that the caller should write.

    Attributes:
        plan_id: to pass back with the summary.
        instructions: what to write.
        prompt: the instructions together with the conversation they are about.
        part: which of the plan's summaries this is, from 1.
        messages: how many messages the plan covers.
    """

    plan_id: str
    instructions: str = field(repr=False)
    prompt: str = field(repr=False)
    part: int
    messages: int


def no_plan(plan_id: str, where: str) -> str:
    """The error text for an unknown plan, with advice."""
    return (
        f"There is no plan {plan_id[:40]!r} in {where}. Call context_compress without plan_id to "
        "get one, and pass the plan_id of its answer with the summary."
    )


def assign_summary(
    conversation: "Session", messages: AnyMessages | None, options: Mapping[str, Any]
) -> SummaryAssignment | Result:
    """Start a plan; see `Session.ask` for the arguments."""
    if not isinstance(options.get("strategy"), str | None):
        raise InvalidSettings(
            "A plan is kept on disk, so its strategy must be the name of one of ours. Pass your "
            "own to `compress`. Nothing was changed."
        )
    with conversation.log.locked():
        state, later = conversation.state(), conversation.state()
        pending = [] if messages is None else new_events(state, messages, from_start=True)
        recorded = [event for event in pending if event["type"] != "undo"]
        for event in pending:
            state.replay(event)
        for event in recorded:
            later.replay(event)
        plan = {
            "type": "plan",
            "created_at": timestamp(),
            "plan_id": token_hex(6),
            "messages_in": len(state.view),
            "covered": digest_of(state.view),
            "undoes": len(later.compressions) - len(state.compressions),
            "options": {name: value for name, value in options.items() if value is not None},
        }
        if origin := origin_now(conversation, state):
            plan["origin"] = origin
        same = None if recorded else _same_plan(plan, state)
        outcome = _run(same or plan, conversation, state, pending, [])
        if isinstance(outcome, SummaryAssignment) and not same:
            about_to_write()
            conversation.log.append(*recorded, plan)
        return outcome


def take_summary(conversation: "Session", plan_id: str, summary: str) -> SummaryAssignment | Result:
    """Continue a plan with a summary; see `Session.answer` for the arguments."""
    with conversation.log.locked():
        state = conversation.state()
        plan = state.plans.get(plan_id)
        if plan is None:
            raise PlanError(no_plan(plan_id, conversation.id))
        if age_of(plan) > PLAN_SECONDS:
            raise PlanError(
                f"Plan {one_line(plan_id)} has expired: it was made more than "
                f"{PLAN_SECONDS // 60} minutes ago. Call context_compress without plan_id to "
                "get a new one."
            )
        pending = _undo_replaced(plan, state)
        covered = digest_of(state.view[: plan["messages_in"]])
        if covered != plan["covered"]:
            raise PlanError(
                f"What plan {one_line(plan_id)} covers has changed since it was made, so its "
                "summary does not fit any more. Call context_compress without plan_id to get "
                "a new one."
            )
        summaries = [*state.answers.get(plan_id, []), summary]
        outcome = _run(plan, conversation, state, pending, summaries)
        if isinstance(outcome, SummaryAssignment):
            event = {"type": "answer", "created_at": timestamp(), "plan_id": plan_id}
            conversation.log.append({**event, "text": summary})
        return outcome


def planned_view(conversation: "Session", plan_id: str) -> list[dict[str, Any]]:
    """The messages that a plan covers: the view without compressions that the plan replaces."""
    state = conversation.state()
    plan = state.plans[plan_id]
    _undo_replaced(plan, state)
    return state.view[: plan["messages_in"]]


def _same_plan(plan: Mapping[str, Any], state: State) -> Mapping[str, Any] | None:
    """The plan that an earlier call made with the same arguments, if most of its time is left.

    A plan of which a part is written already is not started again.
    """
    asked = [name for name in plan if name not in ("plan_id", "created_at")]
    for earlier in reversed(state.plans.values()):
        same = all(earlier.get(name) == plan[name] for name in asked)
        is_begun = earlier["plan_id"] in state.answers
        if same and not is_begun and age_of(earlier) < PLAN_SECONDS / 2:
            return earlier
    return None


def _undo_replaced(plan: Mapping[str, Any], state: State) -> list[dict[str, Any]]:
    """The events that undo the compressions a plan replaces; they are also applied to `state`."""
    undoes, now = plan.get("undoes", 0), timestamp()
    replaced = state.compressions if undoes == len(state.compressions) else []
    events = [undo_of(last, now) for last in reversed(replaced)]
    for event in events:
        state.replay(event)
    return events


def _run(
    plan: Mapping[str, Any],
    conversation: "Session",
    state: State,
    pending: Sequence[dict[str, Any]],
    summaries: Sequence[str],
) -> SummaryAssignment | Result:
    """Run a plan with the summaries written so far, up to the next assignment or the result."""
    options = dict(plan["options"])
    settings = settings_for(conversation, options.pop("settings", None)).changed(ONE_TRY)
    covered = state.view[: plan["messages_in"]]
    options |= {"settings": settings, "has_summarizer": True}
    steps = start(request_that_archives(conversation, state, pending, covered, **options))
    with heard(RunningCompaction("manual", conversation, conversation.model)) as end:
        try:
            request = next(steps)
            for text in summaries:
                request = steps.send(SummaryReply(text, "caller"))
        except StopIteration as done:
            result: Result = done.value
            if summaries and not result.changed:
                raise SummaryError("; ".join(result.notes)) from None
            end(result)
            return result
        part = len(summaries) + 1
        assignment = SummaryAssignment(
            plan["plan_id"], request.instructions, request.prompt, part, len(covered)
        )
        end(assignment)
        return assignment
