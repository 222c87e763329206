"""Drops all of the model's thinking, for a provider that accepts none of it.

This strategy is not for callers, because it is not made to free tokens. A session repairs a refused
request with it.
"""

from context_compression.conversation.messages import Thinking
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.settings import Settings
from context_compression.tokens import takes_thinking_anywhere

NAME = "thinking"


def drops_thinking(settings: Settings, model: str | None) -> bool:
    """Whether signed thinking is dropped if the messages before it change.

    The settings decide, or for `auto` the model.
    """
    anywhere = settings.thinking == "auto" and takes_thinking_anywhere(model)
    return not (settings.thinking == "keep" or anywhere)


def edits(plan: Plan) -> list[Edit]:
    """Edits that drop every thinking block, and each message that holds nothing else.

    Roles stay valid, because only the assistant has thinking, and messages of one role may follow
    each other.
    """
    dropping: list[Edit] = []
    for index, message in enumerate(plan.messages):
        if message.has_thinking:
            left = tuple(block for block in message.blocks if not isinstance(block, Thinking))
            becomes = (message.with_blocks(left),) if left else ()
            dropping.append(Edit(index, index + 1, becomes, NAME, needed=True))
    return dropping
