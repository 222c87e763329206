"""The session of a conversation that comes without an id."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import COMPRESSED, strings_in
from context_compression.conversation.refs import ref_of
from context_compression.errors import StoreError
from context_compression.session.following import begin_with_view, first_messages
from context_compression.session.replaying import state_of
from context_compression.store import Store

PREFIX = "messages-"


def session_id_for(messages: Sequence[Mapping[str, Any]], store: Store) -> str:
    """The session id for a conversation, derived from its messages up to the user's first message.

    The first message alone is not enough: programs begin all their conversations with the same
    system message. A view begins with one of our notes, and belongs to the session it was made in.

    Raises:
        InvalidConversation: the messages are not in a format we know.
    """
    conversation = parse(messages)
    begins = first_messages(conversation.raw)
    name = PREFIX + ref_of(begins[0] if len(begins) == 1 else begins)
    note = next((text for text in strings_in(begins) if text.startswith(COMPRESSED)), None)
    if note is None or store.session(name).exists:
        return name
    line = max(note.splitlines(), key=len)  # programs that join texts leave lines as they are
    for id in store.sessions():
        with suppress(StoreError):  # a damaged session must not hide the others
            if id.startswith(PREFIX) and store.session(id).holds(line):
                view = parse(state_of(store.session(id)).view).messages
                if view and begin_with_view(conversation.messages, view):
                    return id
    return name
