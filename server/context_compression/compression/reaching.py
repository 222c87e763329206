"""Targets below the minimum size: refused, or the room of the smallest useful context instead."""

from dataclasses import dataclass, replace

from context_compression.compression.prepared import PreparedConversation
from context_compression.compression.target import BELOW_THRESHOLD, Target
from context_compression.errors import BudgetTooSmall, largest_parts
from context_compression.planning.plan import Plan
from context_compression.strategies.floor import Floor, floor

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
