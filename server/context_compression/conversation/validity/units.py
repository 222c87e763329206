"""Units: a unit is a call that the provider ran itself (a server tool), with its result.

Providers refuse half of a unit.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from context_compression.conversation.authors import is_our_note
from context_compression.conversation.messages import Block, Message, Opaque, ToolCall
from context_compression.conversation.validity.before import Before


def with_complete_units(
    messages: Sequence[Message], repairs: list[str], before: Before
) -> Iterator[tuple[int, Message]]:
    """The messages with their indices, without the blocks of incomplete units.

    A unit may be open at the end, because the provider continues it. A line is appended to
    `repairs` for each message that loses blocks.
    """
    units: dict[str, list[Block]] = {}  # open units with their blocks so far
    seen = {*before.units}
    broken: set[int] = set()  # Python ids of blocks
    last = ""  # the role of the message before
    for message in messages:
        if units:  # a program continues after results; other server tools answer at once
            ends = (
                message.starts_turn and bool(message.text.strip()) and not is_our_note(message.text)
            )
            goes_on = message.role == "assistant" and last == "user"
            for unit in [*units]:
                if ends or (goes_on and len(units[unit]) == 1):
                    broken.update(map(id, units.pop(unit)))
        last = message.role
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
    for index, message in enumerate(messages, before.messages):
        if not broken or broken.isdisjoint(map(id, message.blocks)):
            yield index, message
            continue
        repairs.append(f"message {index} held half of a call and its answer: left out")
        yield index, message.with_blocks(tuple(_without(message.blocks, broken)))


def _without(blocks: Iterable[Block], broken: Container[int]) -> Iterator[Block]:
    """The blocks that are not broken; a call without its server tool becomes an ordinary call."""
    for block in blocks:
        if id(block) not in broken:
            yield block
        elif isinstance(block, ToolCall):
            yield replace(block, unit="")
