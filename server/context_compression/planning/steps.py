"""Tool steps: calls with their results, and the reasoning that belongs to them."""

from collections.abc import Iterator, Sequence

from context_compression.conversation.messages import Message, Opaque


def steps_in(messages: Sequence[Message]) -> Iterator[range]:
    """Each tool step: the assistant's messages with calls, and those with their results.

    `[user, call, result, assistant]` -> `range(1, 3)`. Assistant messages that follow each other
    are in one step: reasoning in a message of its own belongs to the call that it stands before or
    behind. A call of a tool that the provider runs keeps the step open until that tool answers.
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
    """Behind the results of a step whose first call stands at `index`."""
    stop = index
    waiting: set[str] = set()  # tools that the provider runs and that have not answered
    while stop < len(messages):
        while stop < len(messages) and messages[stop].role == "assistant":
            for block in messages[stop].blocks:
                if isinstance(block, Opaque) and block.unit:
                    (waiting.add if block.opens else waiting.discard)(block.unit)
            stop += 1
        while stop < len(messages) and messages[stop].role != "assistant":
            if not (waiting or messages[stop].results or messages[stop].role == "tool"):
                return stop
            stop += 1
        if not waiting:
            return stop
    return stop


def _opens(message: Message) -> bool:
    """Whether a message calls a tool of the provider's that answers only in a later message."""
    if message.role != "assistant":
        return False
    units = [b for b in message.blocks if isinstance(b, Opaque) and b.unit]
    closed = {block.unit for block in units if not block.opens}
    return any(block.opens and block.unit not in closed for block in units)


def owner_of(messages: Sequence[Message], index: int) -> int:
    """The message with the call that reasoning of its own message belongs to; else `index`."""
    while messages[index].only_thinks and index + 1 < len(messages):
        index += 1
    return index


def reasoning_of(messages: Sequence[Message], index: int) -> Iterator[int]:
    """The messages of nothing but reasoning that stand right before one."""
    while index and messages[index - 1].only_thinks:
        index -= 1
        yield index
