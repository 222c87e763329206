"""What stands in each view that meets its target: the user's standing rules, and one ref."""

from collections.abc import Callable, Sequence

from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.filling.standing import with_standing_rules
from context_compression.strategies.floor import Floor
from context_compression.strategies.naming_refs import lacks_a_ref, with_a_ref


def with_what_stays(
    plan: Plan,
    edits: Sequence[Edit],
    room: int,
    tokens_after: Callable[[Sequence[Edit]], int],
    floor: Callable[[], Floor],
) -> Sequence[Edit]:
    """The edits with what stays; the same object if nothing of it was left out.

    If the view has no room for the rules, the smallest view has, and in a small room it has the
    ref.

    Args:
        plan: the plan of the conversation.
        edits: the edits of a strategy of ours.
        room: the tokens that the view may take.
        tokens_after: takes edits and returns the tokens of their view.
        floor: returns the smallest view.
    """
    more = with_standing_rules(plan, edits)
    has_rules = more is edits
    if lacks_a_ref(plan, more):
        more = with_a_ref(plan, more)
    if more is edits or tokens_after(more) <= room:
        return more
    if has_rules and room >= measured.LEAST_FOR_REFS_TOKENS:
        return edits
    smallest = floor()
    return edits if smallest.tokens > room else smallest.edits
