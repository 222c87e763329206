"""Tools that a tool search returned: a declaration stays as long as the view calls its tool."""

from collections.abc import Mapping

from context_compression.conversation.messages import Block, Message, Opaque, ToolCall, ToolResult
from context_compression.planning.plan import Plan


def with_declarations(plan: Plan, kept: Mapping[int, Message]) -> Mapping[int, Message]:
    """The kept messages, with the declarations of the tools that they call.

    If the declaring message was not kept, only its declaration is added, with the call that it
    answers.

    Args:
        plan: the plan of the conversation.
        kept: the messages that stay, by index.
    """
    if not plan.declared:
        return kept
    shown = {name for message in kept.values() for name in message.declares}
    called = {call.name: index for index, m in sorted(kept.items()) for call in m.calls}
    added: dict[int, Message] = {}
    for name in sorted(plan.declared.keys() & called.keys() - shown):
        places = plan.declared[name]
        last = next((at for at in reversed(places) if at < called[name]), places[0])
        added |= _declaration(plan, last)
    return {**added, **kept}


def _declaration(plan: Plan, at: int) -> dict[int, Message]:
    """The declarations of tools in the message at an index, with the call that they answer."""
    blocks = plan.messages[at].blocks
    calls = {
        b.call_id for b in blocks if isinstance(b, ToolResult) and any(map(_declares, b.content))
    }
    units = {b.unit for b in blocks if isinstance(b, Opaque) and b.declares and b.unit}

    def belongs(block: Block) -> bool:
        match block:
            case ToolCall():
                return block.id in calls
            case ToolResult():
                return block.call_id in calls
            case Opaque():
                return block.unit in units
            case _:
                return False

    declaring: dict[int, Message] = {}
    for index in plan.step_of(at) or (at,):
        message = plan.messages[index]
        left = tuple(filter(belongs, message.blocks))
        if left:
            declaring[index] = message if left == message.blocks else message.with_blocks(left)
    return declaring


def _declares(part: Block) -> bool:
    return isinstance(part, Opaque) and bool(part.declares)
