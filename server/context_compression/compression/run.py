"""`compress`: strategies, in their order, until the target is met; and the call of a model.

The steps of a compression (`start`) are a generator. It yields a `SummaryRequest` when a strategy
needs a summary, and receives the text. Only `compress` calls a model: in the event loop of the
caller if it works in a thread for one, else in its own.
"""

import copy
import logging
from bisect import bisect
from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, pairwise
from threading import current_thread, main_thread
from typing import Any, TypeAlias, cast

from context_compression.compression.outcome import Outcome, applied, changed, unchanged
from context_compression.compression.prepared import (
    ALL_RECENT,
    CompressionRequest,
    PreparedConversation,
    Target,
    within_reach,
)
from context_compression.compression.result import NO_SUMMARY, Result, StrategyStep
from context_compression.conversation.messages import Message, is_array, is_object
from context_compression.errors import (
    ContextCompressionError,
    IllegalEdit,
    InvalidSettings,
    SummaryError,
    largest_parts,
)
from context_compression.listening import COMPRESSING, SUMMARIZING, ModelCall, advance, heard
from context_compression.planning.edits import Edit, View, recorded
from context_compression.planning.pieces import Cutter
from context_compression.planning.plan import Plan
from context_compression.settings import Settings
from context_compression.strategies import extract, measured, summarize, window
from context_compression.strategies.base import Proposal, Strategy
from context_compression.strategies.extract import Floor, floor
from context_compression.strategies.filling import refilled
from context_compression.strategies.keep import THINKING, dropping_thinking
from context_compression.strategies.notes import lacks_a_ref, with_a_ref
from context_compression.strategies.rules import missing_after, with_standing_rules
from context_compression.strategies.tool_results import least_left, offload, truncate
from context_compression.strings import one_line
from context_compression.summaries.errors import is_overflow, window_named
from context_compression.summaries.summarizer import (
    Summarizer,
    SummaryReply,
    SummaryRequest,
    asked,
    failure_of,
    reply_of,
)
from context_compression.threads import whom_to_ask
from context_compression.tokens.usage import for_model

ASK_IN_AN_EVENT_LOOP = (
    "In an event loop a model is asked through acompress, aprepare and afit, not through "
    "compress, prepare and fit."
)
logger = logging.getLogger(__name__)
STRATEGIES: Mapping[str, Callable[[Plan], Proposal]] = {
    "offload": offload,
    "truncate": truncate,
    "window": window.propose,
    "extract": extract.propose,
    "summarize": summarize.propose,
}
GO_ON = "a call with target_tokens can shorten recent messages, too"
BY_HAND = 0.75
"""The share of a conversation that `window` leaves at most where it is asked for by hand."""
SETTLED = 0.25
"""The share of the room in which the beginning of the view stays unchanged; measured by replays."""
PARTS = 3  # for the progress: counted, the smallest view known, results shortened
Steps: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]
"""Yields requests for a summary, receives the summaries, returns the result."""
Outcomes: TypeAlias = Generator[SummaryRequest, SummaryReply, Outcome | None]
"""The same for a part of the steps; returns `None` if it has no outcome."""


def compress(request: CompressionRequest, summarizer: Summarizer | None = None) -> Result:
    """The result of one compression, in memory.

    Raises:
        InvalidSettings: a `summarizer` is given, and an event loop runs in this thread.
        ContextCompressionError: see `library.compress`.
    """
    steps = start(replace(request, has_summarizer=summarizer is not None))
    if summarizer and in_event_loop():
        raise InvalidSettings(ASK_IN_AN_EVENT_LOOP)
    with whom_to_ask() as caller:
        answer: SummaryReply | SummaryError | None = None
        calls = 0
        while True:
            try:
                if isinstance(answer, SummaryError):
                    needed = steps.throw(answer)
                else:
                    needed = steps.send(answer) if answer else next(steps)
            except StopIteration as done:
                return done.value
            assert summarizer, "no step may need a summary without a summarizer"
            advance(SUMMARIZING, calls, calls + 1)
            answer, calls = caller.ask(partial(_answer, summarizer, needed)), calls + 1


def in_event_loop() -> bool:
    """Whether an event loop runs in this thread, so that a plain function cannot ask a model."""
    import asyncio  # it imports sockets, which only a model needs

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _answer(summarizer: Summarizer, request: SummaryRequest) -> SummaryReply | SummaryError:
    model = getattr(summarizer, "model", None) or request.model
    try:
        with heard(ModelCall(summarizer, model, request.max_tokens)) as end:
            reply = reply_of(await _in_time(summarizer, request))
            end(reply)
            return reply
    except SummaryError as error:
        return _with_window(error)
    except (
        Exception,
        KeyboardInterrupt,
        SystemExit,
    ) as error:  # a caller's own may fail as it likes
        if not isinstance(error, Exception) and current_thread() is main_thread():
            raise  # it may be a signal
        return _with_window(failure_of(error), error)


async def _in_time(summarizer: Summarizer, request: SummaryRequest) -> Any:
    """The answer, if the settings say how long it may take in this time."""
    if request.seconds is None:
        return await asked(summarizer, request)
    from context_compression.summaries.attempts import InTime  # it imports an event loop

    return await InTime(summarizer).summarize(request)


def _with_window(failed: SummaryError, error: BaseException | None = None) -> SummaryError:
    """The error of a summarizer, which says whether the request was too long, and for what window.

    A summarizer of the caller's may say that in its provider's words alone.
    """
    failed.too_long = failed.too_long or is_overflow(error or failed)
    if failed.too_long and not failed.window:
        failed.window, failed.used = window_named(error or failed) or (0, 0)
    return failed


def start(request: CompressionRequest) -> Steps:
    """The steps of one compression.

    Raises:
        ContextCompressionError: see `library.compress`.
    """
    request.check()
    settings = for_model(request.settings, request.model)
    strategy = settings.strategy if request.strategy is None else _name_of(request)
    prepared = PreparedConversation(request, settings, strategy)
    advance(COMPRESSING, 1, PARTS)
    target = Target(prepared)
    if (reason := target.nothing_to_do()) is not None:
        prepared.release()
        more = (GO_ON,) if reason == ALL_RECENT else ()
        return unchanged(prepared, reason, *more, *prepared.warnings)
    try:
        return (yield from Compression(prepared, target).run())
    except ContextCompressionError:  # after any other error, a text may be only partly cut
        prepared.release()  # the caller may try another target
        raise


def _name_of(request: CompressionRequest) -> str:
    """The name of the strategy that the request asks for; it is checked."""
    name: Any = request.strategy
    names = (*STRATEGIES, "auto")
    if is_strategy(name):
        name = name_of(name)
        if name in names:
            raise InvalidSettings(
                f"Your strategy is named {name!r}, as one of ours. Give it another `name`, or pass "
                f'the text "{name}" for ours. Nothing was changed.'
            )
        return name
    if name not in names:  # compared, because a caller may pass any type
        Settings.checked({"strategy": name})  # its error names the nearest valid name
    if name == "summarize" and not request.has_summarizer:
        raise InvalidSettings(
            "summarize needs a summarizer, and none was given. Use auto, name a model in the "
            "settings (summary_model), or pass a summarizer."
        )
    return name


def why_missed(prepared: PreparedConversation, target: Target, missed: Floor, after: int) -> str:
    """A note on a target below the minimum size: what was asked, what was reached, and why."""
    parts = largest_parts(prepared.with_overhead(missed.parts))
    smallest = prepared.fixed_tokens + missed.tokens
    asked = f"the target of {target.tokens:,} tokens is below the minimum size of {smallest:,}"
    return f"{asked}, so the context has {after:,}; what must stay: {parts}"


class Compression:
    """One compression of a prepared conversation.

    Attributes:
        plan: the plan for the strategies; some steps replace it with a more specific one.
        skipped: whether a summary failed, and the settings require the messages as they came then.
        below: the minimum size that the target was below; `None` if it was not.
    """

    skipped = False
    below: Floor | None = None

    def __init__(self, prepared: PreparedConversation, target: Target) -> None:
        self.prepared, self.target = prepared, target
        self.request, self.settings = prepared.request, prepared.settings
        self.plan: Plan = target.plan

    def run(self) -> Steps:
        """Run the strategy and make the result of its edits."""
        prepared = self.prepared
        self.plan = replace(self.plan, cutter=prepared.cutter)
        if prepared.strategy == "summarize":
            outcome = yield from self._summarize_or_extract(())
        elif prepared.strategy != "auto":
            edits = yield from self._proposed()
            step = StrategyStep(prepared.strategy, self._tokens_after(edits))
            outcome = Outcome(edits, prepared.strategy, (step,))
            if prepared.strategy == "extract":
                outcome = replace(outcome, again=again(extract.extraction, self.plan))
        else:
            reach = within_reach(self.prepared, self.target, self.plan)
            self.plan, self.floor, self.below = reach.plan, reach.floor, reach.missed
            advance(COMPRESSING, 2, PARTS)
            outcome = yield from self._auto()
        if outcome:
            return self._result(outcome)
        missed = self.floor if self.target.is_named else None
        return unchanged(prepared, *prepared.warnings, floor=missed, repair=not self.skipped)

    def _proposed(self) -> Proposal:
        """The edits of the named strategy, or of the caller's own.

        If most turns are recent or important, `window` by hand makes room before the tail.
        """
        if ours := STRATEGIES.get(self.prepared.strategy):
            self.plan = replace(self.plan, lasts=not self.target.is_set)
            edits = yield from ours(self.plan)
            if self.prepared.strategy != "window" or not self.request.force or self.target.is_named:
                return edits
            total = self._tokens_after(edits)
            chosen = "keep_recent" in self.settings.model_fields_set
            if total > BY_HAND * self.prepared.tokens_before and not chosen:
                more = yield from ours(self.target.plan_before_tail)
                edits = more if self._tokens_after(more) < total else edits
            return edits
        own = cast("Strategy", self.request.strategy)
        return (yield from proposed_by(own, self.plan, self.prepared.view))

    @property
    def room(self) -> int:
        """Tokens that the messages may take."""
        return self.plan.total if self.plan.room is None else self.plan.room

    @cached_property
    def floor(self) -> Floor:
        """The smallest view of the plan."""
        return floor(self.plan)

    def _fits(self, step: StrategyStep) -> bool:
        """Whether the view after a step is within the room."""
        return step.tokens_after - self.prepared.fixed_tokens <= self.room

    def _auto(self) -> Outcomes:
        """Run the cheapest strategies first, without those that cannot be sufficient."""
        enough = self.room
        automatic = self.target.is_automatic
        if automatic:
            enough = max(enough, self.settings.threshold_tokens)
            self.plan = replace(self.plan, batch=self.plan.tail)  # a second rewrite would cost more
        if least_left(self.plan) > enough:
            return (yield from self._summarize_or_extract(()))
        outcome = yield from self._shorten_results()
        advance(COMPRESSING, PARTS, PARTS)
        total = outcome.steps[-1].tokens_after - self.prepared.fixed_tokens
        if total <= self.room:
            if not outcome.edits or (automatic and not self.target.is_set):
                return outcome
            return self._refilled(outcome) or (yield from self._extract(outcome.steps)) or outcome
        if self._may_stop_early(outcome, total):
            return outcome
        steps = outcome.steps
        del outcome  # its edits are large and not needed any more
        return (yield from self._summarize_or_extract(steps))

    def _shorten_results(self) -> Generator[SummaryRequest, SummaryReply, Outcome]:
        """Offload tool results, then truncate long ones, until the messages fit the room."""
        edits: dict[int, Edit] = {}
        steps: list[StrategyStep] = []
        for name in ("offload", "truncate"):
            for edit in (yield from STRATEGIES[name](_edited(self.plan, edits))):
                edits[edit.start] = edit
            total = _edited(self.plan, edits).total
            steps.append(StrategyStep(name, self.prepared.fixed_tokens + total))
            if self._fits(steps[-1]):
                break
        return Outcome([*edits.values()], steps[-1].strategy, tuple(steps))

    def _refilled(self, outcome: Outcome) -> Outcome | None:
        """The outcome with the remaining room filled; `None` if too little room remains."""
        edits = refilled(self.plan, outcome.edits)
        if edits is None:
            return None
        make = again(refilled, self.plan, outcome.edits)
        return replace(self._with(edits, outcome), again=make)

    def _may_stop_early(self, outcome: Outcome, total: int) -> bool:
        """Whether an automatic compression stops below the threshold, although above its target.

        It must have freed enough, and stopping must pay. It pays if each freed token costs the
        prompt cache no more than a complete run, which writes the full view to the cache again. If
        a summarizer is available, no summary is requested only for the cache.
        """
        beside = self.prepared.fixed_tokens + self.prepared.tokens_beside
        after = self.prepared.counter.count(beside + total)
        limit = self.settings.threshold_tokens * after // after.upper - beside
        enough = self.plan.total - total >= self.settings.compact_trigger_tokens
        if not (self.target.is_automatic and total < limit and enough):
            return False
        if self.request.has_summarizer:
            return True
        first = min((edit.start for edit in outcome.edits), default=len(self.plan.tokens))
        rewritten = total - sum(self.plan.tokens[:first])
        return rewritten * (limit - self.room) <= self.room * (limit - total)

    def _summarize_or_extract(self, steps: tuple[StrategyStep, ...]) -> Outcomes:
        """The outcome of a summary if a model or the caller can write one, else of `extract`.

        If no view of `extract` fits the room, the outcome is the smallest view. `None` leaves the
        conversation unchanged: the settings require that after a failed summary, or the strategy
        `summarize` finds only recent messages.
        """
        warnings = self.prepared.warnings
        if self.request.has_summarizer or self.prepared.strategy == "summarize":
            try:
                edits = yield from self._summarize()
            except SummaryError as error:
                warnings.append(f"{NO_SUMMARY}{error}")
                logger.warning("no summary: %s", error)
                self.skipped = self.settings.on_summary_failure == "skip"
                if self.skipped:
                    return None
            else:
                steps = (*steps, StrategyStep("summarize", self._tokens_after(edits)))
                if edits and self._fits(steps[-1]):
                    return Outcome(edits, "summarize", steps)
                if edits:
                    warnings.append("the summary and what must stay do not fit the target")
                elif self.prepared.strategy == "summarize":
                    goes_on = "auto goes further" if self.target.is_named else GO_ON
                    warnings.append(f"{ALL_RECENT}; {goes_on}")
                    return None
        if outcome := (yield from self._extract(steps)):
            return outcome
        smallest = StrategyStep("extract", self.prepared.fixed_tokens + self.floor.tokens)
        return Outcome(self.floor.edits, "extract", (*steps, smallest))

    def _summarize(self) -> Proposal:
        """The edits of `summarize`.

        Raises:
            SummaryError: the settings name this strategy, but there is no summarizer.
        """
        if not self.request.waits:
            raise SummaryError(
                "this request had no room to wait for one; summaries are made in the background"
            )
        if not self.request.has_summarizer:
            raise SummaryError(
                "nobody is there to write one. Name a summary_model or pass a summarizer; the "
                "strategy auto needs none"
            )
        lasts = self.target.is_automatic and not self.target.is_set
        edits = yield from summarize.propose(replace(self.plan, lasts=lasts))
        return with_standing_rules(self.plan, edits)

    def _extract(self, steps: tuple[StrategyStep, ...]) -> Outcomes:
        """The outcome of `extract`; `None` if its view does not fit the room."""
        for plan in filter(None, (self._plan_with_settled_beginning(), self.plan)):
            edits = yield from extract.propose(plan)
            step = StrategyStep("extract", self._tokens_after(edits))
            if self._fits(step) and (plan is self.plan or not missing_after(plan, edits)):
                make = again(extract.extraction, plan)
                return Outcome(edits, "extract", (*steps, step), again=make)
        return None

    def _with_what_stays(self, outcome: Outcome) -> Outcome:
        """The outcome with rules and a ref, if a strategy of ours left them out.

        If the view has no room for them, `extract` leaves it; if that is not enough, the smallest
        view has the rules, and in a small room the ref.
        """
        if self.prepared.strategy not in (*STRATEGIES, "auto"):
            return outcome
        more = _with_rules_and_ref(self.plan, outcome.edits)
        if more is outcome.edits:
            return outcome
        over = self.prepared.view(more)[1] - self.room
        if over <= 0:
            return self._with(more, outcome)
        has_rules = with_standing_rules(self.plan, outcome.edits) is outcome.edits
        if has_rules and self.room >= measured.LEAST_FOR_REFS_TOKENS:
            return outcome
        for times in ROOM_LEFT if outcome.strategy == "extract" else ():
            room = self.room - times * over
            more = _extracted_beside(self.plan, room)
            if self.prepared.view(more)[1] <= self.room:
                make = again(_extracted_beside, self.plan, room)
                return replace(self._with(more, outcome), again=make)
        smallest = self.floor
        if smallest.tokens > self.room or smallest.edits is outcome.edits:
            return outcome
        return replace(self._with(smallest.edits, outcome), again=tuple)

    def _plan_with_settled_beginning(self) -> Plan | None:
        """The plan with the beginning that an earlier compression left pinned.

        The prompt cache still holds that beginning. It may take only a part of the room, because it
        gets outdated. `None` if there is no such beginning, or the compression is not automatic.
        """
        plan = self.plan
        fitting = bisect([*accumulate(plan.tokens)], SETTLED * self.room)
        stop = plan.cut_before(min(plan.archive.settled, fitting))
        if not self.target.is_automatic or stop <= plan.head:
            return None
        return replace(plan, pins=plan.pins.union(range(stop)))

    def _result(self, outcome: Outcome) -> Result:
        """The result of an outcome, with a note if it misses the target."""
        outcome = self._with_what_stays(outcome)
        after = self._tokens_after(outcome.edits)
        target = None if self.plan.room is None else self.target.tokens
        met = target is None or after <= target
        missed = "" if met else self._why_missed(outcome.strategy, after)
        outcome = replace(
            outcome,
            target=target,
            floor=None if met else self.below or self.floor,
            missed=missed,
            notes=(*self.prepared.warnings, *filter(None, [missed])),
        )
        self.prepared.release()
        self.plan.previews.clear()
        return applied(self.prepared, outcome)

    def _why_missed(self, strategy: str, after: int) -> str:
        """A note for the caller on why the target was missed."""
        if self.below:
            return why_missed(self.prepared, self.target, self.below, after)
        if self.prepared.strategy != "auto":
            above_floor = after > self.prepared.fixed_tokens + self.floor.tokens
            smallest = "" if above_floor else "this is the minimum size, and not even "
            return f"{strategy} falls short of the target; {smallest}auto goes further"
        return "stopped early: below the threshold, and compact_trigger_tokens were freed"

    def _tokens_after(self, edits: Sequence[Edit]) -> int:
        """Tokens of the view that edits make, including system prompt and tool schemas."""
        return self.prepared.fixed_tokens + self.prepared.view(edits)[1]

    def _with(self, edits: Sequence[Edit], outcome: Outcome) -> Outcome:
        """The outcome with other edits of the strategy that ran last."""
        *before, last = outcome.steps
        last = replace(last, tokens_after=self._tokens_after(edits))
        return replace(outcome, edits=edits, steps=(*before, last))


def again(
    propose: Callable[..., Sequence[Edit] | None], plan: Plan, *more: Any
) -> Callable[[], Sequence[Edit]]:
    """Proposes edits of a plan once more, and records what competed for their room.

    The plan is kept, without what is computed from its texts.
    """
    made, lighter = plan.cutter, replace(plan, cutter=Cutter(), previews={})
    prose, known = made.prose, made.known
    del made

    def proposed() -> Sequence[Edit]:
        with recorded():
            fresh = replace(lighter, cutter=Cutter(prose=prose, known=known), previews={})
            return propose(fresh, *more) or ()

    return proposed


ROOM_LEFT = 1, 4
"""How many times the tokens that rules and a ref lacked `extract` leaves for them, in turn."""


def _extracted_beside(plan: Plan, room: int) -> Sequence[Edit]:
    """The edits of `extract` for a smaller room, with the user's rules and a ref."""
    return _with_rules_and_ref(plan, extract.extraction(replace(plan, room=room)))


def _with_rules_and_ref(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """Edits with the user's rules and a ref; the same edits if they have both."""
    edits = with_standing_rules(plan, edits)
    return with_a_ref(plan, edits) if lacks_a_ref(plan, edits) else edits


def _edited(plan: Plan, edits: Mapping[int, Edit]) -> Plan:
    """The plan after edits of single messages, which are pinned so that they stay unchanged."""
    if not edits:
        return plan
    messages, tokens = list(plan.messages), list(plan.tokens)
    for index, edit in edits.items():
        messages[index] = edit.becomes[0]
        tokens[index] = plan.counter.message(edit.becomes[0])
    pins = plan.pins.union(edits)
    return replace(plan, messages=tuple(messages), tokens=tuple(tokens), pins=pins)


NAME = "archive"


def with_all_dropped(request: CompressionRequest) -> Result:
    """A result without any message; the store of the request keeps all of them.

    Pins and the newest messages are no exception: a host that shortens its history spares nothing.

    Raises:
        StoreError: the store could not keep the originals.
    """
    prepared = PreparedConversation(request, for_model(request.settings, request.model), NAME)
    edit = Edit(0, len(prepared.planned.messages), (), "its host may drop it")
    outcome = Outcome((edit,), NAME, ())
    result = changed(prepared, outcome, View((), (), (edit,)), prepared.fixed_tokens)
    if request.store:
        request.store.keep(prepared.conversation.raw, result)
    return result


def without_thinking(request: CompressionRequest) -> Result:
    """The conversation without any thinking, whatever its size and the strategy of the request.

    Raises:
        ContextCompressionError: see `library.compress`.
    """
    settings = for_model(request.settings, request.model)
    prepared = PreparedConversation(request, settings, THINKING)
    edits = dropping_thinking(prepared.plan)
    step = StrategyStep(THINKING, prepared.fixed_tokens + prepared.view(edits)[1])
    return applied(prepared, Outcome(edits, THINKING, (step,)))


def name_of(strategy: Strategy) -> str:
    """The name that results and events give a strategy: its `name`, or that of its class."""
    return one_line(getattr(strategy, "name", "") or type(strategy).__name__)


def is_strategy(value: object) -> bool:
    """Whether a value is an object with the method of a strategy; a class of such objects is not.

    Raises:
        InvalidSettings: it is such a class.
    """
    if isinstance(value, str) or not callable(getattr(value, "propose", None)):
        return False
    if isinstance(value, type):
        name = one_line(value.__name__)
        raise InvalidSettings(f"strategy is the class {name}. Pass an object of it: {name}().")
    return True


def proposed_by(
    strategy: Strategy, plan: Plan, make: Callable[[Sequence[Edit]], object]
) -> Proposal:
    """The edits of the caller's strategy, in their order; requests it makes are passed on.

    Args:
        strategy: the caller's.
        plan: what it gets.
        make: makes the view of edits; raises `IllegalEdit` if a provider would refuse it.

    Raises:
        IllegalEdit: it returned no edits, or impossible ones; the message names the strategy.
    """
    given = [copy.deepcopy(message.source) for message in plan.messages]
    try:
        edits: Any = strategy.propose(plan)
        if isinstance(edits, Generator):
            edits = yield from _answered(strategy, cast("Generator[Any, Any, Any]", edits))
    finally:
        changed = _put_back(plan, given)
    if changed:
        raise _refused(
            strategy, f"it changed message {changed[0]}, which it was given; it was put back"
        )
    if not is_array(edits):
        raise _refused(strategy, f"it returned {type(edits).__name__}, not a list of Edit")
    if wrong := next(filter(None, (_problem(edit, plan) for edit in edits)), None):
        raise _refused(strategy, wrong)
    ordered = sorted(edits, key=lambda edit: edit.start)
    for before, after in pairwise(ordered):
        if after.start < before.stop:
            raise _refused(strategy, f"{_place(after)} begins within {_place(before)}")
    removed = sum(edit.stop - edit.start for edit in ordered)
    if removed == len(plan.messages) and not any(edit.becomes for edit in ordered):
        raise _refused(strategy, "it left no message")
    try:
        make(ordered)
    except IllegalEdit as error:
        raise _refused(strategy, str(error)) from error
    return ordered


def _answered(strategy: Strategy, requests: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Passes the requests of a strategy on, and the replies or failures back; returns its edits."""
    reply, failure = None, None
    while True:
        try:
            request = requests.throw(failure) if failure else requests.send(reply)
        except StopIteration as ended:
            return ended.value
        if not isinstance(request, SummaryRequest):
            requests.close()
            raise _refused(strategy, f"it yielded {type(request).__name__}, not a SummaryRequest")
        reply, failure = None, None
        try:
            reply = yield request
        except SummaryError as error:  # the strategy may go on without the summary
            failure = error


def _put_back(plan: Plan, given: Sequence[Any]) -> list[int]:
    """The positions of messages whose objects were changed; they get their contents again."""
    changed: list[int] = []
    for at, (message, before) in enumerate(zip(plan.messages, given, strict=True)):
        source: Any = message.source
        if isinstance(source, MutableMapping) and source != before:
            changed.append(at)
            target = cast("MutableMapping[str, Any]", source)
            target.clear()
            target.update(before)
    return changed


def _refused(strategy: Strategy, why: str) -> IllegalEdit:
    """The error for a proposal that cannot be made."""
    reason = why.removesuffix(".")
    return IllegalEdit(
        f"The strategy {name_of(strategy)} was refused: {reason}. Nothing was changed."
    )


def _problem(edit: Any, plan: Plan) -> str:
    """Why an edit cannot be made, by itself; "" if it can."""
    if not isinstance(edit, Edit):
        return f"it returned {type(edit).__name__} among its edits, not an Edit"
    positions: tuple[Any, ...] = (edit.start, edit.stop)
    count = len(plan.messages)
    if not all(isinstance(at, int) for at in positions) or not 0 <= edit.start < edit.stop <= count:
        return f"{_place(edit)} lies outside the {count:,} messages, or is empty"
    becomes: Any = edit.becomes
    if not is_array(becomes) or not all(isinstance(each, Message) for each in becomes):
        return f"{_place(edit)} does not become a tuple of Message"
    if edit.origins and not _are_origins(edit.origins, len(becomes), count):
        return f"{_place(edit)} has origins that are not one position for each of its messages"
    why: Any = edit.why
    if not is_object(why) or not (edit.record is None or is_object(edit.record)):
        return f"{_place(edit)} has a why or a record that is no dict"
    if pinned := sorted(plan.pins.intersection(range(edit.start, edit.stop))):
        return f"{_place(edit)} changes message {pinned[0]}, which is pinned"
    return ""


def _are_origins(origins: Any, messages: int, count: int) -> bool:
    """Whether there is one position, or `None`, for each of so many messages."""
    if not is_array(origins) or len(origins) != messages:
        return False
    return all(at is None or (isinstance(at, int) and 0 <= at < count) for at in origins)


def _place(edit: Edit) -> str:
    return f"Edit({edit.start}, {edit.stop})"
