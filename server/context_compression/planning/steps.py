"""Tool steps: calls with their results and the reasoning that belongs to them."""

from collections.abc import Iterator, Sequence

from context_compression.conversation.messages import Message, Opaque


def steps_in(messages: Sequence[Message]) -> Iterator[range]:
    """Each tool step: the assistant's messages with calls, and the messages with their results.

    `[user, call, result, assistant]` -> `range(1, 3)`. Consecutive assistant messages are in one
    step, because reasoning in a message of its own belongs to the call next to it. A call of a tool
    that the provider runs keeps the step open until that tool has answered.
    """
    index = 0
    while index < len(messages):
        if messages[index].calls or _opens(messages[index]):
            start = min(reasoning_of(messages, index), default=index)
            index = _end_of_step(messages, index)
            yield range(start, index)
        else:
            index += 1


def _end_of_step(messages: Sequence[Message], index: int) -> int:
    """The end of the step whose first call is at `index`."""
    stop = index
    waiting: set[str] = set()  # units of the provider's tools that have not answered yet
    while stop < len(messages):
        while stop < len(messages) and messages[stop].role == "assistant":
            _note_units(messages[stop], waiting)
            stop += 1
        while stop < len(messages) and messages[stop].role != "assistant":
            if not (waiting or messages[stop].results or messages[stop].role == "tool"):
                return stop
            _note_units(messages[stop], waiting)
            stop += 1
        if not waiting:
            return stop
    return stop


def _note_units(message: Message, waiting: set[str]) -> None:
    """Add the units that a message opens to those that wait, and take away those that it ends."""
    for block in message.blocks:
        if isinstance(block, Opaque) and block.unit:
            (waiting.add if block.opens else waiting.discard)(block.unit)


def _opens(message: Message) -> bool:
    """Whether a message calls a tool that the provider runs and that answers in a later message."""
    if message.role != "assistant":
        return False
    units = [b for b in message.blocks if isinstance(b, Opaque) and b.unit]
    closed = {block.unit for block in units if not block.opens}
    return any(block.opens and block.unit not in closed for block in units)


def owner_of(messages: Sequence[Message], index: int) -> int:
    """The first message from `index` on that holds more than reasoning.

    Reasoning in a message of its own belongs to that message.
    """
    while messages[index].only_thinks and index + 1 < len(messages):
        index += 1
    return index


def reasoning_of(messages: Sequence[Message], index: int) -> Iterator[int]:
    """The messages directly before `index` that hold only reasoning, the last one first."""
    while index and messages[index - 1].only_thinks:
        index -= 1
        yield index
