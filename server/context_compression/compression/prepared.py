"""One call of `compress` as a value, its conversation, and its target.

The conversation is read, repaired, counted and planned. The target says whether a compression is
due and what it can reach.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import is_
from typing import Any, Protocol

from context_compression.compression.result import Kept, Result
from context_compression.conversation import text_protocol, validity
from context_compression.conversation.authors.speech import with_reminders
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.formats.parts import ProviderRules
from context_compression.conversation.messages import Message, Text, ToolResult, is_array
from context_compression.conversation.system_prompt import ROOM, carried
from context_compression.conversation.validity import Repaired
from context_compression.errors import BudgetTooSmall, InvalidSettings, InvalidTarget
from context_compression.evidence.facts import is_talk
from context_compression.evidence.ledger.entries import names_in_calls
from context_compression.listening import LOOKING, counted
from context_compression.planning import edits
from context_compression.planning.edits import Edit, View
from context_compression.planning.pieces import Cutter, cutter_for, keep
from context_compression.planning.plan import Archive, Plan, owner_of, pinned, reasoning_of
from context_compression.settings import Settings, StrategyName
from context_compression.strategies import measured, window
from context_compression.strategies.base import Strategy
from context_compression.strategies.extract import Floor, floor
from context_compression.strategies.forms import unread_in
from context_compression.strategies.keep import (
    drops_thinking,
    takes_turns,
    with_consequences,
    without_bound,
    without_stale_thinking,
)
from context_compression.strategies.summarize import previous_summary
from context_compression.tokens import (
    UNDERSTATED,
    Count,
    Counter,
    TextCounter,
    anchor_in,
    anchored,
    is_understated,
)
from context_compression.tokens.usage import AnyMessages, Messages


class Keeper(Protocol):
    """Keeps the originals of one compression; a session makes a keeper for each."""

    @property
    def archive(self) -> Archive:
        """The archive that notes in a view may refer to: refs to restore, files to read."""
        ...

    def keep(self, messages: Messages, result: Result) -> Kept:
        """Write the originals of a compression durably; an error stops the compression."""
        ...


SMALLEST_TARGET = 1
"""A target in tokens that no view meets, so that a named strategy frees all it can."""


@dataclass(frozen=True, kw_only=True)
class CompressionRequest:
    """The arguments of one compression; `library.compress` explains the others.

    Attributes:
        aim: the target in tokens of an automatic compression, instead of the settings' target. It
            is no promise: a caller that sets `target_usage` gets what it set.
        strategy: the name of a strategy, `auto`, or a strategy of the caller's own; `None` takes
            the strategy of the settings.
        store: keeps the originals; with `None` they are only in the result.
        has_summarizer: whether a model, or the calling agent, will write summaries.
        waits: whether this compression may wait for a summary, if there is a summarizer.
        must_answer: whether somebody has to be answered: a size that cannot be reached gives the
            smallest useful context instead of `BudgetTooSmall`.
        restores: whether the model can call `context_restore`, so that notes may name it.
    """

    messages: AnyMessages
    target_tokens: int | None = None
    aim: int | None = None
    system: Any = None
    tools: Any = None
    model: str | None = None
    counter: TextCounter | None = None
    strategy: StrategyName | Strategy | None = None
    pins: Sequence[int | str] = ()
    focus: str | None = None
    force: bool = False
    settings: Settings | Mapping[str, Any] | None = None
    store: Keeper | None = None
    has_summarizer: bool = False
    waits: bool = True
    must_answer: bool = False
    restores: bool = True

    def check(self) -> None:
        """Refuse impossible values, because callers without a type checker may pass anything.

        Raises:
            InvalidTarget: `target_tokens` is not a positive integer.
            InvalidSettings: `pins` is not a list of texts and numbers, or one of them is empty.
        """
        target: Any = self.target_tokens
        if target is not None and (isinstance(target, bool) or not isinstance(target, int)):
            raise InvalidTarget(
                f"target_tokens is {target!r:.60}; it must be a whole number of tokens."
            )
        if target is not None and target < 1:
            raise InvalidTarget(f"target_tokens is {target:,}; it must be at least 1.")
        pins: Any = self.pins
        if not is_array(pins) or not all(isinstance(pin, int | str) for pin in pins):
            raise InvalidSettings(
                f"pins is {pins!r:.60}; it must be a list of texts and numbers of messages."
            )
        if "" in pins:
            raise InvalidSettings(
                "One of the pins is an empty text, and every message contains that."
            )


COMPETING = ("auto", "offload", "extract")
"""Strategies that choose among the pieces of texts."""
SURELY_LONG = 6
"""With more characters per token of the target than this, a conversation is surely over the target,
because hardly any text has so many characters per token."""


def as_a_harness_wrote(conversation: Conversation) -> Conversation:
    """The conversation with calls and results of a text protocol, and with marked reminders.

    Only a harness repeats itself with role user, so a chat without calls has no reminders.
    """
    messages = text_protocol.read(conversation.messages)
    if any(message.calls for message in messages):
        messages = text_protocol.read(with_reminders(conversation.messages))
    if all(map(is_, messages, conversation.messages)):
        return conversation
    return replace(conversation, messages=messages)


def _repaired(conversation: Conversation, rules: ProviderRules, drops: bool) -> Repaired:
    """The conversation after its repair, without the thinking that the repair invalidates."""
    repaired = validity.repair(conversation.messages, rules, conversation.without_halves)
    if not repaired.repairs or not drops:
        return repaired
    return without_stale_thinking(conversation.messages, repaired)


class PreparedConversation:
    """A conversation that is ready to be compressed.

    Attributes:
        request: the arguments of this compression.
        settings: the settings that apply, with the model's context window.
        strategy: the name of the strategy, or `auto`.
        counter: counts in the model's tokens.
        conversation: the messages as they were read.
        rules: the rules of the provider.
        repaired: the messages after their repair, which a provider accepts.
        planned: the repaired messages with the earlier summary of the system prompt, if it holds
            one, as a further message. Strategies see these messages.
        prompt: the system prompt, and the position of its summary among the planned messages.
        overhead: the tokens outside the messages, by name: system prompt and tool schemas, where
            the caller handed them in.
        fixed_tokens: the sum of the overhead.
        plan: the plan without a limit of tokens.
        tokens_before: the tokens of the messages and the overhead.
        warnings: sentences for the caller, in plain words, on pins that match no message and
            summaries that failed.
    """

    def __init__(self, request: CompressionRequest, settings: Settings, strategy: str) -> None:
        """Read, repair, count and plan.

        Raises:
            InvalidConversation: the messages are not a conversation in a known dialect.
            InvalidCounter: the counter is not a function, or does not return a number of tokens.
        """
        self.request, self.settings, self.strategy = request, settings, strategy
        self.counter = Counter(request.model, request.counter)
        self.conversation = as_a_harness_wrote(parse(request.messages))
        self.rules = self._rules()
        drops = drops_thinking(settings, request.model)
        self.repaired = _repaired(self.conversation, self.rules, drops)
        self.planned, self.prompt = carried(self.repaired, request.system)
        self.overhead = {
            "system prompt": self.counter.system(self.prompt.bare),
            "tool schemas": self.counter.tools(request.tools),
        }
        self.warnings: list[str] = []
        messages = self.planned.messages
        tokens, pins = self._counted(messages), self._pins()
        archive = request.store.archive if request.store else Archive()
        self.plan = Plan(
            messages,
            tokens,
            self.counter,
            settings,
            pins=pins,
            rules=self.rules,
            drops_thinking=drops,
            archive=archive if request.restores else replace(archive, restorable=False),
            focus=request.focus,
            model=request.model,
        )
        unedited = View(messages, tuple(range(len(messages))), ())
        self._last_view: tuple[Sequence[Edit], View, int] = (), unedited, self.tokens_of(unedited)
        self.fixed_tokens = sum(self.overhead.values())
        self.tokens_before = self.fixed_tokens + self._last_view[2]

    def _rules(self) -> ProviderRules:
        """The rules of the provider.

        Roles must alternate if the dialect or the settings require it. If the settings leave it
        open, they must also alternate for a model of no known family, provided that the dialect's
        results have role tool and the roles of the input alternate already.
        """
        rules, alternate = self.conversation.format.rules, self.settings.alternate_roles
        blocks = chain.from_iterable(message.blocks for message in self.conversation.messages)
        if any(isinstance(b, ToolResult) and b.kind == text_protocol.KIND for b in blocks):
            rules = replace(rules, results_role="user")
        if alternate is None:
            others_model = self.request.model is not None and self.counter.family.name == "other"
            strict = others_model and rules.results_role == "tool"
            alternate = strict and takes_turns(self.conversation.messages)
        return replace(rules, alternates=rules.alternates or alternate)

    def _counted(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of each message.

        A thread counts long texts. If the conversation is surely over the target, tool results are
        cut into pieces in the meantime, because nearly all of them will compete.
        """
        if counting := self.counter.ahead(messages):
            target = self.request.target_tokens or self.settings.threshold_tokens
            competes = self.strategy in COMPETING and not self.request.has_summarizer
            try:
                if competes and counting.chars > SURELY_LONG * target:
                    for message in counted(LOOKING, messages):
                        for result in message.results:
                            self.cutter(result.text)
            finally:
                counting.finish()
        return tuple(map(self.counter.message, messages))

    @cached_property
    def cutter(self) -> Cutter:
        """A kept cutter that knows at least half of the texts, else a new one."""
        messages = self.planned.messages
        blocks = chain.from_iterable(message.blocks for message in messages)
        texts = [block.text for block in blocks if isinstance(block, Text | ToolResult)]
        return cutter_for(texts, prose=is_talk(messages), known=names_in_calls(messages))

    def release(self) -> None:
        """Give the cutter back, if there is one, because the next compression may need it again."""
        if cutter := vars(self).pop("cutter", None):
            keep(cutter)

    def _pins(self) -> frozenset[int]:
        """The indices of the pinned messages in the plan, with the messages that they need."""
        messages = self.conversation.messages
        self.warnings += (
            f"pin {pin!r} matches no message"
            for pin in self.request.pins
            if not pinned(messages, [pin])
        )
        origins = pinned(messages, self.request.pins, self.settings)
        pins = {i for i, origin in enumerate(self.planned.origins) if origin in origins}
        if self.rules.reasoning_apart:  # an item needs its reasoning, and reasoning its item
            planned = self.planned.messages
            pins |= {owner_of(planned, index) for index in pins}
            pins |= {before for index in pins for before in reasoning_of(planned, index)}
        return frozenset(pins)

    @property
    def tokens_beside(self) -> int:
        """The tokens that a provider charged beyond those counted here, by `usage` in a message."""
        return max(0, (self._charged or 0) - self.tokens_before)

    @cached_property
    def _charged(self) -> Count | None:
        """The tokens by the usage that a message holds; `None` if there is none."""
        anchor = None if self.prompt.at is not None else anchor_in(self.conversation)
        if self.request.counter is None and is_understated(self.conversation):
            self.warnings.append(UNDERSTATED)
        if self.request.counter is not None or anchor is None:
            return None
        return anchored(self.counter, self.conversation.messages, anchor)

    @cached_property
    def used(self) -> Count:
        """The tokens in the context window, from the provider's own number if there is one."""
        if self._charged is not None:
            return self._charged
        messages = self.conversation.messages
        overhead = self.tokens_before - self.counter.messages(messages)
        return self.counter.total(messages, overhead)

    @property
    def summary_in_system(self) -> bool:
        """Whether a new summary is put into the system prompt.

        The settings must ask for it, and the dialect must have the system prompt outside the
        messages. The model must be a Claude model, or the request must hold a system prompt.
        """
        # plain texts may be of another dialect, unless the model is Claude
        claude = self.counter.family.name.startswith("claude")
        possible = self.conversation.format.system_apart
        by_settings = self.settings.summary_role == "system" and possible
        return by_settings and (claude or self.request.system is not None)

    def view(self, proposed: Sequence[Edit]) -> tuple[View, int]:
        """The view that edits make, and the tokens of its messages; the last view is cached."""
        if self._last_view[0] is not proposed:
            messages, count = self.planned.messages, self.counter.message
            settled = with_consequences(self.plan, proposed)
            view = edits.apply(messages, settled, count, self.rules)
            binds = self.plan.bound and self.plan.drops_thinking
            if binds and self.placed(view)[1] is not self.request.system:
                settled = without_bound(self.plan, settled, first=0)
                view = edits.apply(messages, settled, count, self.rules)
            self._last_view = proposed, view, self.tokens_of(view)
        return self._last_view[1:]

    def placed(self, view: View) -> tuple[list[Message], Any]:
        """The messages and the system prompt of a view, as they are sent."""
        new = (m for e in view.edits if e.record for m in e.becomes if previous_summary(m))
        summary = next(new, None) if self.summary_in_system else None
        return self.prompt.placed(view.messages, view.origins, summary)

    def tokens_of(self, view: View) -> int:
        """Tokens of a view's messages, and of a summary in its system prompt."""
        messages, system = self.placed(view)
        summary = self.counter.system(system) - self.overhead["system prompt"]
        counted, count = self._counted_by_id, self.counter.message
        return summary + sum(counted[id(m)] if id(m) in counted else count(m) for m in messages)

    @cached_property
    def _counted_by_id(self) -> Mapping[int, int]:
        """Tokens of the plan's messages by `id`, which is valid as long as the plan exists."""
        return dict(zip(map(id, self.plan.messages), self.plan.tokens, strict=True))

    def with_overhead(self, parts: Mapping[str, int]) -> dict[str, int]:
        """The tokens of `parts` by name, with the tokens of the overhead."""
        return {**parts, **{name: tokens for name, tokens in self.overhead.items() if tokens}}


LEAST_OF_TARGET = 0.25
"""The share of the settings' target that stays for the view, however much goes beside it."""
BELOW_THRESHOLD = 0.9
"""The share of the room below the threshold that is used if the target of the settings is below the
minimum size. The rest stays free for the next messages."""
USEFUL, LEAST_USEFUL = 0.2, 0.05
"""The shares of the window that messages take if no target can be met: at most, and at least."""
ANSWERED = 0.6
"""The share of the room in the window that they take then; the answer needs the rest."""
ALL_RECENT = "nothing to compress before the recent messages"
READING = ("auto", "extract", "summarize", "window")
"""The strategies of which a context is made larger for what the model has not read. Others leave
that as it is, or decide for themselves."""


@dataclass(frozen=True)
class Target:
    """The target of one compression: that of the request, else that of the settings."""

    prepared: PreparedConversation

    @property
    def is_named(self) -> bool:
        """Whether the request names the target."""
        return self.prepared.request.target_tokens is not None

    @property
    def is_automatic(self) -> bool:
        """Whether the compression runs only if it is due, without a target or `force`."""
        return not self.prepared.request.force and not self.is_named

    @property
    def is_set(self) -> bool:
        """Whether the size was chosen: by the request, or by `target_usage` in any settings."""
        by_settings = "target_usage" in self.prepared.settings.model_fields_set
        return self.is_named or (by_settings and self.prepared.request.aim is None)

    @cached_property
    def tokens(self) -> int:
        """The target in tokens: of the messages, with the system prompt and tools of the request.

        It is larger than that of the settings where the model could not read its newest results.
        """
        room = self.plan.room
        return self._aimed if room is None else max(self._aimed, room + self.prepared.fixed_tokens)

    @cached_property
    def _aimed(self) -> int:
        """The target of the request, else that of the settings.

        For a conversation below the target of the settings, it is the same share of its own size.
        """
        if self.prepared.request.target_tokens is not None:
            return self.prepared.request.target_tokens
        before = self.prepared.tokens_before
        if before > self._of_settings:
            return self._of_settings
        return int(before * self.prepared.settings.target_usage)

    @cached_property
    def _of_settings(self) -> int:
        """The target of the settings, a share of the window, without what is charged beside."""
        tokens = self.prepared.request.aim or self.prepared.settings.target_tokens
        return within(tokens, self.prepared.tokens_beside)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the conversation; its `room` is the tokens that the messages may take.

        Below the target of the settings, the plan for offload, truncate and window has no room, so
        that they free all they can; other strategies have `plan_before_tail` then.
        """
        below = not self.is_named and self.prepared.tokens_before <= self._of_settings
        if below and self.prepared.strategy in ("offload", "truncate", "window"):
            return self.prepared.plan
        return self.plan_before_tail if below else self._with_unread_whole(self._plan_with_room)

    @cached_property
    def plan_before_tail(self) -> Plan:
        """The plan in which messages before the tail make room; the tail counts as recent.

        It takes at most half of the room. If all messages are recent, and not more than twice
        `preserve_messages`, none are before it.
        """
        plan, settings = self._plan_with_room, self.prepared.settings
        few = len(plan.messages) <= 2 * settings.preserve_messages
        start = plan.head if few and self.prepared.plan.tail == plan.head else plan.tail
        turns = max(1, sum(turn.start >= start for turn in plan.turns))
        new = settings.model_copy(update={"keep_recent": turns})
        return replace(plan, pins=plan.pins.union(range(start, len(plan.messages))), settings=new)

    @property
    def _plan_with_room(self) -> Plan:
        prepared, room = self.prepared, self._aimed - self.prepared.fixed_tokens
        if prepared.summary_in_system or prepared.prompt.at is not None:
            room -= prepared.counter.message(ROOM)
        return replace(prepared.plan, room=room)

    def _with_unread_whole(self, plan: Plan) -> Plan:
        """The plan in which the newest results are whole, if the request is below the threshold so.

        The context may be larger than its target, so that they take their share of it. If even that
        is too much, they take what the smallest view beside them leaves. A size that was chosen is
        kept.
        """
        unread = unread_in(plan)
        due = self.is_automatic and self.is_over_threshold and not self.is_set
        if not (unread and due and self.prepared.strategy in READING):
            return plan
        whole = replace(plan, pins=plan.pins.union(unread))
        least, prepared = floor(whole).tokens, self.prepared
        beside = prepared.fixed_tokens + prepared.tokens_beside
        if least + beside >= self.prepared.settings.threshold_tokens:  # counted as targets are
            return plan
        wanted = int(sum(plan.tokens[index] for index in unread) / measured.UNREAD_SHARE)
        most = int(BELOW_THRESHOLD * self.room_below_threshold)
        return replace(whole, room=max(plan.room or 0, least, min(most, wanted)))

    @property
    def is_over_threshold(self) -> bool:
        """Whether a compression is due by the upper bound, as in `Usage.over_threshold`."""
        return self.prepared.used.upper >= self.prepared.settings.threshold_tokens

    @property
    def room_below_threshold(self) -> int:
        """The tokens that the messages may take before a compression is due by the upper bound."""
        return self._room_below(self.prepared.settings.threshold_tokens)

    @property
    def useful_room(self) -> int:
        """The tokens of messages that still make a useful request, if the target is out of reach.

        They are a fifth of the window, or fewer if system prompt and tools leave less.
        """
        window = self.prepared.settings.token_budget
        beside = ANSWERED * self._room_below(window)
        there_is = max(beside, BELOW_THRESHOLD * self.room_below_threshold)
        return int(max(LEAST_USEFUL * window, min(USEFUL * window, there_is)))

    def _room_below(self, limit: int) -> int:
        """The tokens that the messages may take until all is `limit` by the upper bound."""
        count = self.prepared.counter.count(limit)
        below = count * count // max(1, count.upper)
        return max(0, below - self.prepared.fixed_tokens - self.prepared.tokens_beside)

    def nothing_to_do(self) -> str | None:
        """The reason why nothing is compressed, in words; `None` if a compression runs."""
        if self.is_named and self.prepared.tokens_before > self.tokens:
            return None
        if not self.prepared.request.messages:
            return "nothing to compress: the conversation is empty"
        if self.is_named:
            return "already within the target"
        if self.prepared.request.force:
            all_anchored = len(self.plan.anchored) >= len(self.plan.messages)
            return ALL_RECENT if all_anchored else None
        if self.prepared.strategy == "window" and window.is_due(self.plan):
            return None
        if self.is_over_threshold:
            return None
        threshold = self.prepared.settings.threshold
        return f"not due below {threshold.tokens:,} tokens ({threshold.reason})"


def within(target: int, beside: int) -> int:
    """The part of a window's target that is left for a conversation.

    Args:
        target: tokens of a request.
        beside: tokens of it that are no part of the conversation.
    """
    return max(target - beside, int(LEAST_OF_TARGET * target))


CLIPPED_SHARE = 0.25
"""The share of the room that the ends of the user's last words keep if they must be shortened; what
is between them competes for the rest."""
CHARS_PER_TOKEN = 3
CROWDED = 0.9
"""The share of the room above which the smallest view leaves too little for newest results."""


@dataclass(frozen=True)
class Reach:
    """What a compression can reach.

    Attributes:
        plan: the plan, whose room is at least the minimum size.
        floor: the smallest view of that plan.
        missed: the minimum size that the target was below; `None` if it was not.
    """

    plan: Plan
    floor: Floor
    missed: Floor | None = None


def within_reach(prepared: PreparedConversation, target: Target, plan: Plan) -> Reach:
    """The plan if it can meet its target; else one with the room of the smallest useful context.

    In that room the conversation shows the user's last words, the goal, rules and newest results,
    each shortened like any other text. A conversation over the threshold may take `BELOW_THRESHOLD`
    of the room below the threshold, because a long text that the user pasted must not push out
    everything else while the context window has room. For a request that must be answered, the
    user's last words are shortened, too, where the smallest view takes more than `CROWDED`
    of the room.

    Raises:
        BudgetTooSmall: the request names a target below the minimum size, and nobody has to be
            answered.
    """
    smallest, room = floor(plan), target.tokens - prepared.fixed_tokens
    if room >= smallest.tokens:
        if prepared.request.must_answer and smallest.tokens > CROWDED * room:
            plan = _yielding(plan, room)
            return Reach(plan, floor(plan))
        return Reach(plan, smallest)
    if target.is_named and not prepared.request.must_answer:
        parts = prepared.with_overhead(smallest.parts)
        raise BudgetTooSmall(target.tokens, prepared.fixed_tokens + smallest.tokens, parts)
    useful, least = max(room, target.useful_room), smallest
    if target.is_automatic and target.is_over_threshold:
        useful = max(useful, int(BELOW_THRESHOLD * target.room_below_threshold))
    elif target.is_named or smallest.tokens > useful:
        plan = _yielding(plan, room)
        least = floor(plan)
        if least.tokens <= room:
            return Reach(plan, least, smallest)
    if least.tokens > useful:
        plan = _yielding(plan, useful)
        least = floor(plan)
    if not target.is_automatic:  # it was asked for, so it frees something
        beside = int(plan.settings.target_usage * (plan.total - least.tokens))
        useful = min(useful, least.tokens + beside)
    return Reach(replace(plan, room=max(least.tokens, useful)), least, smallest)


def _yielding(plan: Plan, room: int) -> Plan:
    """The plan with the user's last words shortened like any other text, and pins if need be."""
    chars = max(1, int(CHARS_PER_TOKEN * CLIPPED_SHARE * room))
    plan = replace(plan, clip_chars=chars)
    return replace(plan, pins=frozenset()) if floor(plan).tokens > room else plan
