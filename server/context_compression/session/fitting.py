"""The history of a program that keeps it itself: followed by the record, and shown as its view.

The program passes all of it before each request. Mostly it has only grown since the last request.
Then only the new messages are read and counted.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from context_compression.compression.result import Result
from context_compression.conversation.formats import Conversation, Format, parse
from context_compression.conversation.formats.dialect import is_plain_text
from context_compression.conversation.messages import Message, is_array
from context_compression.errors import InvalidConversation, StoreError
from context_compression.listening import tell_usage
from context_compression.session import lasting
from context_compression.session.arrivals import may_shorten, shortened
from context_compression.session.compressing import PlannedCompression
from context_compression.session.following import message_events, new_events, shared_messages
from context_compression.session.in_memory import InMemory
from context_compression.session.log_events import has_rewind
from context_compression.session.pacing import Pace
from context_compression.session.passed_on import PassedOn
from context_compression.session.recorded import RecordedConversation
from context_compression.session.state import State
from context_compression.session.triggers import before_request
from context_compression.session.unread import Followed, with_unread
from context_compression.tokens import Counter, anchor_in, fingerprint

Following: TypeAlias = Generator[PlannedCompression | None, Result, None]
"""Yields compressions, and `None` when none is needed any more; receives their results."""
ATTEMPTS = 3
"""How many compressions a request makes while other processes record in its conversation."""


@dataclass(frozen=True)
class Fitted:
    """What a program sends for its history.

    Attributes:
        messages: the messages to send.
        origins: for each of them the index in the history of the message that it is or stands for;
            `None` for one that a compression wrote.
        result: of the compression that ran for this request; `None` if none did.
    """

    messages: list[Any]
    origins: Sequence[int | None] = ()
    result: Result | None = None


@dataclass(frozen=True)
class Step:
    """How a history updates the record.

    Attributes:
        places: the indices of the messages that we can read.
        events: the events that update the record.
        new: the new messages; `None` if the history changed.
        in_view: how many messages at the start are those of the view, not of the record.
    """

    places: Sequence[int]
    events: Sequence[dict[str, Any]]
    new: Conversation | None = None
    in_view: int = 0


@dataclass(frozen=True)
class Counted:
    """The last count of the context.

    Attributes:
        upper: the upper bound of the tokens in use.
        number: how many events the log had then.
        beside: a fingerprint of what is counted beside the messages.
    """

    upper: int
    number: int
    beside: int


def check_list(history: Any) -> None:
    """Refuse a history that is not a list.

    Raises:
        InvalidConversation: it is not.
    """
    if not is_array(history):
        parse(history)  # its error says what to pass


class Fitting:
    """Follows the histories that a program passes to one session.

    Attributes:
        memory: makes the requests while the store cannot be used.
        passed_on: tells the messages that stay as they came.
    """

    def __init__(self, conversation: RecordedConversation, pace: Pace) -> None:
        self.memory = InMemory(conversation)
        self.passed_on = PassedOn(conversation.id)
        self._conversation, self._pace = conversation, pace
        self._format: Format | None = None
        self._counted: Counted | None = None
        self._followed = Followed()
        self._state = State()
        self._result: Result | None = None
        self._unread: dict[int, Any] = {}

    @property
    def warnings(self) -> list[str]:
        """A sentence for each kind of message that stays as it came, and for each failure."""
        return [*self.passed_on.warnings, *self.memory.warnings]

    def requests(self, history: Sequence[Any], focus: str | None = None) -> Following:
        """Yields the compressions that a request needs, and receives their results.

        A compression is planned anew if another process recorded something meanwhile.

        Raises:
            StoreError: other processes did so all the time, or the store cannot be used.
        """
        planned, self._result = self.follow(history, focus), None
        for left in reversed(range(ATTEMPTS)):
            if planned is None:
                break
            try:
                self._result = yield planned
            except StoreError:
                if not left:
                    raise
                self.follow(history)
            else:
                planned = self.follow(history, focus)
        if planned:
            raise StoreError(f"Other processes go on recording in {self._conversation.id}.")
        yield None

    def follow(self, history: Sequence[Any], focus: str | None = None) -> PlannedCompression | None:
        """Update the record to a history; returns the compression that is due then.

        Args:
            history: all messages, as the program passes them.
            focus: the subject of the remaining work, in words.
        """
        conversation = self._conversation
        before = conversation.state()
        step = self._grown(before, history) or self._changed(before, history)
        conversation.log.append(*step.events)
        state, new = conversation.state(), step.new
        if new:
            tell_usage(conversation, new.raw)
        ours = state.recorded
        if step.in_view:
            ours = [*before.view, *state.recorded[len(before.recorded) :]]
        self._followed = Followed(history, step.places, ours)
        if new is None or any(message.role == "assistant" for message in new.messages):
            self._pace.answered()
        read = new.messages if new is not None else None
        if new and may_shorten(conversation, state):
            events = shortened(conversation, state, new)
            conversation.log.append(*events)
            if events:
                read, state = None, conversation.state()
        self._state = state
        planned = self._due(before, read)
        return planned and replace(planned, options=self.options(focus))

    def options(self, focus: str | None) -> dict[str, Any]:
        """The options of a compression of the history."""
        return {**lasting.options(self._conversation, self._state), "focus": focus}

    def shown_again(self) -> Fitted:
        """`shown`, after a compression that `requests` did not plan."""
        self._state = self._conversation.state()
        return self.shown()

    @property
    def used(self) -> int:
        """The upper bound of the tokens in use, as far as they were counted."""
        return self._counted.upper if self._counted else 0

    def shown(self) -> Fitted:
        """The view of the history; messages that did not change are the very objects passed."""
        followed, state = self._followed, self._state
        view, history = state.view, followed.history
        place_of = dict(zip(map(id, followed.ours), followed.places, strict=False))
        places = [place_of.get(id(message)) for message in view]
        shown = [
            message if place is None else history[place]
            for message, place in zip(view, places, strict=True)
        ]
        recorded = [place_of.get(id(message)) for message in state.recorded]
        origins = [
            place if place is not None or origin is None else recorded[origin]
            for place, origin in zip(places, state.origins, strict=True)
        ]
        return Fitted(with_unread(shown, view, places, followed), origins, self._result)

    def sent(self, history: Sequence[Any], fitted: Fitted) -> list[Any]:
        """What goes out for a history; from memory if the last compression failed, and none runs.

        Another thread may have followed its own history meanwhile.
        """
        if fitted.result is None and self.memory.active and self._is_over_threshold:
            return self.memory.fit(history)
        self.memory.sent(history, fitted.messages)
        return fitted.messages

    @property
    def _is_over_threshold(self) -> bool:
        return self.used >= self._conversation.settings.threshold_tokens

    def _grown(self, state: State, history: Sequence[Any]) -> Step | None:
        """The step to a history that only adds messages; `None` if all of it must be read."""
        places = [i for i, message in enumerate(history) if id(message) not in self._unread]
        known = [history[place] for place in places]
        if shared_messages(state.recorded, known) == len(state.recorded):
            shared, in_view = len(state.recorded), 0
        elif shared_messages(state.view, known) == len(state.view):
            shared = in_view = len(state.view)
        else:
            return None
        try:
            new = parse(known[shared:])
        except InvalidConversation:  # one is unknown, or does not show its format alone
            return None
        if new.format is not self._format and not all(map(is_plain_text, new.raw)):
            return None
        self.passed_on.unknown_items(new.unknown_types)
        return Step(places, message_events(new.raw), new, in_view)

    def _changed(self, state: State, history: Sequence[Any]) -> Step:
        """The step to a history that was changed, or of which nothing is known yet."""
        places, read = self._read(history)
        self._format, self._counted = read.format, None
        self.passed_on.unknown_items(read.unknown_types)
        shared = shared_messages(state.recorded, read.raw)
        if shared == len(state.recorded):
            new = Conversation(read.raw[shared:], read.messages[shared:], read.format)
            return Step(places, message_events(new.raw), new)
        events = new_events(state, read)
        return Step(places, events, None, 0 if has_rewind(events) else len(state.view))

    def _read(self, history: Sequence[Any]) -> tuple[list[int], Conversation]:
        """The messages that we can read, with their indices; the others are noted and told."""
        places, errors = [*range(len(history))], dict[int, InvalidConversation]()
        while True:
            try:
                read = parse([history[place] for place in places])
                break
            except InvalidConversation as error:
                if error.index is None:
                    raise
                errors[places.pop(error.index)] = error
        # the messages are kept, so that their ids stay their own
        self._unread = {id(history[place]): history[place] for place in errors}
        for place, error in sorted(errors.items()):
            self.passed_on.unread(history[place], error, place, alone=not places)
        return places, read

    def _due(self, before: State, read: Sequence[Message] | None) -> PlannedCompression | None:
        """The compression that is due; all is counted only if the last count does not decide.

        Args:
            before: the state before the history was followed.
            read: the new messages of the view, if they are read already.
        """
        conversation, settings = self._conversation, self._conversation.settings
        state = self._state
        if not settings.auto_compress:
            return None
        beside = fingerprint((conversation.system_for(state), conversation.tools))
        last, new = self._counted, state.view[len(before.view) :]
        grown = state.view[: len(before.view)] == before.view and not anchor_in(new)
        if last and last.number == before.number and last.beside == beside and grown:
            counter = Counter(conversation.model, conversation.counter)
            upper = last.upper + counter.total(read or parse(new).messages).upper
            self._counted = Counted(upper, state.number, beside)
            if upper < settings.threshold_tokens and settings.strategy != "window":
                return None
        usage = conversation.usage()
        self._counted = Counted(usage.used_tokens.upper, state.number, beside)
        return before_request(conversation, self._pace, usage)
