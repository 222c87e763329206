"""The target of one compression, whether one is due, and what it can reach."""

from dataclasses import dataclass, replace
from functools import cached_property

from context_compression.compression.prepared import PreparedConversation
from context_compression.conversation.system_prompt import ROOM
from context_compression.errors import BudgetTooSmall, largest_parts
from context_compression.planning.plan import Plan
from context_compression.strategies import measured, window
from context_compression.strategies.extract import Floor, floor
from context_compression.strategies.forms import unread_in

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
GO_ON = "a call with target_tokens can shorten recent messages, too"
READING = ("auto", "extract", "summarize", "window")
"""The strategies of which a context is made larger for what the model has not read. Others leave
that as it is, or decide for themselves."""


class Target:
    """The target of one compression: that of the request, else that of the settings."""

    def __init__(self, prepared: PreparedConversation) -> None:
        self._prepared, self._request = prepared, prepared.request
        self._settings = prepared.settings

    @property
    def is_named(self) -> bool:
        """Whether the request names the target."""
        return self._request.target_tokens is not None

    @property
    def is_automatic(self) -> bool:
        """Whether the compression runs only if it is due, without a target or `force`."""
        return not self._request.force and not self.is_named

    @property
    def is_set(self) -> bool:
        """Whether the size was chosen: by the request, or by `target_usage` in any settings."""
        chosen = "target_usage" in self._settings.model_fields_set and self._request.aim is None
        return self.is_named or chosen

    @cached_property
    def tokens(self) -> int:
        """The target in tokens: of the messages, with the system prompt and tools of the request.

        It is larger than that of the settings where the model could not read its newest results.
        """
        room = self.plan.room
        return self._aimed if room is None else max(self._aimed, room + self._prepared.fixed_tokens)

    @cached_property
    def _aimed(self) -> int:
        """The target of the request, else that of the settings.

        For a conversation that is already below the target of the settings, the target is the same
        share (`target_usage`) of its own size.
        """
        if self._request.target_tokens is not None:
            return self._request.target_tokens
        before = self._prepared.tokens_before
        if before > self._of_settings:
            return self._of_settings
        return int(before * self._settings.target_usage)

    @cached_property
    def _of_settings(self) -> int:
        """The target of the settings, a share of the window, without what is charged beside."""
        tokens = self._request.aim or self._settings.target_tokens
        return within(tokens, self._prepared.tokens_beside)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the conversation; its `room` is the tokens that the messages may take.

        Below the target of the settings, the plan for offload, truncate and window has no room, so
        that they free all they can. For other strategies, only messages before the tail are
        compressed then. The tail takes at most half of the room. If all messages are recent, there
        are none before it.
        """
        prepared, unlimited = self._prepared, self._prepared.plan
        below = not self.is_named and prepared.tokens_before <= self._of_settings
        if below and prepared.strategy in ("offload", "truncate", "window"):
            return unlimited
        room = self._aimed - prepared.fixed_tokens
        if prepared.summary_in_system or prepared.prompt.at is not None:
            room -= prepared.counter.message(ROOM)
        plan = replace(unlimited, room=room)
        if not below:
            return self._with_unread_whole(plan, room)
        all_recent = unlimited.tail == unlimited.head
        tail = range(unlimited.tail if all_recent else plan.tail, len(plan.messages))
        return replace(plan, pins=plan.pins.union(tail))

    def _with_unread_whole(self, plan: Plan, room: int) -> Plan:
        """The plan in which the newest results are whole, if the request is below the threshold so.

        The context may be larger than its target, so that they take their share of it. If even that
        is too much, they take what the smallest view beside them leaves. A size that was chosen is
        kept.
        """
        unread = unread_in(plan)
        due = self.is_automatic and self.is_over_threshold and not self.is_set
        if not (unread and due and self._prepared.strategy in READING):
            return plan
        whole = replace(plan, pins=plan.pins.union(unread))
        least, prepared = floor(whole).tokens, self._prepared
        beside = prepared.fixed_tokens + prepared.tokens_beside
        if least + beside >= self._settings.threshold_tokens:  # counted as targets are
            return plan
        wanted = int(sum(plan.tokens[index] for index in unread) / measured.UNREAD_SHARE)
        most = int(BELOW_THRESHOLD * self.room_below_threshold)
        return replace(whole, room=max(room, least, min(most, wanted)))

    @property
    def is_over_threshold(self) -> bool:
        """Whether a compression is due by the upper bound, as in `Usage.over_threshold`."""
        return self._prepared.used.upper >= self._settings.threshold_tokens

    @property
    def room_below_threshold(self) -> int:
        """The tokens that the messages may take before a compression is due by the upper bound."""
        return self._room_below(self._settings.threshold_tokens)

    @property
    def useful_room(self) -> int:
        """The tokens of messages that still make a useful request, if the target is out of reach.

        They are a fifth of the window, or fewer if system prompt and tools leave less.
        """
        window = self._settings.token_budget
        beside = ANSWERED * self._room_below(window)
        there_is = max(beside, BELOW_THRESHOLD * self.room_below_threshold)
        return int(max(LEAST_USEFUL * window, min(USEFUL * window, there_is)))

    def _room_below(self, limit: int) -> int:
        """The tokens that the messages may take until all is `limit` by the upper bound."""
        count = self._prepared.counter.count(limit)
        below = count * count // max(1, count.upper)
        return max(0, below - self._prepared.fixed_tokens - self._prepared.tokens_beside)

    def nothing_to_do(self) -> str | None:
        """The reason why nothing is compressed, in words; `None` if a compression runs."""
        if self.is_named and self._prepared.tokens_before > self.tokens:
            return None
        if not self._request.messages:
            return "nothing to compress: the conversation is empty"
        if self.is_named:
            return "already within the target"
        if self._request.force:
            all_anchored = len(self.plan.anchored) >= len(self.plan.messages)
            return ALL_RECENT if all_anchored else None
        if self._prepared.strategy == "window" and window.is_due(self.plan):
            return None
        if self.is_over_threshold:
            return None
        threshold = self._settings.threshold
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


def why_missed(prepared: PreparedConversation, target: Target, missed: Floor, after: int) -> str:
    """A note on a target below the minimum size: what was asked, what was reached, and why."""
    parts = largest_parts(prepared.with_overhead(missed.parts))
    smallest = prepared.fixed_tokens + missed.tokens
    asked = f"the target of {target.tokens:,} tokens is below the minimum size of {smallest:,}"
    return f"{asked}, so the context has {after:,}; what must stay: {parts}"
