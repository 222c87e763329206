"""The session of a conversation that comes without an id."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import COMPRESSED, strings_in
from context_compression.conversation.refs import REF, canonical, ref_of
from context_compression.errors import StoreError, UnknownRef
from context_compression.session.following import begin_with_view, first_messages
from context_compression.session.replaying import state_of
from context_compression.store import Store

PREFIX = "messages-"
REFS_TRIED = 3
"""How many refs of a view tell which session it may belong to, before all sessions are read."""


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
    for id in _likely_first(store, conversation.raw):
        with suppress(StoreError):  # a damaged session must not hide the others
            if id.startswith(PREFIX) and store.session(id).holds(line):
                view = parse(state_of(store.session(id)).view).messages
                if view and begin_with_view(conversation.messages, view):
                    return id
    return name


def _likely_first(store: Store, view: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The ids of all sessions, but first those that archived what a view names.

    A store of a team has too many sessions to read them all for one view.
    """
    tried: list[str] = []
    for ref in list(dict.fromkeys(re.findall(REF, canonical(view))))[:REFS_TRIED]:
        with suppress(UnknownRef):
            if (log := store.locate(ref)) and log.id not in tried:
                tried.append(log.id)
                yield log.id
    yield from (id for id in store.sessions() if id not in tried)
