"""One compression: plan, strategies until it fits, apply, account.

It is a generator that yields what a model is asked for and receives its texts, so that one
implementation serves both colours; `compress` drives it.
"""

import logging
from bisect import bisect
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, chain
from typing import Any, TypeAlias

from context_compression import edits, validity
from context_compression.compress.accounting import Accounting, first_difference, layout
from context_compression.compress.ask import Ask
from context_compression.cuts import Cutter, cutter_for, keep
from context_compression.edits import Edit, View
from context_compression.errors import BudgetTooSmall, InvalidSettings, SummaryError
from context_compression.evidence import is_talk
from context_compression.formats import Conversation, parse
from context_compression.messages import Message, Text, ToolResult
from context_compression.plan import Archive, Plan, pinned
from context_compression.result import Ref, Result, Step, loss_report
from context_compression.settings import Settings
from context_compression.strategies import extract, offload, summarize, truncate, window
from context_compression.strategies.base import Strategy
from context_compression.strategies.filling import refilled
from context_compression.strategies.floor import Floor, floor
from context_compression.strategies.summarize import previous_summary
from context_compression.strategies.tool_results import least_left
from context_compression.summarizer import SummaryReply, SummaryRequest
from context_compression.system_prompt import ROOM, carried, summary_in
from context_compression.tokens import Count, Counter, anchor_in, anchored
from context_compression.usage import for_model

logger = logging.getLogger(__name__)
STRATEGIES: Mapping[str, Strategy] = {
    "offload": offload,
    "truncate": truncate,
    "window": window,
    "extract": extract,
    "summarize": summarize,
}
COMPETING = ("auto", "offload", "extract")
"""Those that choose among the pieces of texts."""
SETTLED = 0.25
"""Share of the room in which the view's beginning is left as it is: measured by replaying."""
LEAST_OF_TARGET = 0.25
"""Share of the settings' target that is left for the view, however much a host adds to it."""
SURELY_LONG = 6
"""Characters for each token of the target beyond which a conversation is taken for longer: hardly
any text has so many to a token."""
Run: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]


def start(ask: Ask) -> Run:
    """A run of one compression: yields what a model is asked for, receives its texts.

    Raises:
        ContextCompressionError: as `compress` says.
    """
    job = Job(ask)
    if (why_not := job.why_not()) is None:
        return (yield from job.run())
    if "cutter" in vars(job):  # it was not as long as it seemed
        keep(job.cutter)
    return job.unchanged(why_not, *job.failures)


@dataclass(frozen=True)
class _Outcome:
    """Edits over the mended messages, and how they came about."""

    edits: Sequence[Edit]
    strategy: str
    steps: tuple[Step, ...]


class Job:
    """One compression, from what is asked to the account."""

    def __init__(self, ask: Ask) -> None:
        ask.check()
        self.ask = ask
        self.failures: list[str] = []
        self.settings = for_model(ask.settings, ask.model)
        self.strategy = self.settings.strategy if ask.strategy == "auto" else ask.strategy
        _check_strategy(self.strategy, ask.can_ask)
        self.counter = Counter(ask.model, ask.counter)
        self.conversation: Conversation = parse(ask.messages)
        self.user_first = self.conversation.format.user_first
        self.repaired = validity.repair(self.conversation.messages, user_first=self.user_first)
        self.mended, self.prompt = carried(self.repaired, ask.system)
        messages = self.mended.messages
        self.beside = {
            "system prompt": self.counter.system(self.prompt.bare),
            "tool schemas": self.counter.tools(ask.tools),
        }
        self.fixed = sum(self.beside.values())
        self.whole = Plan(
            messages,
            self._counted(messages),
            self.counter,
            self.settings,
            pins=self._pins(),
            user_first=self.user_first,
            archive=ask.store.archive if ask.store else Archive(),
            focus=ask.focus,
            model=ask.model,
        )
        whole = View(messages, tuple(range(len(messages))), ())
        self._viewed: tuple[Sequence[Edit], View, int] = (), whole, self._tokens(whole)
        self.before = self.fixed + self._viewed[2]

    def _counted(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of each message.

        Long texts are counted in a thread. Where they are surely too long, the results of tools are
        cut meanwhile: nearly all of them are going to compete.
        """
        if counting := self.counter.ahead(messages):
            target = self.ask.target_tokens or self.settings.threshold_tokens
            competes = self.strategy in COMPETING and not self.ask.can_ask
            try:
                if competes and counting.chars > SURELY_LONG * target:
                    for result in chain.from_iterable(message.results for message in messages):
                        self.cutter(result.text)
            finally:
                counting.finish()
        return tuple(map(self.counter.message, messages))

    @cached_property
    def cutter(self) -> Cutter:
        """The cutter for the texts, which are held no longer than it takes to find it."""
        blocks = chain.from_iterable(message.blocks for message in self.mended.messages)
        texts = [block.text for block in blocks if isinstance(block, Text | ToolResult)]
        return cutter_for(texts, prose=is_talk(self.mended.messages))

    def _pins(self) -> frozenset[int]:
        """The pinned messages among the mended ones, with their call and result partners."""
        messages = self.conversation.messages
        self.failures += (
            f"pin {pin!r} matches no message"
            for pin in self.ask.pins
            if not pinned(messages, [pin])
        )
        wanted = pinned(messages, self.ask.pins)
        return frozenset(i for i, origin in enumerate(self.mended.origins) if origin in wanted)

    @cached_property
    def target(self) -> int:
        """What to come down to, everything included."""
        if self.ask.target_tokens is not None:
            return self.ask.target_tokens
        if self.before > self.usual_target:
            return self.usual_target
        return int(self.before * self.settings.target_usage)

    @cached_property
    def usual_target(self) -> int:
        """That of the settings, less what is charged and not counted here."""
        aim = self.settings.target_tokens
        beyond = self.ask.not_counted or max(0, self.used - self.before)
        return max(aim - beyond, int(LEAST_OF_TARGET * aim))

    @cached_property
    def used(self) -> Count:
        """How full the context is; what a provider really charged counts before our count."""
        at = None if self.prompt.at is not None else anchor_in(self.ask.messages)
        if self.ask.counter is None and at:
            return anchored(self.counter, self.conversation.messages, at)
        return self.counter.count(self.before)

    @cached_property
    def plan(self) -> Plan:
        """The plan to run on: with its room, and by hand below the target only before the tail.

        The tail takes half of the room at most; where all is recent there is nothing before it.
        """
        ask = self.ask
        unnamed = ask.target_tokens is None and self.before <= self.usual_target
        if unnamed and self.strategy in ("offload", "truncate", "window"):
            return self.whole
        room = self.target - self.fixed
        if self.in_system or self.prompt.at is not None:
            room -= self.counter.message(ROOM)
        plan = replace(self.whole, room=room)
        if not unnamed:
            return plan
        all_recent = self.whole.tail == self.whole.head
        tail = range(self.whole.tail if all_recent else plan.tail, len(plan.messages))
        return replace(plan, pins=plan.pins.union(tail))

    @property
    def in_system(self) -> bool:
        """Whether a new summary goes to the system prompt: Anthropic has no other system role."""
        claude = self.counter.family.name.startswith("claude")  # plain texts may be anybody's
        wanted = self.settings.summary_role == "system"
        return wanted and self.user_first and (claude or self.ask.system is not None)

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
        if self.ask.target_tokens is not None and self.before > self.ask.target_tokens:
            return None
        if not self.ask.messages:
            return "nothing to compress: the conversation is empty"
        if self.ask.target_tokens is not None:
            return "already within the target"
        if self.ask.force:
            left = len(self.plan.anchored) < len(self.plan.messages)
            return None if left else "nothing to compress before the recent messages"
        if self.strategy == "window" and window.is_due(self.plan):
            return None
        if self.used.upper >= self.settings.threshold_tokens:
            return None
        return f"not due below {self.settings.threshold_tokens:,} tokens"

    def run(self) -> Run:
        """Run the strategy and account for it."""
        self.plan = replace(self.plan, cutter=self.cutter)
        if self.strategy == "summarize":
            outcome = yield from self._summarize_or_extract(())
            return self.account(outcome) if outcome else self.unchanged(*self.failures)
        if self.strategy != "auto":
            proposed = yield from STRATEGIES[self.strategy].propose(self.plan)
            step = Step(self.strategy, self.fixed + self._view(proposed)[1])
            return self.account(_Outcome(proposed, self.strategy, (step,)))
        limit = self.fixed + self.floor.tokens
        if self.target < limit:
            if self.ask.target_tokens is not None:
                keep(self.plan.cutter)  # a larger target may follow
                raise BudgetTooSmall(self.target, limit, self.floor.parts | self._beside())
            self.plan = replace(self.plan, room=self.floor.tokens)
        outcome = yield from self._auto()
        return self.account(outcome) if outcome else self.unchanged(*self.failures)

    def _auto(self) -> Generator[SummaryRequest, SummaryReply, _Outcome | None]:
        """Cheapest first, measuring after each; what cannot suffice in any case is not tried."""
        suffices = self.room
        if self.unasked:
            suffices = max(suffices, self.settings.threshold_tokens)
            self.plan = replace(self.plan, batch=self.plan.tail)  # a second rewrite would cost more
        if least_left(self.plan) > suffices:
            return (yield from self._summarize_or_extract(()))
        outcome = yield from self._shorten_results()
        total = outcome.steps[-1].tokens_after - self.fixed
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
    ) -> Generator[SummaryRequest, SummaryReply, _Outcome | None]:
        """A summary where somebody can write one, else extract; `None`: leave it as it is."""
        if self.ask.can_ask:
            try:
                proposed = yield from summarize.propose(self.plan)
            except SummaryError as error:
                self.failures.append(f"no summary: {error}")
                logger.warning("no summary: %s", error)
                if self.settings.on_summary_failure == "skip":
                    return None
            else:
                total = self._view(proposed)[1]
                steps = (*steps, Step("summarize", self.fixed + total))
                if proposed and total <= self.room:
                    return _Outcome(proposed, "summarize", steps)
                if proposed:
                    self.failures.append("the summary and what must stay do not fit the target")
                elif self.strategy == "summarize":
                    self.failures.append("nothing to compress before the recent messages")
                    return None
        if outcome := (yield from self._extracted(steps)):
            return outcome
        floor = Step("extract", self.fixed + self.floor.tokens)
        return _Outcome(self.floor.edits, "extract", (*steps, floor))

    def _extracted(
        self, steps: tuple[Step, ...]
    ) -> Generator[SummaryRequest, SummaryReply, _Outcome | None]:
        """By `extract`; `None` where that does not fit."""
        for plan in filter(None, (self._settled(), self.plan)):
            proposed = yield from extract.propose(plan)
            total = self._view(proposed)[1]
            if total <= self.room:
                return _Outcome(proposed, "extract", (*steps, Step("extract", self.fixed + total)))
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

    def _shorten_results(self) -> Generator[SummaryRequest, SummaryReply, _Outcome]:
        """Offload, then truncate what is still long, until the room suffices."""
        taken: dict[int, Edit] = {}
        steps: list[Step] = []
        for name in ("offload", "truncate"):
            for edit in (yield from STRATEGIES[name].propose(_with(self.plan, taken))):
                taken[edit.start] = edit
            total = _with(self.plan, taken).total
            steps.append(Step(name, self.fixed + total))
            if total <= self.room:
                break
        return _Outcome([*taken.values()], steps[-1].strategy, tuple(steps))

    def _refilled(self, outcome: _Outcome) -> _Outcome | None:
        """With the room filled that shorter results leave; `None` where that is too little room."""
        proposed = refilled(self.plan, outcome.edits)
        if proposed is None:
            return None
        *before, last = outcome.steps
        filled = replace(last, tokens_after=self.fixed + self._view(proposed)[1])
        return _Outcome(proposed, outcome.strategy, (*before, filled))

    @property
    def unasked(self) -> bool:
        """Whether it runs because it is due, not because somebody asked for it."""
        return not self.ask.force and self.ask.target_tokens is None

    def _may_stop(self, outcome: _Outcome, total: int) -> bool:
        """Whether an unasked run may stop early: below the threshold, enough is freed, it pays.

        It pays where each token of room won costs the prompt cache no more than if the run went on,
        after which the whole view is written anew. A model is not asked for the cache's sake.
        """
        after = self.counter.count(self.fixed + total)
        limit = self.settings.threshold_tokens * after // after.upper - self.fixed
        enough = self.plan.total - total >= self.settings.compact_trigger_tokens
        if not (self.unasked and total < limit and enough):
            return False
        first = min((edit.start for edit in outcome.edits), default=len(self.plan.tokens))
        anew = total - sum(self.plan.tokens[:first])
        return self.ask.can_ask or anew * (limit - self.room) <= self.room * (limit - total)

    def _view(self, proposed: Sequence[Edit]) -> tuple[View, int]:
        """What edits lead to, and its tokens; the last answer is remembered."""
        if self._viewed[0] is not proposed:
            messages, count = self.plan.messages, self.counter.message
            view = edits.apply(messages, proposed, count, user_first=self.user_first)
            self._viewed = proposed, view, self._tokens(view)
        return self._viewed[1:]

    def _placed(self, view: View) -> tuple[list[Message], Any]:
        """Messages and system prompt of a view, as they are sent."""
        made = (m for e in view.edits if e.record for m in e.becomes if previous_summary(m))
        return self.prompt.placed(
            view.messages, view.origins, next(made, None) if self.in_system else None
        )

    def _tokens(self, view: View) -> int:
        """Of its messages, and of a summary in its system prompt."""
        messages, system = self._placed(view)
        summary = self.counter.system(system) - self.beside["system prompt"]
        return summary + sum(map(self.counter.message, messages))

    def _beside(self) -> dict[str, int]:
        return {name: tokens for name, tokens in self.beside.items() if tokens}

    def unchanged(self, *notes: str) -> Result:
        """The conversation as it is, mended where it was broken."""
        if self.mended.repairs:
            return self.account(_Outcome((), "none", ()), *notes)
        return Result(
            messages=list(self.ask.messages),  # pyright: ignore[reportArgumentType]  # as they came
            tokens_before=self.before,
            tokens_after=self.before,
            messages_in=len(self.ask.messages),
            fixed_tokens=self.fixed,
            target_tokens=self.ask.target_tokens,
            target_met=self.before <= (self.ask.target_tokens or self.before),
            system=self.ask.system,
            notes=notes,
            method=self.counter.method,
        )

    def account(self, outcome: _Outcome, *notes: str) -> Result:
        """Apply what was proposed and say what came of it; keep the originals first."""
        view, total = self._view(outcome.edits)
        after = self.fixed + total
        target = self.aim if outcome.steps else self.ask.target_tokens
        met = target is None or after <= target
        smallest = None if met else self.floor
        short = () if met else (self._falls_short(outcome.strategy, after),)
        keep(self.plan.cutter)
        self.plan.previews.clear()
        if not self.mended.repairs and (not view.edits or after >= self.before):
            return replace(
                self.unchanged("nothing could be removed", *self.failures, *short),
                target_tokens=self.aim,
                target_met=self.aim is None or after <= self.aim,
                steps=outcome.steps,
            )
        sent, system = self._placed(view)
        mended = self.mended
        accounting = Accounting(self.ask.messages, self.conversation.messages, mended, view)
        accounting.archive(self.repaired, sent)
        if system is not self.ask.system:
            notes = (*notes, "the system prompt changed, too: send `system` with the messages")
            if earlier := summary_in(self.ask.system):
                accounting.add(earlier, Ref("earlier summary", ()))
        summary = next((edit.record for edit in view.edits if edit.record), None)
        if summary:
            summary = replace(summary, first_kept=accounting.index_at(summary.first_kept))
            if summary.whole_ledger:
                accounting.add(summary.whole_ledger, Ref("ledger", ()))
        messages = self.conversation.render(sent)
        changed_from = first_difference(self.ask.messages, messages)
        result = Result(
            messages=messages,
            changed=True,
            tokens_before=self.before,
            tokens_after=after,
            messages_in=len(self.ask.messages),
            fixed_tokens=self.fixed,
            target_tokens=target,
            target_met=met,
            strategy=outcome.strategy,
            steps=outcome.steps,
            system=system,
            floor_tokens=self.fixed + smallest.tokens if smallest else 0,
            floor=smallest.parts | self._beside() if smallest else {},
            dropped=accounting.dropped,
            compressed=tuple(accounting.gone),
            first_changed=changed_from if system is self.ask.system else 0,
            reasons=accounting.reasons(),
            refs=accounting.refs,
            originals=accounting.originals,
            previews=accounting.previews(self.plan.archive),
            layout=layout(self.ask.messages, messages),
            repairs=mended.repairs,
            notes=(*notes, *self.failures, *short) if outcome.steps else notes,
            method=self.counter.method,
            summary=summary,
            evidence=partial(loss_report, mended.messages, view, accounting.gone_of_mended),
        )
        if self.ask.store is None:
            return result
        kept = self.ask.store.keep(self.ask.messages, result)
        return replace(
            result, files_removed=kept.files_removed, notes=(*result.notes, *kept.warnings)
        )

    def _falls_short(self, strategy: str, after: int) -> str:
        if self.strategy != "auto":
            further = after > self.fixed + self.floor.tokens
            at_floor = "" if further else "this is the floor, and not even "
            return f"{strategy} falls short of the target; {at_floor}auto goes further"
        if strategy in ("offload", "truncate"):
            return "stopped early: below the threshold, and compact_trigger_tokens were freed"
        return "the target of the settings lies below the floor; this is the floor"


def _check_strategy(name: str, can_ask: bool) -> None:
    if name not in STRATEGIES and name != "auto":
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
