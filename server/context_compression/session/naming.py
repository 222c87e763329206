"""Which session a conversation belongs to that comes without a name."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from context_compression.formats import parse
from context_compression.messages import COMPRESSED, strings_in
from context_compression.plan import ref_of
from context_compression.session.state import hold, opening, state_of
from context_compression.store import Store

PREFIX = "messages-"
MOST_READ = 20
"""Sessions, the newest first, among which that of a view is looked for."""


def name_for(messages: Sequence[Mapping[str, Any]], store: Store) -> str:
    """The id of the session of a conversation that has none: after its messages up to the user's.

    For programs begin all their conversations with one system message. A view that begins
    otherwise, because that was compressed, belongs to the session it was made in.

    Raises:
        InvalidConversation: not messages in a format we know.
    """
    begins = opening(messages)
    name = PREFIX + ref_of(begins[0] if len(begins) == 1 else begins)
    ours = any(text.startswith(COMPRESSED) for text in strings_in(begins))
    if not ours or store.session(name).exists:
        return name
    theirs = parse(messages).messages
    others = (id for id in store.sessions() if id.startswith(PREFIX))
    for id in islice(others, MOST_READ):
        view = parse(state_of(store.session(id)).view).messages
        if view and hold(theirs, view):
            return id
    return name
