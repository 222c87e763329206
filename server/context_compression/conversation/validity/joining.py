"""Joins neighbouring messages of one role for providers that refuse them."""

from collections.abc import Sequence
from itertools import groupby

from context_compression.conversation.messages import (
    Block,
    Edited,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)


def join_all(messages: list[Message], origins: list[int | None], repairs: list[str]) -> None:
    """Join each run of neighbouring messages of one role into one; changes the three lists."""
    joined: list[tuple[Message, int | None]] = []
    pairs = zip(messages, origins, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0].role):
        run = [*group]
        if len(run) == 1:
            joined.append(run[0])
            continue
        origin = next((index for _, index in run if index is not None), None)
        repairs.append(f"{len(run)} neighbouring messages of the {run[0][0].role}'s: joined")
        joined.append((one_of([message for message, _ in run]), origin))
    messages[:] = [message for message, _ in joined]
    origins[:] = [origin for _, origin in joined]


def one_of(messages: Sequence[Message]) -> Message:
    """One message with the blocks of several: results first, calls last, the rest in order.

    Of several unbound reasoning blocks only the first is kept, because some dialects hold reasoning
    in a key of the message, and a message has one such key.
    """
    blocks = [block for message in messages for block in message.blocks]
    thoughts = [b for b in blocks if isinstance(b, Thinking) and not b.bound]
    blocks = [b for b in blocks if not any(b is later for later in thoughts[1:])]
    blocks.sort(key=_place)
    first = next((m for m in messages if m.source is not None), messages[0])
    return Edited(messages[0].role, tuple(blocks), first.source)


def with_strings_joined(message: Message) -> Message:
    """The message with its string texts joined into one, because Ollama takes only one string."""
    first, *more = [block for block in message.blocks if _is_string(block)] or [None]
    if first is None or not more:
        return message
    joined = Text("\n".join(b.text for b in (first, *more) if isinstance(b, Text)))
    kept = (joined if b is first else b for b in message.blocks if b is first or not _is_string(b))
    return message.with_blocks(tuple(kept))


def _is_string(block: Block) -> bool:
    return isinstance(block, Text) and block.source is None


def _place(block: Block) -> int:
    return -1 if isinstance(block, ToolResult) else int(isinstance(block, ToolCall))
