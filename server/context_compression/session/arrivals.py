"""Shortens outputs of programs that come in when a conversation has outgrown its window before.

The model has not read them yet, so everything before them stays as it was sent, and the prompt
cache stays valid. Compressions alone could not do that: with 100 results of 2,500 tokens and a
window of 60,000, even a compression that left nothing would have to come every 20 requests.

What the model has asked for, such as a file, stays whole: it would only ask again. `tool_results`
tells the two apart.

If the model is offered `context_restore`, it gets a preview, and restores what it needs. Otherwise
nothing may be left out. Then only lines that repeat are written shorter (`patterns.py`).
"""

from contextlib import suppress
from typing import Any

from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.messages import (
    Block,
    Message,
    ToolCall,
    ToolResult,
    is_by_model,
)
from context_compression.errors import InvalidConversation
from context_compression.planning.archive import offers_restore
from context_compression.session.log_events import timestamp
from context_compression.session.recorded import RecordedConversation
from context_compression.session.state import State
from context_compression.session.tool_results import (
    RECENT,
    AnsweredCall,
    offload_result,
    recent_talk,
)


def shortened(
    conversation: RecordedConversation, state: State, new: Conversation
) -> list[dict[str, Any]]:
    """Events that shorten results among new messages; their originals are on disk.

    Only results after the last message of the model are shortened. Before the first compression,
    only those are that the setting `offload_at_source` names.

    Args:
        conversation: the conversation.
        state: its state, with the new messages.
        new: the new messages.
    """
    settings, by_setting = conversation.settings, not state.compressions
    if not settings.auto_compress or (by_setting and not settings.offload_at_source):
        return []
    said = [at for at, message in enumerate(new.messages) if message.role == "assistant"]
    recent = [*_before(state, len(new)), *new.messages]
    calls = {call.id: call for message in recent for call in message.calls}
    talk = recent_talk(recent)
    complete = not offers_restore(conversation.tools)

    def shorter(block: Block) -> Block:
        if not isinstance(block, ToolResult):
            return block
        call = calls.get(block.call_id, ToolCall(block.call_id, block.name or "tool", {}))
        answered = AnsweredCall(
            call, block.text, recent=talk, by_setting=by_setting, complete=complete,
            said="" if block.claim else block.said,
        )  # fmt: skip
        preview = offload_result(conversation, answered)
        return block if preview is None else block.with_text(preview)

    events: list[dict[str, Any]] = []
    first = len(state.recorded) - len(new)
    for at in range(said[-1] + 1 if said else 0, len(new)):
        message = new.messages[at]
        blocks = tuple(map(shorter, message.blocks))
        if blocks != message.blocks:
            [shown] = new.render([message.with_blocks(blocks)])
            event = {"type": "shortened", "created_at": timestamp(), "index": first + at}
            events.append({**event, "message": shown})
    return events


def arrived(conversation: RecordedConversation, state: State) -> list[dict[str, Any]]:
    """`shortened` for the results at the end of the record that the model has not answered yet."""
    start = len(state.recorded)
    while start and not is_by_model(state.recorded[start - 1]):
        start -= 1
    count = min(len(state.recorded) - start, state.behind)
    tail = state.view[len(state.view) - count :]
    if not tail or tail != state.recorded[-count:]:  # they were shortened before
        return []
    before = state.view[: len(state.view) - count][-RECENT:]
    try:
        read = parse([*before, *tail])
    except InvalidConversation:
        return []
    new = slice(len(before), None)
    return shortened(
        conversation, state, Conversation(read.raw[new], read.messages[new], read.format)
    )


def _before(state: State, new: int) -> tuple[Message, ...]:
    """The last messages of the view before the new ones."""
    view = state.view[: len(state.view) - new]
    with suppress(InvalidConversation):  # some messages do not show their format alone
        return parse(view[-RECENT:]).messages
    return ()
