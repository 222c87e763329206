"""The `Result` of a view that a session continues: it was made for an earlier request, in part."""

from collections.abc import Sequence
from typing import Any

from context_compression.compression.outcome import Outcome, changed, unchanged
from context_compression.compression.prepared import PreparedConversation, as_a_harness_wrote
from context_compression.compression.result import Result
from context_compression.compression.target import Target
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message
from context_compression.planning.edits import Edit, View

REASON = "compressed for an earlier request"


def continued(
    prepared: PreparedConversation,
    history: Sequence[Any],
    messages: Sequence[Any],
    origins: Sequence[int | None],
    strategy: str,
) -> Result:
    """The result of a view, compared with the conversation.

    Args:
        prepared: the conversation.
        history: the same messages after their repair, as the session got them.
        messages: the view.
        origins: for each message of the view the index in the history of the message that it is or
            stands for; `None` for one that a compression wrote.
        strategy: the strategy that made the view.
    """
    view = _view(prepared.planned.messages, history, messages, origins)
    if not view.edits:
        return unchanged(prepared, Target(prepared).nothing_to_do() or "")
    after = prepared.fixed_tokens + prepared.tokens_of(view)
    return changed(prepared, Outcome(view.edits, strategy, ()), view, after)


def _view(
    planned: Sequence[Message],
    history: Sequence[Any],
    messages: Sequence[Any],
    origins: Sequence[int | None],
) -> View:
    shown, edits = list[Message](), list[Edit]()
    new, stand_for = list[Message](), list[int | None]()
    at = 0

    def until(place: int) -> None:
        """End a span of messages that are not in the view as they came."""
        if place > at or new:
            edits.append(Edit(at, place, tuple(new), REASON, origins=tuple(stand_for)))
        new.clear()
        stand_for.clear()

    read = as_a_harness_wrote(parse(messages)).messages
    for message, value, origin in zip(messages, read, origins, strict=True):
        if origin is not None and message is history[origin]:
            until(origin)
            at = origin + 1
            shown.append(planned[origin])
        else:
            new.append(value)
            stand_for.append(origin)
            shown.append(value)
    until(len(planned))
    return View(tuple(shown), tuple(origins), tuple(edits))
