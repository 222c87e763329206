"""Which session a conversation belongs to that comes without a name."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import COMPRESSED, strings_in
from context_compression.conversation.refs import ref_of
from context_compression.errors import StoreError
from context_compression.session.state import first_messages, hold, state_of
from context_compression.store import Store

PREFIX = "messages-"


def session_id_for(messages: Sequence[Mapping[str, Any]], store: Store) -> str:
    """The id of the session of a conversation that has none: after its messages up to the user's.

    For programs begin all their conversations with one system message. A view that begins
    otherwise, because that was compressed, belongs to the session it was made in.

    Raises:
        InvalidConversation: not messages in a format we know.
    """
    conversation = parse(messages)
    begins = first_messages(conversation.raw)
    name = PREFIX + ref_of(begins[0] if len(begins) == 1 else begins)
    ours = next((text for text in strings_in(begins) if text.startswith(COMPRESSED)), None)
    if ours is None or store.session(name).exists:
        return name
    line = max(ours.splitlines(), key=len)  # whoever joins texts leaves lines as they are
    theirs = conversation.messages
    for id in store.sessions():
        with suppress(StoreError):  # what cannot be read keeps no other from us
            if id.startswith(PREFIX) and store.session(id).holds(line):
                view = parse(state_of(store.session(id)).view).messages
                if view and hold(theirs, view):
                    return id
    return name
