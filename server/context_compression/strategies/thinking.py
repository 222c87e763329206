"""All of the model's thinking leaves: for a provider that takes none of it back.

No strategy to choose, for it is not made to save room: a session mends a refused request with it.
"""

from context_compression.conversation.messages import Thinking
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan

NAME = "thinking"


def edits(plan: Plan) -> list[Edit]:
    """Edits that drop every thinking block, and each message that holds nothing else.

    Only the assistant thinks, and two messages of one role may follow each other: roles stay valid.
    """
    found: list[Edit] = []
    for index, message in enumerate(plan.messages):
        if message.has_thinking:
            left = tuple(block for block in message.blocks if not isinstance(block, Thinking))
            becomes = (message.with_blocks(left),) if left else ()
            found.append(Edit(index, index + 1, becomes, NAME, needed=True))
    return found
