"""What is sent in place of a tool result or of a host's history, where a host lets us replace it.

The host keeps its own history, and our session follows it. The view is compressed when that is due.
Later requests begin with the same view, so that prompt caches stay valid.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.conversation.messages import ToolCall
from context_compression.conversation.refs import digest_of
from context_compression.session import Session
from context_compression.session.arrivals import AnsweredCall, offload_result
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

Message = Mapping[str, Any]


def session_of(workspace: Workspace, event: Mapping[str, Any], host: str) -> Session:
    """Our session for the conversation of an event, with the limits of its host.

    `window` in the event is the size of the model's context window in tokens. It becomes the token
    budget, unless the user has set `token_budget`.

    Args:
        workspace: where the host started our hook.
        event: with `session_id`; `model`, `window` and `cwd` if the host tells them.
        host: the host, as in `Transcript`.
    """
    window, model = event.get("window"), string(event, "model") or None
    project = string(event, "cwd") or str(workspace.cwd)
    origin: dict[str, Any] = {"host": host, "model": model, "project": project}
    if isinstance(window, int) and window > 0:
        origin["window"] = window
    settings, _ = workspace.settings_in(origin, workspace.settings())
    id = folder_name(string(event, "session_id"))
    return Session(workspace.store, id, settings=settings, model=model, summarizer=None)


def preview(session: Session, event: Mapping[str, Any], call: ToolCall) -> dict[str, str]:
    """`{"text": …}` with the preview of a large tool result; `{}` where the result stays.

    Args:
        session: of the conversation.
        event: `text`, the result as the tool returned it; `shown`, as the host cut it, if it did.
        call: the call that it answers.
    """
    shown = string(event, "shown") or None
    text = offload_result(session, AnsweredCall(call, string(event, "text"), shown))
    return {} if text is None else {"text": text}


def view_to_send(session: Session, messages: Sequence[Message]) -> list[dict[str, Any]] | None:
    """The messages to send in place of a host's history; `None` if the history is sent unchanged.

    Nothing is written before the first compression.
    """
    view = session.view(messages)
    if session.is_due(view):
        session.follow(messages)
        view = session.prepare()
    return None if view == list(messages) else view


def positions_in(view: Sequence[Message], messages: Sequence[Message]) -> list[int | Message]:
    """For each message of a view, its index in the history, or the message itself if it is new.

    Args:
        view: the view.
        messages: the history that the view was made from.
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
