"""What goes into a host's next request, where it shows us all of its history and takes ours.

The host keeps its own history; our record follows it. Once over the threshold the view is
compressed, and from then on the same view stands before what is new, so that prompt caches hold.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.conversation.refs import digest_of
from context_compression.errors import BudgetTooSmall
from context_compression.session import Session
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

Message = Mapping[str, Any]


def session_of(workspace: Workspace, event: Mapping[str, Any]) -> Session:
    """Our record of the conversation that an event is about.

    `window` in the event are the tokens of its model's window; they count where nobody set others.
    """
    settings, window = workspace.settings(), event.get("window")
    if isinstance(window, int) and window > 0 and "token_budget" not in settings.model_fields_set:
        settings = settings.changed({"token_budget": window})
    id = folder_name(string(event, "session_id"))
    return Session(workspace.store, id, settings=settings, model=string(event, "model") or None)


def view_to_send(session: Session, messages: Sequence[Message]) -> list[dict[str, Any]] | None:
    """What shall be sent in place of a host's whole history; `None`: that as it is.

    Nothing is written before there is a compression.
    """
    view = session.view(messages)
    if session.settings.auto_compress and session.usage(view).over_threshold:
        session.follow(messages)
        try:
            view = session.prepare()
        except BudgetTooSmall:
            view = session.view()
    return None if view == list(messages) else view


def positions_in(view: Sequence[Message], messages: Sequence[Message]) -> list[int | Message]:
    """A view by the messages it was made of: which one stands there, or what is new.

    Args:
        view: of them.
        messages: the whole history.
    """
    places: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        places.setdefault(digest_of(message), []).append(index)
    parts: list[int | Message] = []
    position = 0
    for message in view:
        indexes = places.get(digest_of(message), [])
        nth = bisect_left(indexes, position)
        if nth < len(indexes):
            parts.append(indexes[nth])
            position = indexes[nth] + 1
        else:
            parts.append(message)
    return parts
