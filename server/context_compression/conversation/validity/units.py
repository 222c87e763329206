"""Calls that the provider ran itself, and their results: half of a unit is refused."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from context_compression.conversation.messages import COMPRESSED, Block, Message, Opaque, ToolCall


def with_whole_units(
    messages: Sequence[Message], repairs: list[str]
) -> Iterator[tuple[int, Message]]:
    """The messages with their indices; what is left of a server tool's unit without the rest goes.

    A unit may be open at the end: the provider goes on with it.
    """
    units: dict[str, list[Block]] = {}  # those that are open, with what was seen of each
    seen: set[str] = set()
    broken: set[int] = set()  # ids of blocks
    before = ""  # whose the message before was
    for message in messages:
        if units:  # a program goes on after results; other tools answer at once
            ends = message.starts_turn and bool(message.text.strip()) and not _is_ours(message)
            goes_on = message.role == "assistant" and before == "user"
            for unit in [*units]:
                if ends or (goes_on and len(units[unit]) == 1):
                    broken.update(map(id, units.pop(unit)))
        before = message.role
        for block in message.blocks:
            if not isinstance(block, Opaque | ToolCall) or not block.unit:
                continue
            if isinstance(block, Opaque) and block.opens and block.unit not in seen:
                seen.add(block.unit)
                units[block.unit] = [block]
            elif block.unit not in units or (isinstance(block, Opaque) and block.opens):
                broken.add(id(block))
            elif isinstance(block, Opaque):
                del units[block.unit]
            else:
                units[block.unit].append(block)
    for index, message in enumerate(messages):
        if not broken or broken.isdisjoint(map(id, message.blocks)):
            yield index, message
            continue
        repairs.append(f"message {index} held half of a server tool's call and result: left out")
        yield index, message.with_blocks(tuple(_without(message.blocks, broken)))


def _is_ours(message: Message) -> bool:
    return message.text.startswith(COMPRESSED)


def _without(blocks: Iterable[Block], broken: Container[int]) -> Iterator[Block]:
    """Blocks but the broken ones; a call that no server tool makes any more is an ordinary one."""
    for block in blocks:
        if id(block) not in broken:
            yield block
        elif isinstance(block, ToolCall):
            yield replace(block, unit="")
