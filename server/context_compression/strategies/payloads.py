"""Results of tools that the provider ran itself: the payload is removed, the answer's text stays.

A call and its result in one message are removed together and replaced by one text. If they are in
several messages, with other calls between them, they are a tool step and stay unchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Message,
    Opaque,
    Text,
    ToolCall,
    is_object,
    strings_in,
)
from context_compression.strategies import measured


def without_payloads(message: Message, ref: str, count: Callable[[Block], int]) -> Message:
    """A message without the payload of the provider's own tools; the same object if it has none.

    Args:
        message: an assistant message.
        ref: the ref of the message; `""` if it has none.
        count: returns the tokens of a block.
    """
    marks: list[Text] = []
    gone: set[str] = set()
    for unit, blocks in units_in(message).items():
        mark = Text(mark_of(blocks[0], ref))
        if count(mark) < sum(map(count, blocks)):
            gone.add(unit)
            marks.append(mark)
    if not gone:
        return message
    left = [b for b in message.blocks if not (isinstance(b, Opaque) and b.unit and b.unit in gone)]
    return message.with_blocks((*left, *marks))


def units_in(message: Message) -> Mapping[str, Sequence[Opaque]]:
    """The blocks of each unit that is complete in one message and that no other block needs."""
    if message.role != "assistant":
        return {}
    units: dict[str, list[Opaque]] = {}
    for block in message.blocks:
        if isinstance(block, Opaque) and block.unit:
            units.setdefault(block.unit, []).append(block)
    needed = {block.unit for block in message.blocks if isinstance(block, ToolCall)}
    return {
        unit: blocks
        for unit, blocks in units.items()
        if len(blocks) > 1
        and blocks[0].opens
        and unit not in needed
        and not any(block.declares for block in blocks)
    }


def mark_of(call: Opaque, ref: str) -> str:
    """The mark in place of a call and its result.

    `[Compressed History] [web_search: lexer release left out; ref c3f9…]`
    """
    source: Any = call.source if is_object(call.source) else {}
    name = str(source.get("name") or source.get("toolName") or "a tool of the provider's")
    query = " ".join(" ".join(strings_in(source.get("input"))).split()).replace("]", ")")
    shown = f": {query[: measured.PAYLOAD_QUERY_CHARS]}" if query else ""
    return f"{COMPRESSED} [{name}{shown} left out{f'; ref {ref}' if ref else ''}]"
