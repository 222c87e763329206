"""The messages of a history that we cannot read, and their places in its view."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.messages import Message
from context_compression.errors import InvalidConversation
from context_compression.session.grouping import Shared


@dataclass(frozen=True)
class Followed:
    """A history that the record has followed.

    Attributes:
        history: all messages, as the program passed them.
        places: the indices of the messages that we can read.
        same: for each message of the record, or of its view, that is one of those, its index; by
            its Python id.
        regrouped: the same for messages whose blocks are in messages with other borders.
    """

    history: Sequence[Any] = ()
    places: Sequence[int] = ()
    same: Mapping[int, int] = field(default_factory=dict[int, int])
    regrouped: Mapping[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True)
class Known:
    """What the record, or its view, knows of a history.

    Attributes:
        shared: what the history has of `before`.
        before: the messages of the record, or of its view, before the history was followed.
        new: those that were recorded for what follows in the history.
    """

    shared: Shared
    before: Sequence[Mapping[str, Any]]
    new: Sequence[Mapping[str, Any]]


def followed(history: Sequence[Any], places: Sequence[int], known: Known) -> Followed:
    """A history, with the messages of the record, or of its view, that its messages are.

    Args:
        history: all messages, as the program passed them.
        places: the indices of the messages that we can read.
        known: what is known of them.
    """
    shared, rest = known.shared, len(known.shared.rest)
    same, regrouped = dict[int, int](), dict[int, int]()
    for at, (message, place) in enumerate(zip(known.before, shared.places, strict=False)):
        (regrouped if at in shared.regrouped else same)[id(message)] = places[place]
    for message in known.new[:rest]:
        regrouped[id(message)] = places[shared.read - 1]
    same.update(zip(map(id, known.new[rest:]), places[shared.read :], strict=False))
    return Followed(history, places, same, regrouped)


def readable(
    history: Sequence[Any],
) -> tuple[list[int], Conversation, dict[int, InvalidConversation]]:
    """The indices of the messages that we can read, those messages, and why we cannot read others.

    Raises:
        InvalidConversation: all of them together cannot be read.
    """
    places, errors = [*range(len(history))], dict[int, InvalidConversation]()
    while True:
        try:
            return places, parse([history[place] for place in places]), errors
        except InvalidConversation as error:
            if error.index is None:
                raise
            errors[places.pop(error.index)] = error


def with_unread(
    shown: list[Any],
    view: Sequence[Mapping[str, Any]],
    places: Sequence[int | None],
    followed: Followed,
) -> list[Any]:
    """The view with the messages that we cannot read, which stay behind the message they followed.

    If that is gone, they come before the next message that is there, but not inside a tool step.

    Args:
        shown: the messages of the view, as they are sent.
        view: the same messages, as we know them.
        places: for each of them the index in the history; `None` for a new message.
        followed: the history.
    """
    known = {*followed.places}
    unread = [place for place in range(len(followed.history)) if place not in known]
    if not unread:
        return shown
    between = [*_between_steps(parse(view).messages)] if view else [0]
    at_place = {place: at for at, place in enumerate(places) if place is not None}
    before: dict[int, list[Any]] = {}
    for place in unread:
        neighbour = max((p for p in followed.places if p < place), default=None)
        at = at_place[neighbour] + 1 if neighbour in at_place else None
        if at is None:
            later = min((at for p, at in at_place.items() if p > place), default=len(shown))
            at = next(boundary for boundary in between if boundary >= later)
        before.setdefault(at, []).append(followed.history[place])
    return [m for at in range(len(shown) + 1) for m in (*before.get(at, ()), *shown[at : at + 1])]


def _between_steps(messages: Sequence[Message]) -> Iterator[int]:
    """The places between messages that are not between a call and its result."""
    answered = {result.call_id for message in messages for result in message.results}
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        if not waiting:
            yield at
        waiting |= {call.id for call in message.calls} & answered
        waiting -= {result.call_id for result in message.results}
    yield len(messages)
