"""A conversation that a program or host keeps itself, compared with our record of it.

This module updates the record from such a conversation. It also compares messages across hosts,
which write the same message in different ways.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.conversation.authors import HOST_NOTES
from context_compression.conversation.cache_marks import said
from context_compression.conversation.formats import parse, plain
from context_compression.conversation.formats.plain import why_not_json
from context_compression.conversation.messages import (
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)
from context_compression.conversation.validity.growing import Sendable
from context_compression.session.grouping import Shared, regroup
from context_compression.session.log_events import timestamp, undo_of
from context_compression.session.state import State, may_cut

TEXTUAL = (Text, Thinking, ToolCall, ToolResult)
"""The kinds of blocks other than pictures, documents and unknown blocks."""


def check_list(history: Any) -> None:
    """Refuse a history that is not a list.

    Raises:
        InvalidConversation: it is not.
    """
    if not is_array(history):
        parse(history)  # its error says what to pass


def new_events(
    state: State, messages: Sequence[Mapping[str, Any]], *, from_start: bool = False
) -> list[dict[str, Any]]:
    """The events that update the record to a conversation that its host keeps.

    New messages are recorded. If the host changed its history, the record is first rewound to the
    last message that both have.

    Args:
        state: of the record.
        messages: the conversation of the host.
        from_start: first undo all compressions, unless the host took over the view. The same
            conversation then gives the same view, however often it was compressed before.

    Raises:
        InvalidConversation: the messages are not in a format we know.
    """
    conversation = parse(messages)
    messages = conversation.raw
    now = timestamp()
    events: list[dict[str, Any]] = []
    if state.view and begin_with_view(conversation.messages, parse(state.view).messages):
        return message_events(messages[len(state.view) :])
    of_view = shared_messages(state.view, messages)
    if state.compressions and of_view.known == len(state.view):
        return message_events(of_view.new(messages))
    shared = shared_messages(state.recorded, messages)
    is_over = len(state.compressions) if from_start else _outdated(state, shared.known)
    events += (undo_of(last, now) for last in reversed(state.compressions[-is_over:]) if is_over)
    if shared.known < len(state.recorded):
        events.append(_rewind(state, shared.known, state.number + len(events)))
    return [*events, *message_events(shared.new(messages))]


def end_replaced(
    state: State, shared: int, new: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]] | None:
    """The events that put new messages in the place of all after the first `shared` ones.

    Returns:
        `None` if a compression changed one that is gone.
    """
    length = len(state.view) - state.behind
    if not may_cut(state.view, state.origins, length, state.recorded, shared):
        return None
    return [_rewind(state, shared, state.number), *message_events(new)]


def _rewind(state: State, to: int, after: int) -> dict[str, Any]:
    """The event that removes all messages after the first `to` ones; `after` counts events."""
    at = {"to": to, "of": len(state.recorded), "after": after}
    return {"type": "rewind", "created_at": timestamp(), **at, "cuts": True}


def message_events(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events that record messages."""
    now = timestamp()
    return [{"type": "message", "created_at": now, "message": dict(m)} for m in messages]


def shared_messages(recorded: Sequence[Mapping[str, Any]], messages: Sequence[Any]) -> Shared:
    """What the record and a conversation have in common from the start, wherever borders are."""
    shared = Shared()
    while shared.known < len(recorded) and shared.read < len(messages) and not shared.rest:
        if _is_recorded(recorded[shared.known], messages[shared.read]):
            shared.places.append(shared.read)
            shared.known, shared.read = shared.known + 1, shared.read + 1
        elif not regroup(shared, recorded, messages):
            break
    return shared


def shared_with_view(
    view: Sequence[Mapping[str, Any]], sendable: Sendable, messages: Sequence[Any]
) -> Shared | None:
    """What a conversation shares with a view, or with what goes out for it; `None` if not all.

    Args:
        view: the view.
        sendable: what goes out for it.
        messages: the conversation.
    """
    shared = shared_messages(view, messages)
    if shared.known == len(view):
        return shared
    sent = shared_messages(sendable.messages, messages)
    if not sendable.repairs or sent.known < len(sendable.messages):
        return None
    at_origin: dict[int, int] = {}
    sent.regrouped = {*range(len(view))}
    for origin, repaired, place in zip(
        sendable.origins, sendable.repaired, sent.places, strict=True
    ):
        if origin is not None:
            at_origin[origin] = place
            sent.regrouped -= set() if repaired else {origin}
    sent.known, sent.places = len(view), [at_origin.get(0, 0)]
    for at in range(1, len(view)):
        sent.places.append(at_origin.get(at, sent.places[-1]))
    return sent


def begin_alike(one: Sequence[Mapping[str, Any]], other: Sequence[Any]) -> bool:
    """Whether one of two conversations begins with the other."""
    return any(
        short and shared_messages(short, long).known == len(short)
        for short, long in ((one, other), (other, one))
    )


def _is_recorded(ours: Mapping[str, Any], theirs: Any) -> bool:
    """Whether a message is the recorded one, which is its JSON; marks for a cache do not count."""
    if ours is theirs or ours == theirs:
        return True
    [message] = plain([theirs])
    known, message = said(ours), said(message)
    return known == message or (
        is_object(message)
        and why_not_json(message) is None
        and known == json.loads(json.dumps(message))
    )


def _outdated(state: State, shared: int) -> int:
    """How many compressions must be undone before a rewind to the first `shared` messages.

    Those must be undone that changed a message that is gone, and those after them. If all must, it
    is 0, because the rewind itself ends them.
    """
    if shared == len(state.recorded):
        return 0
    view, origins = state.view, state.origins
    made = zip(state.compressions, state.before, state.origins_before, strict=True)
    for undone, (event, (before, length, _), origins_before) in enumerate(reversed([*made])):
        if may_cut(view, origins, length, state.recorded, shared):
            return undone
        covered = event["messages_in"]
        view = before[:covered] + view[length:]
        origins = origins_before[:covered] + origins[length:]
    return 0


def is_another_conversation(state: State, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a conversation begins like neither the record nor its view.

    Raises:
        InvalidConversation: the messages are not in a format we know.
    """
    conversation = parse(messages)
    if not state.recorded or begin_alike(state.recorded, first_messages(conversation.raw)):
        return False
    return not begin_with_view(conversation.messages, parse(state.view).messages)


def first_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages up to the first message of the user; if there is none, the first message.

    They have no marks for a cache.
    """
    users = (i for i, m in enumerate(messages) if is_object(m) and m.get("role") == "user")
    first = next(users, 0)
    return [*map(said, messages[: first + 1])]


def begin_with_view(messages: Sequence[Message], view: Sequence[Message]) -> bool:
    """Whether a host's messages begin with our view, allowing for the host's way to write it."""
    return len(messages) >= len(view) and all(map(_is_same, messages, view))


def _is_same(of_host: Message, of_view: Message) -> bool:
    """Whether a host's message is the given message of our view.

    Hosts put notes into a message, join its texts, and may drop thinking and pictures.
    """
    shown = [b for b in of_view.blocks if not isinstance(b, TEXTUAL)]
    same = [b for b in of_host.blocks if not isinstance(b, TEXTUAL)] in ([], shown)
    return same and _compared(of_host) == _compared(of_view)


def _compared(message: Message) -> tuple[Any, ...]:
    """The parts of a message that every host keeps: role, texts, calls and results."""
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    texts = [text for text in texts if not text.lstrip().startswith(HOST_NOTES)]
    results = [(result.call_id, result.text, result.is_error) for result in message.results]
    return message.role, "\n".join(texts), message.calls, results
