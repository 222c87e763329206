"""One compression: what to come down to, strategies until it fits, and what came of it.

It is a generator that yields what a model is asked for and receives its texts, so that one
implementation serves both colours; `compress` drives it.
"""

import logging
from bisect import bisect
from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from context_compression.compression.outcome import Outcome, applied, unchanged
from context_compression.compression.request import CompressionRequest
from context_compression.compression.result import Result, Step
from context_compression.compression.subject import PreparedConversation
from context_compression.conversation.system_prompt import ROOM
from context_compression.errors import (
    BudgetTooSmall,
    ContextCompressionError,
    InvalidSettings,
    SummaryError,
)
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.settings import Settings
from context_compression.strategies import extract, offload, summarize, truncate, window
from context_compression.strategies.base import Proposal, Strategy
from context_compression.strategies.filling import refilled
from context_compression.strategies.floor import Floor, floor
from context_compression.strategies.tool_results import least_left
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.tokens.usage import for_model

logger = logging.getLogger(__name__)
STRATEGIES: Mapping[str, Strategy] = {
    "offload": offload,
    "truncate": truncate,
    "window": window,
    "extract": extract,
    "summarize": summarize,
}
SETTLED = 0.25
"""Share of the room in which the view's beginning is left as it is: measured by replaying."""
BELOW_THRESHOLD = 0.9
"""Share of the room below the threshold that is used where the target lies below the floor: the
rest is for what comes next."""
LEAST_OF_TARGET = 0.25
"""Share of the settings' target that is left for the view, however much a host adds to it."""
ALL_RECENT = "nothing to compress before the recent messages"
Run: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]


def start(ask: CompressionRequest) -> Run:
    """A run of one compression: yields what a model is asked for, receives its texts.

    Raises:
        ContextCompressionError: as `compress` says.
    """
    ask.check()
    settings = for_model(ask.settings, ask.model)
    if ask.strategy is not None:
        _check_strategy(ask.strategy, ask.can_ask)
    strategy = settings.strategy if ask.strategy is None else ask.strategy
    subject = PreparedConversation(ask, settings, strategy)
    job = Compression(subject)
    if (why_not := job.why_not()) is not None:
        subject.release()
        return unchanged(subject, why_not, *subject.warnings)
    try:
        return (yield from job.run())
    except ContextCompressionError:  # after any other a text may be cut by half
        subject.release()  # another target may follow
        raise


class Compression:
    """One compression of a subject."""

    def __init__(self, subject: PreparedConversation) -> None:
        self.subject, self.ask, self.settings = subject, subject.ask, subject.settings

    @cached_property
    def target(self) -> int:
        """What to come down to, everything included."""
        if self.ask.target_tokens is not None:
            return self.ask.target_tokens
        if self.subject.before > self.usual_target:
            return self.usual_target
        return int(self.subject.before * self.settings.target_usage)

    @property
    def usual_target(self) -> int:
        """That of the settings, less what is charged and not counted here."""
        aim = self.settings.target_tokens
        return max(aim - self.subject.beyond, int(LEAST_OF_TARGET * aim))

    @cached_property
    def plan(self) -> Plan:
        """The subject's with a room; by hand below the target only what lies before the tail.

        The tail takes half of the room at most; where all is recent there is nothing before it. A
        run adds what it finds out on its way.
        """
        subject, whole = self.subject, self.subject.plan
        unnamed = self.ask.target_tokens is None and subject.before <= self.usual_target
        if unnamed and subject.strategy in ("offload", "truncate", "window"):
            return whole
        room = self.target - subject.fixed
        if subject.in_system or subject.prompt.at is not None:
            room -= subject.counter.message(ROOM)
        plan = replace(whole, room=room)
        if not unnamed:
            return plan
        all_recent = whole.tail == whole.head
        tail = range(whole.tail if all_recent else plan.tail, len(plan.messages))
        return replace(plan, pins=plan.pins.union(tail))

    @property
    def aim(self) -> int | None:
        """The target, where there is one: a strategy by hand may do all it can."""
        return None if self.plan.room is None else self.target

    @cached_property
    def floor(self) -> Floor:
        """The smallest view of the plan."""
        return floor(self.plan)

    def why_not(self) -> str | None:
        """Why there is nothing to do, if so."""
        if self.ask.target_tokens is not None and self.subject.before > self.ask.target_tokens:
            return None
        if not self.ask.messages:
            return "nothing to compress: the conversation is empty"
        if self.ask.target_tokens is not None:
            return "already within the target"
        if self.ask.force:
            left = len(self.plan.anchored) < len(self.plan.messages)
            return None if left else ALL_RECENT
        if self.subject.strategy == "window" and window.is_due(self.plan):
            return None
        if self.subject.used.upper >= self.settings.threshold_tokens:
            return None
        return f"not due below {self.settings.threshold_tokens:,} tokens"

    def run(self) -> Run:
        """Run the strategy and account for it."""
        subject, fixed = self.subject, self.subject.fixed
        self.plan = replace(self.plan, cutter=subject.cutter)
        if subject.strategy == "summarize":
            outcome = yield from self._summarize_or_extract(())
        elif subject.strategy != "auto":
            proposed = yield from STRATEGIES[subject.strategy].propose(self.plan)
            step = Step(subject.strategy, fixed + subject.view(proposed)[1])
            outcome = Outcome(proposed, subject.strategy, (step,))
        else:
            self._keep_to_floor()
            outcome = yield from self._auto()
        if outcome:
            return self._done(outcome)
        missed = self.ask.target_tokens is not None
        return unchanged(subject, *subject.warnings, floor=self.floor if missed else None)

    def _keep_to_floor(self) -> None:
        """No target below the floor: a named one is refused, that of the settings raised.

        To what stays below the threshold, where the floor does: what cannot be removed, a long text
        somebody pasted, shall not push out all else while the window has room.
        """
        limit = self.subject.fixed + self.floor.tokens
        if self.target < limit:
            if self.ask.target_tokens is not None:
                raise BudgetTooSmall(self.target, limit, self.subject.parts(self.floor.parts))
            is_due = self.subject.used.upper >= self.settings.threshold_tokens
            free = int(BELOW_THRESHOLD * self._below_threshold) if is_due else 0
            self.plan = replace(self.plan, room=max(self.floor.tokens, free))

    @property
    def _below_threshold(self) -> int:
        """Tokens that the messages may take so that nothing is due, by the upper bound."""
        whole = self.subject.counter.count(self.settings.threshold_tokens)
        beside = self.subject.fixed + self.subject.beyond
        return max(0, whole * whole // max(1, whole.upper) - beside)

    def _auto(self) -> Generator[SummaryRequest, SummaryReply, Outcome | None]:
        """Cheapest first, measuring after each; what cannot suffice in any case is not tried."""
        suffices = self.room
        if self.unasked:
            suffices = max(suffices, self.settings.threshold_tokens)
            self.plan = replace(self.plan, batch=self.plan.tail)  # a second rewrite would cost more
        if least_left(self.plan) > suffices:
            return (yield from self._summarize_or_extract(()))
        outcome = yield from self._shorten_results()
        total = outcome.steps[-1].tokens_after - self.subject.fixed
        if total <= self.room:
            if self.unasked or not outcome.edits:
                return outcome
            return self._refilled(outcome) or (yield from self._extracted(outcome.steps)) or outcome
        if self._may_stop(outcome, total):
            return outcome
        steps = outcome.steps
        del outcome  # what it proposed is not needed any more, and large
        return (yield from self._summarize_or_extract(steps))

    def _summarize_or_extract(
        self, steps: tuple[Step, ...]
    ) -> Generator[SummaryRequest, SummaryReply, Outcome | None]:
        """A summary where somebody can write one, else extract; `None`: leave it as it is."""
        warnings = self.subject.warnings
        if self.ask.can_ask or self.subject.strategy == "summarize":
            try:
                proposed = yield from self._summarized()
            except SummaryError as error:
                warnings.append(f"no summary: {error}")
                logger.warning("no summary: %s", error)
                if self.settings.on_summary_failure == "skip":
                    return None
            else:
                total = self.subject.view(proposed)[1]
                steps = (*steps, Step("summarize", self.subject.fixed + total))
                if proposed and total <= self.room:
                    return Outcome(proposed, "summarize", steps)
                if proposed:
                    warnings.append("the summary and what must stay do not fit the target")
                elif self.subject.strategy == "summarize":
                    goes_on = "; auto goes further" if self.ask.target_tokens else ""
                    warnings.append(f"{ALL_RECENT}{goes_on}")
                    return None
        if outcome := (yield from self._extracted(steps)):
            return outcome
        floor = Step("extract", self.subject.fixed + self.floor.tokens)
        return Outcome(self.floor.edits, "extract", (*steps, floor))

    def _summarized(self) -> Proposal:
        """By `summarize`; the settings may want that where nobody can write."""
        if not self.ask.can_ask:
            raise SummaryError(
                "nobody is there to write one. Name a summary_model or pass a summarizer; the "
                "strategy auto needs none"
            )
        return (yield from summarize.propose(self.plan))

    def _extracted(
        self, steps: tuple[Step, ...]
    ) -> Generator[SummaryRequest, SummaryReply, Outcome | None]:
        """By `extract`; `None` where that does not fit."""
        for plan in filter(None, (self._settled(), self.plan)):
            proposed = yield from extract.propose(plan)
            total = self.subject.view(proposed)[1]
            if total <= self.room:
                step = Step("extract", self.subject.fixed + total)
                return Outcome(proposed, "extract", (*steps, step))
        return None

    def _settled(self) -> Plan | None:
        """The plan of an unasked run with the view's beginning as an earlier compression left it.

        The prompt cache still holds that. It takes up only a part of the room, for it grows old.
        """
        plan = self.plan
        fitting = bisect([*accumulate(plan.tokens)], SETTLED * self.room)
        stop = plan.cut_before(min(plan.archive.settled, fitting))
        if not self.unasked or stop <= plan.head:
            return None
        return replace(plan, pins=plan.pins.union(range(stop)))

    @property
    def room(self) -> int:
        """Tokens the messages may take."""
        return self.plan.total if self.plan.room is None else self.plan.room

    def _shorten_results(self) -> Generator[SummaryRequest, SummaryReply, Outcome]:
        """Offload, then truncate what is still long, until the room suffices."""
        taken: dict[int, Edit] = {}
        steps: list[Step] = []
        for name in ("offload", "truncate"):
            for edit in (yield from STRATEGIES[name].propose(_with(self.plan, taken))):
                taken[edit.start] = edit
            total = _with(self.plan, taken).total
            steps.append(Step(name, self.subject.fixed + total))
            if total <= self.room:
                break
        return Outcome([*taken.values()], steps[-1].strategy, tuple(steps))

    def _refilled(self, outcome: Outcome) -> Outcome | None:
        """With the room filled that shorter results leave; `None` where that is too little room."""
        proposed = refilled(self.plan, outcome.edits)
        if proposed is None:
            return None
        *before, last = outcome.steps
        filled = replace(last, tokens_after=self.subject.fixed + self.subject.view(proposed)[1])
        return Outcome(proposed, outcome.strategy, (*before, filled))

    @property
    def unasked(self) -> bool:
        """Whether it runs because it is due, not because somebody asked for it."""
        return not self.ask.force and self.ask.target_tokens is None

    def _may_stop(self, outcome: Outcome, total: int) -> bool:
        """Whether an unasked run may stop early: below the threshold, enough is freed, it pays.

        It pays where each token of room won costs the prompt cache no more than if the run went on,
        after which the whole view is written anew. A model is not asked for the cache's sake.
        """
        after = self.subject.counter.count(self.subject.fixed + total)
        limit = self.settings.threshold_tokens * after // after.upper - self.subject.fixed
        enough = self.plan.total - total >= self.settings.compact_trigger_tokens
        if not (self.unasked and total < limit and enough):
            return False
        first = min((edit.start for edit in outcome.edits), default=len(self.plan.tokens))
        anew = total - sum(self.plan.tokens[:first])
        return self.ask.can_ask or anew * (limit - self.room) <= self.room * (limit - total)

    def _done(self, outcome: Outcome) -> Result:
        """The result, with what was aimed at, and why that was not met."""
        after = self.subject.fixed + self.subject.view(outcome.edits)[1]
        met = self.aim is None or after <= self.aim
        short = () if met else (self._falls_short(outcome.strategy, after),)
        outcome = replace(
            outcome,
            target=self.aim,
            floor=None if met else self.floor,
            notes=(*self.subject.warnings, *short),
        )
        self.subject.release()
        self.plan.previews.clear()
        return applied(self.subject, outcome)

    def _falls_short(self, strategy: str, after: int) -> str:
        if self.subject.strategy != "auto":
            further = after > self.subject.fixed + self.floor.tokens
            at_floor = "" if further else "this is the floor, and not even "
            return f"{strategy} falls short of the target; {at_floor}auto goes further"
        if strategy in ("offload", "truncate"):
            return "stopped early: below the threshold, and compact_trigger_tokens were freed"
        if after > self.subject.fixed + self.floor.tokens:
            return (
                "the target of the settings lies below what cannot be removed, so the room up to "
                "the threshold is used"
            )
        return "the target of the settings lies below the floor; this is the floor"


def _check_strategy(name: str, can_ask: bool) -> None:
    if name not in (*STRATEGIES, "auto"):  # compared, not looked up: a caller may pass anything
        Settings.checked({"strategy": name})  # names the nearest valid one
    if name == "summarize" and not can_ask:
        raise InvalidSettings("summarize needs a summarizer, and none was given. Use auto.")


def _with(plan: Plan, taken: Mapping[int, Edit]) -> Plan:
    """The plan after edits of single messages: previews of this run, which stay as they are."""
    if not taken:
        return plan
    messages, tokens = list(plan.messages), list(plan.tokens)
    for index, edit in taken.items():
        messages[index] = edit.becomes[0]
        tokens[index] = plan.counter.message(edit.becomes[0])
    pins = plan.pins.union(taken)
    return replace(plan, messages=tuple(messages), tokens=tuple(tokens), pins=pins)
