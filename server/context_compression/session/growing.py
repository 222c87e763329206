"""Compressions for which there was much less room than there is now: their originals come back.

One request may have a large system prompt, many tools, or a model with a smaller window. What the
context gave up for it is in the record, so the compression is undone when a later request has room.
So is one for whose newest results older messages had to leave, once the model has read those.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import is_by_model
from context_compression.errors import InvalidConversation
from context_compression.session.log_events import timestamp, undo_of
from context_compression.session.recorded import RecordedConversation
from context_compression.session.state import State
from context_compression.tokens import Counter, fingerprint

logger = logging.getLogger(__name__)

LARGER = 2
"""How many times the room of a compression there must be before it is undone, because a changed
context empties the prompt cache."""
CROWDED = 0.4
"""The share of a compression's room from which on its unread results left too little for others."""


def room_of(conversation: RecordedConversation, system: Any) -> int:
    """The tokens that the settings' target leaves for messages beside system prompt and tools."""
    counter = Counter(conversation.model, conversation.counter)
    beside = counter.system(system) + counter.tools(conversation.tools)
    return max(0, conversation.settings.target_tokens - beside)


def is_much_larger(room: int, earlier: int) -> bool:
    """Whether a room is so much larger than an earlier one that originals come back."""
    return room > 0 and room >= LARGER * earlier


def undone(conversation: RecordedConversation, state: State) -> list[dict[str, Any]]:
    """The events that undo automatic compressions made in much less room; mostly none.

    A compression that had not even room for its target is undone in any case. Another one is undone
    only if the originals fit below the threshold.

    Args:
        conversation: the conversation, with the system prompt and tools of the next request.
        state: of its log; it is changed.
    """
    room = room_of(conversation, conversation.system_for(state))
    now, events, enough = timestamp(), list[dict[str, Any]](), 0
    while (crowded := _was_crowded(conversation, state)) or _had_less(state, room):
        last = state.compressions[-1]
        events.append(undo_of(last, now))
        state.replay(events[-1])
        is_due = crowded or last.get("missed")
        if is_due or not conversation.usage(state.view).over_threshold:
            enough = len(events)
    return events[:enough]


def _had_less(state: State, room: int) -> bool:
    """Whether the last compression is automatic, and there is much more room now."""
    last: Mapping[str, Any] = state.compressions[-1] if state.compressions else {}
    earlier = last.get("room")
    return isinstance(earlier, int) and earlier >= 0 and is_much_larger(room, earlier)


def _was_crowded(conversation: RecordedConversation, state: State) -> bool:
    """Whether results took the room of older messages in the last compression, and are read now."""
    last: Mapping[str, Any] = state.compressions[-1] if state.compressions else {}
    room, after = last.get("room"), last.get("tokens_after")
    if not (isinstance(room, int) and isinstance(after, int) and _is_read(state)):
        return False
    stop = start = len(state.view) - state.behind
    while start and not is_by_model(state.view[start - 1]):
        start -= 1
    try:
        unread = parse(state.view[start:stop]).messages
    except InvalidConversation:  # words of the user, which do not show their format
        return False
    taken = Counter(conversation.model, conversation.counter).messages(unread)
    beside = conversation.settings.target_tokens - room
    return taken > CROWDED * room and is_much_larger(room, after - beside - taken)


def _is_read(state: State) -> bool:
    """Whether the model answered since the last compression."""
    return any(map(is_by_model, state.view[len(state.view) - state.behind :]))


class Room:
    """The room of a conversation's requests, which may differ from one to the next."""

    def __init__(self, conversation: RecordedConversation) -> None:
        self._conversation = conversation
        self._known: tuple[int, int, bool] | None = None
        self._over = ""

    @property
    def warnings(self) -> Sequence[str]:
        """A sentence if the last request exceeded the window."""
        return [self._over] if self._over else []

    def state(self) -> State:
        """The state, after what an earlier request gave up came back if there is room for it."""
        conversation = self._conversation
        state = conversation.state()
        if not state.compressions:
            return state
        beside = fingerprint((conversation.given_system, conversation.tools))
        if (beside, len(state.compressions), _is_read(state)) != self._known:
            conversation.log.append(*undone(conversation, state))
            state = conversation.state()
            self._known = beside, len(state.compressions), _is_read(state)
        return state

    def tell(self, tokens: int) -> None:
        """Tell whether a request of so many tokens exceeds the window, and by how much."""
        window = self._conversation.settings.token_budget
        self._over = ""
        if tokens > window:
            more = f"{tokens - window:,} more than the window of {window:,}"
            self._over = f"a request of {tokens:,} tokens goes out, {more}"
            logger.warning("session %s: %s", self._conversation.id, self._over)
