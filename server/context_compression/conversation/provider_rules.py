"""The rules of the provider of a dialect that limit what a view may look like.

Each dialect's module states its rules with their sources; `validity` repairs by them, and the
strategies keep to them.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Join: TypeAlias = Literal["nothing", "calls", "turns with calls", "all"]
"""Which neighbouring messages of one role are joined to one message:

nothing           the provider takes them as they are, or joins them itself
calls             the assistant's, where results follow a message that is not the one that calls
turns with calls  the assistant's where one of them calls a tool, and the results of a step
all               all of them
"""


@dataclass(frozen=True)
class ProviderRules:
    """The rules of one provider.

    Attributes:
        user_first: the first message is the user's.
        results_role: the role of a message that carries the results of tools.
        join: which neighbours of one role have to be one message.
        alternates: user and assistant take turns. Messages with calls or results count as turns
            where results are the user's, and do not count where they have a role of their own.
        one_text: a result holds no more than one text.
        reasoning_apart: reasoning is a message of its own, before the item it belongs to. Neither
            may be sent without the other, unless the item has lost its id.
    """

    user_first: bool = False
    results_role: Literal["user", "tool"] = "tool"
    join: Join = "nothing"
    alternates: bool = False
    one_text: bool = False
    reasoning_apart: bool = False


def anthropic_like() -> ProviderRules:
    """The rules of Anthropic Messages, for a plan without a dialect."""
    return ProviderRules(user_first=True, results_role="user")
