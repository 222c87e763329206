"""The rules in which providers differ.

The module of each dialect states its rules with their sources. `validity` repairs conversations by
these rules, and the strategies follow them.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Join: TypeAlias = Literal["nothing", "calls", "turns with calls", "all"]
"""Which neighbouring messages of one role are joined into one message:

nothing           none: the provider takes them separately, or joins them itself
calls             the assistant's from the first call on, if others of its turn follow that call
turns with calls  the assistant's if one of them calls a tool, and the results of a turn
all               all of them
"""


@dataclass(frozen=True)
class ProviderRules:
    """The rules of one provider.

    Attributes:
        user_first: the first message must be the user's.
        results_role: the role of messages with tool results.
        join: which neighbouring messages of one role must be joined into one.
        alternates: user and assistant messages must alternate. Messages with calls or results count
            if `results_role` is user; they do not count if results have a role of their own.
        one_text: a result holds at most one text.
        lone_reasoning: what may not consist of reasoning alone: a message, a turn of the
            assistant's, or its end. Reasoning that is apart has rules of its own.
        reasoning_apart: reasoning is a message of its own, before the item it belongs to. Neither
            may be sent without the other, unless the item has lost its id.
    """

    user_first: bool = False
    results_role: Literal["user", "tool"] = "tool"
    join: Join = "nothing"
    alternates: bool = False
    one_text: bool = False
    lone_reasoning: Literal["message", "turn", "end of a turn"] = "turn"
    reasoning_apart: bool = False


def anthropic_like() -> ProviderRules:
    """The rules of Anthropic Messages, for a plan without a dialect."""
    return ProviderRules(user_first=True, results_role="user", lone_reasoning="end of a turn")
