"""The user's standing constraints in messages that are left out, which a view shall quote."""

from collections.abc import Iterable
from typing import NamedTuple

from context_compression.conversation.authors import holds_excerpts
from context_compression.evidence.constraints import constraints_in, is_rule
from context_compression.planning.pieces import Place
from context_compression.planning.plan import Plan
from context_compression.strategies.worth import TYPED_TOKENS

RULE_TOKENS = 8
"""What the label of a quoted constraint costs."""
FEW = 3
"""Rules of a pasted text that count like typed ones."""
UNSURE_SHARE = 1 / 3
"""Share of what the kept messages leave for what only may be constraints; those beyond it compete
like all else."""


class Rule(NamedTuple):
    """A standing constraint of the user's.

    Attributes:
        place: where it stands.
        tokens: that it costs to quote it.
        sure: whether it is one in any case: it sounds like one, and is none of many in a text too
            long to be typed.
    """

    place: Place
    tokens: int
    sure: bool


def rules_in(plan: Plan, texts: Iterable[tuple[int, str]], room: float) -> list[Rule]:
    """The constraints in texts in the user's role, given with their numbers.

    What is most likely to go on to apply comes first: the rules that were typed, and the first few
    of a pasted text, the newest text first. Then what only may be one, and what else pasted texts
    hold (in a specification most sentences may be constraints), the next one of each, and so on, as
    far as their share of the room goes. Of one said several times the last counts.

    Args:
        plan: whose texts.
        texts: of messages that are left out.
        room: tokens that the kept messages leave.
    """
    found: dict[str, tuple[tuple[int, int, int], Rule]] = {}
    for number, text in texts:
        long = plan.counter.text(text) > TYPED_TOKENS and not holds_excerpts(text)
        for rank, (start, stop) in enumerate(constraints_in(text), 1):
            said = text[start:stop]
            tokens = plan.counter.text(said) + RULE_TOKENS
            sure = is_rule(said) and not (long and rank > FEW)
            if sure or said not in found:
                order = 0 if sure else rank, -number, start
                found[said] = order, Rule((number, start, stop), tokens, sure)
    rules = [rule for _, rule in sorted(found.values())]
    unsure = sum(rule.tokens for rule in rules if not rule.sure)
    left = UNSURE_SHARE * room
    if plan.cutter.prose and unsure > left:
        left = 0  # so many are no constraints: it is how people talk
    chosen: list[Rule] = []
    for rule in rules:
        left -= 0 if rule.sure else rule.tokens
        if rule.sure or left >= 0:
            chosen.append(rule)
    return chosen
