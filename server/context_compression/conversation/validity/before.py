"""`Before`: what a repair needs to know of the messages before those that it repairs."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from context_compression.conversation.messages import Edited, Message, Opaque


@dataclass(frozen=True)
class Before:
    """The valid beginning of a conversation, as far as it matters for what follows.

    Attributes:
        messages: how many messages it has, as they came.
        call_ids: the ids of its calls.
        item_ids: the ids of its items.
        units: the ids of its units.
        is_there: whether it has a message other than system messages.
    """

    messages: int = 0
    call_ids: AbstractSet[str] = frozenset()
    item_ids: AbstractSet[str] = frozenset()
    units: AbstractSet[str] = frozenset()
    is_there: bool = False

    def followed_by(self, given: Sequence[Message], repaired: Iterable[Message]) -> "Before":
        """The same with more messages: as they came, and after their repair."""
        repaired = [*repaired]
        return Before(
            self.messages + len(given),
            self.call_ids | {call.id for message in repaired for call in message.calls},
            self.item_ids | {*filter(None, map(item_id_of, repaired))},
            self.units | {b.unit for m in given for b in m.blocks if isinstance(b, Opaque)},
            is_there=self.is_there or not all(message.is_system for message in repaired),
        )


NOTHING = Before()
"""What is before the first message."""


def item_id_of(message: Message) -> str | None:
    """The id of an item of OpenAI Responses, or of a message; `None` if it is written without."""
    if not message.source or (isinstance(message, Edited) and message.detached):
        return None
    item_id = message.source.get("id")
    return item_id if isinstance(item_id, str) else None
