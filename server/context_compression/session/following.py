"""Compares a conversation that its host or a program keeps with the record."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from context_compression.conversation.authors import HOST_NOTES
from context_compression.conversation.formats import AnyMessage, Conversation, parse, plain
from context_compression.conversation.formats.parts import why_not_json
from context_compression.conversation.labels import said, same_but_marks, without_marks
from context_compression.conversation.messages import (
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)
from context_compression.conversation.refs import canonical
from context_compression.conversation.validity.growing import Sendable
from context_compression.errors import InvalidConversation
from context_compression.session.events import timestamp, undo_of
from context_compression.session.state import State, may_cut

Raw: TypeAlias = Mapping[str, Any]
CONTENTS = ("content", "parts")
"""The keys of a message's blocks."""
CALLS = "tool_calls"
"""The key of calls that are not among the blocks."""
SPACE = re.compile(r"\s+")
"""What stands between texts that were joined."""
EMPTY: tuple[Any, ...] = (None, "", [], {})
TEXTS = ("text", "input_text", "output_text")


@dataclass(frozen=True)
class Atom:
    """One block of a message.

    Attributes:
        of: the role, and what else a message says of itself, in one form.
        text: of a block that is a text and nothing else; `None` for others.
        value: any other block.
    """

    of: str
    text: str | None
    value: Any = None


@dataclass
class Shared:
    """What a history has in common with messages that are known, from the start.

    Attributes:
        known: how many of the known messages are there.
        read: how many messages of the history they take.
        rest: what is left of the last of those, as a message; empty if nothing is.
        places: for each of those known messages its place in the history.
        regrouped: the known messages whose borders are elsewhere in the history.
    """

    known: int = 0
    read: int = 0
    rest: list[Raw] = field(default_factory=list[Raw])
    places: list[int] = field(default_factory=list[int])
    regrouped: set[int] = field(default_factory=set[int])

    def new(self, history: Sequence[Any]) -> list[Any]:
        """The messages of the history that follow."""
        return [*self.rest, *history[self.read :]]


def regroup(shared: Shared, known: Sequence[Raw], history: Sequence[Any]) -> bool:
    """Go on behind `shared`, block by block, until a border of both; changes `shared`.

    Returns:
        Whether at least one more known message is in the history.
    """
    ours, theirs = _BlockReader(known, shared.known), _BlockReader(history, shared.read)
    border: tuple[int, int] | None = None
    while ours.atom and theirs.atom:
        if not _take_same(ours, theirs):
            break
        if ours.is_at_border and theirs.is_between:
            last = theirs.at - (theirs.taken == 0)
            shared.places += [last] * (ours.at - shared.known)
            shared.regrouped |= {*range(shared.known, ours.at)}
            shared.known, border = ours.at, (theirs.at, theirs.taken)
            if theirs.taken == 0:
                break
    if border is None:
        return False
    shared.read, taken = border
    if taken:
        shared.rest = [_without_first(plain([history[shared.read]])[0], taken)]
        shared.read += 1
    return True


class _BlockReader:
    """Reads the blocks of messages, one after another.

    Attributes:
        at: the index of the message.
        taken: how many of its blocks were taken.
        offset: how many characters of the next block, a text, were taken.
    """

    def __init__(self, messages: Sequence[Any], at: int) -> None:
        self._messages, self.at, self.taken, self.offset = messages, at, 0, 0
        self._atoms = self._read()
        self._skip_empty()

    @property
    def atom(self) -> Atom | None:
        """The next block; `None` at the end."""
        return self._atoms[self.taken] if self.taken < len(self._atoms) else None

    @property
    def is_between(self) -> bool:
        """Whether no block is taken in part."""
        return self.offset == 0

    @property
    def is_at_border(self) -> bool:
        """Whether no block of the message is taken."""
        return self.taken == 0 and self.offset == 0

    def take(self) -> None:
        """Take the next block, or what is left of it."""
        self.taken, self.offset = self.taken + 1, 0
        self._skip_empty()

    def take_text(self, text: str, left: str) -> bool:
        """Take a part of the next text, and the space behind it; whether that is there.

        Args:
            text: the next text.
            left: the part, without the space at its end.
        """
        if not text.startswith(left, self.offset):
            return False
        end = self.offset + len(left)
        space = SPACE.match(text, end)
        if space is None or space.end() == len(text):
            return False
        self.offset = space.end()
        return True

    def _read(self) -> Sequence[Atom]:
        if self.at >= len(self._messages):
            return ()
        return _atoms(plain([self._messages[self.at]])[0])

    def _skip_empty(self) -> None:
        while self.at < len(self._messages) and self.taken >= len(self._atoms):
            self.at, self.taken = self.at + 1, 0
            self._atoms = self._read()


def _take_same(ours: _BlockReader, theirs: _BlockReader) -> bool:
    """Take the next block of both if it is the same; texts may be joined in one of them.

    A text that only became longer is not the same.
    """
    one, other = ours.atom, theirs.atom
    if not one or not other or one.of != other.of:
        return False
    if one.text is None or other.text is None:
        if (one.text, one.value) != (other.text, other.value):
            return False
        ours.take()
        theirs.take()
        return True
    left = len(one.text) - ours.offset, len(other.text) - theirs.offset
    shorter, longer = (ours, theirs) if left[0] <= left[1] else (theirs, ours)
    text, longer_text = (one.text, other.text) if shorter is ours else (other.text, one.text)
    rest = text[shorter.offset :]
    if left[0] == left[1] and longer_text.endswith(rest):
        ours.take()
        theirs.take()
        return True
    if not longer.take_text(longer_text, rest.rstrip()):
        return False
    shorter.take()
    return shorter.atom is not None


def _atoms(message: Any) -> list[Atom]:
    """The blocks of a message, without marks for a cache; a message without blocks is one."""
    if not is_object(message) or why_not_json(message):
        return [Atom("", None, object())]  # like no other
    bare = without_marks(message)
    key = next((key for key in CONTENTS if key in bare), None)
    content = bare.get(key) if key else None
    calls = bare.get(CALLS)
    if key is None and not is_array(calls):
        return [Atom("", None, bare)]
    about = {
        name: each for name, each in bare.items()
        if name not in (key, CALLS) and _says(each) and (name, each) != ("type", "message")
    }  # fmt: skip
    if not is_array(content):
        content = [content] if content not in EMPTY else []
    of = canonical(about)
    blocks = [*content, *([{CALLS: [call]} for call in calls] if is_array(calls) else [])]
    return [_atom(of, block) for block in blocks]


def _atom(of: str, block: Any) -> Atom:
    if isinstance(block, str):
        return Atom(of, block)
    if is_object(block) and isinstance(text := block.get("text"), str):
        others = {key for key, each in block.items() if key != "text" and _says(each)}
        if not others or (others == {"type"} and block["type"] in TEXTS):
            return Atom(of, text)
    return Atom(of, None, block)


def _says(value: Any) -> bool:
    """Whether a value says anything: options that are empty do not."""
    if is_object(value):
        return any(map(_says, value.values()))
    return not any(value is each or value == each for each in EMPTY)


def _without_first(message: Raw, taken: int) -> Raw:
    """A message without its first blocks."""
    key = next((key for key in CONTENTS if key in message), None)
    content = message.get(key) if key else None
    left: dict[str, Any] = dict(message)
    kept: list[Any] = [*content] if is_array(content) else []
    if key and content not in EMPTY:
        own = [each for each in (kept or [content]) if _is_there(each)]
        left[key] = own[taken:] or (None if CALLS in message else [])
        taken = max(0, taken - len(own))
    if taken and is_array(calls := message.get(CALLS)):
        left[CALLS] = [*calls][taken:]
    return left


def _is_there(block: Any) -> bool:
    """Whether a block is more than a mark for a cache."""
    return bool(without_marks([block]))


# A conversation that a program or host keeps itself, compared with our record of it.
#
# Hosts write the same message in different ways.


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
    state: State,
    messages: Sequence[AnyMessage],
    *,
    from_start: bool = False,
    view: Conversation | None = None,
) -> list[dict[str, Any]]:
    """The events that update the record to a conversation that its host keeps.

    New messages are recorded. If the host changed its history, the record is first rewound to the
    last message that both have.

    Args:
        state: of the record.
        messages: the conversation of the host.
        from_start: first undo all compressions, unless the host took over the view. The same
            conversation then gives the same view, however often it was compressed before.
        view: the view of the state, if the caller has parsed it.

    Raises:
        InvalidConversation: the messages are not in a format we know.
    """
    conversation = parse(messages)
    messages = conversation.raw
    now = timestamp()
    events: list[dict[str, Any]] = []
    if state.view and begin_with_view(conversation.messages, (view or parse(state.view)).messages):
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


def shared_messages(
    recorded: Sequence[Mapping[str, Any]], messages: Sequence[Any], shared: Shared | None = None
) -> Shared:
    """What the record and a conversation have in common from the start, wherever borders are.

    Args:
        recorded: the record.
        messages: the conversation.
        shared: what is known to be common; it is changed.
    """
    shared = Shared() if shared is None else shared
    while shared.known < len(recorded) and shared.read < len(messages) and not shared.rest:
        if is_recorded(recorded[shared.known], messages[shared.read]):
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


def is_recorded(ours: Mapping[str, Any], theirs: Any) -> bool:
    """Whether a message is the recorded one, which is its JSON; marks for a cache do not count."""
    if ours is theirs or ours == theirs or same_but_marks(ours, theirs):
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


# The messages of a history that we cannot read, and their places in its view.


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


def followed(
    history: Sequence[Any],
    places: Sequence[int],
    shared: Shared,
    before: Sequence[Mapping[str, Any]],
    new: Sequence[Mapping[str, Any]],
) -> Followed:
    """A history, with the messages of the record, or of its view, that its messages are.

    Args:
        history: all messages, as the program passed them.
        places: the indices of the messages that we can read.
        shared: what the history has of `before`.
        before: the messages of the record, or of its view, before the history was followed.
        new: those that were recorded for what follows in the history.
    """
    rest = len(shared.rest)
    same, regrouped = dict[int, int](), dict[int, int]()
    for at, (message, place) in enumerate(zip(before, shared.places, strict=False)):
        (regrouped if at in shared.regrouped else same)[id(message)] = places[place]
    for message in new[:rest]:
        regrouped[id(message)] = places[shared.read - 1]
    same.update(zip(map(id, new[rest:]), places[shared.read :], strict=False))
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
