"""Rules of OpenAI Responses only: item ids are unique, and reasoning is followed by its item."""

from collections.abc import Iterator, Sequence

from context_compression.conversation.messages import Edited, Message, Opaque, Thinking
from context_compression.conversation.validity.before import Before, item_id_of


def drop_lone_reasoning(
    messages: list[Message], origins: list[int | None], repairs: list[str]
) -> None:
    """Remove reasoning that no assistant item follows; changes the three lists."""
    for at in reversed(range(len(messages))):
        follows = at + 1 < len(messages) and messages[at + 1].role == "assistant"
        if messages[at].only_thinks and not follows:
            repairs.append(f"message {origins[at]} is reasoning without what it led to: left out")
            del messages[at], origins[at]


def name_items_once(
    messages: list[Message],
    origins: list[int | None],
    repairs: list[str],
    before: Before,
) -> None:
    """Remove the id from items whose id an earlier item has; changes the three lists.

    Opaque items and reasoning are removed completely, because they mean nothing without their id.
    """
    seen = {*before.item_ids}
    for at in reversed([*_named_again(messages, seen)]):
        message = messages[at]
        repairs.append(f"message {origins[at]} has the id of an earlier item: it has none now")
        if any(isinstance(block, Opaque | Thinking) for block in message.blocks):
            del messages[at], origins[at]
        else:
            messages[at] = Edited(message.role, message.blocks, message.source, detached=True)


def _named_again(messages: Sequence[Message], seen: set[str]) -> Iterator[int]:
    for at, message in enumerate(messages):
        name = item_id_of(message)
        if name is not None and name in seen:
            yield at
        elif name is not None:
            seen.add(name)
