"""The history of a program that keeps it itself: followed by the record, and shown as its view.

The program passes all of it before each request. Mostly it has only grown since the last request.
Then only the new messages are read and counted.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from context_compression.compression.result import Result
from context_compression.conversation.cache_marks import marked_as
from context_compression.conversation.formats import Conversation, Format, parse
from context_compression.conversation.formats.dialect import is_plain_text
from context_compression.conversation.messages import Message
from context_compression.errors import InvalidConversation, StoreError
from context_compression.listening import tell_usage
from context_compression.session import lasting
from context_compression.session.arrivals import shortened
from context_compression.session.compressing import PlannedCompression
from context_compression.session.following import (
    end_replaced,
    message_events,
    new_events,
    shared_messages,
    shared_with_view,
)
from context_compression.session.grouping import Shared
from context_compression.session.growing import Room
from context_compression.session.in_memory import InMemory
from context_compression.session.log_events import has_rewind
from context_compression.session.outgoing import as_it_is
from context_compression.session.pacing import Pace
from context_compression.session.passed_on import PassedOn
from context_compression.session.recorded import RecordedConversation
from context_compression.session.state import State
from context_compression.session.triggers import answering, before_request
from context_compression.session.unread import Followed, Known, followed, readable, with_unread
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
        new: the new messages; `None` if more than the end of the history changed.
        shared: what the history has of the record, or of its view.
        of_view: whether that is the view.
        gone: how many messages at the end the new ones replace.
    """

    places: Sequence[int]
    events: Sequence[dict[str, Any]]
    new: Conversation | None = None
    shared: Shared = field(default_factory=Shared)
    of_view: bool = False
    gone: int = 0


@dataclass(frozen=True)
class Counted:
    """A count of the context, and one of a beginning of it.

    Attributes:
        upper: the upper bound of the tokens in use.
        view: its messages.
        beside: a fingerprint of what is counted beside them.
        first: how many of the messages need `first_upper` tokens, with what is beside them.
        first_upper: see `first`.
    """

    upper: int
    view: Sequence[Any]
    beside: int
    first: int
    first_upper: int


class Fitting:
    """Follows the histories that a program passes to one session.

    Attributes:
        memory: makes the requests while the store cannot be used.
        room: brings back what an earlier request gave up, and tells what exceeds the window.
        passed_on: tells the messages that stay as they came.
    """

    def __init__(self, conversation: RecordedConversation, pace: Pace) -> None:
        self.memory, self.room = InMemory(conversation), Room(conversation)
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
        return [*self.passed_on.warnings, *self.memory.warnings, *self.room.warnings]

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
            else:  # a program may pass the view before it, which is nowhere recorded any more
                now = self._conversation.state()
                if len(now.recorded) == len(self._state.recorded):
                    self._state, planned = now, None
                else:
                    planned = self.follow(history, focus)
        self.room.tell(self._result.tokens_after if self._result else self._tokens)
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
        step = self._continued(before, history) or self._changed(before, history)
        conversation.log.append(*step.events)
        state, new = self.room.state(), step.new
        if new:
            tell_usage(conversation, new.raw)
        shared, ours = step.shared, before.view if step.of_view else state.recorded
        behind = state.recorded[len(before.recorded) if step.of_view else shared.known :]
        self._followed = followed(history, step.places, Known(shared, ours, behind))
        if new is None or any(message.role == "assistant" for message in new.messages):
            self._pace.answered()
        read = new.messages if new is not None else None
        if new and (events := shortened(conversation, state, new)):
            conversation.log.append(*events)
            read, state = None, conversation.state()
        self._state = state
        planned = self._due(before, step.gone, read)
        return planned and replace(planned, options=self.options(focus))

    def options(self, focus: str | None) -> dict[str, Any]:
        """The options of a compression of the history."""
        options = lasting.options(self._conversation, self._state)
        return {**answering(self._conversation), **options, "focus": focus}

    def shown_again(self) -> Fitted:
        """`shown`, after a compression that `requests` did not plan."""
        self._state = self._conversation.state()
        return self.shown()

    def sent_again(self) -> list[Any]:
        """What goes out instead of a refused request; the view, if no history was followed."""
        followed = self._followed.history
        return self.shown_again().messages if followed else self._conversation.view()

    @property
    def _tokens(self) -> int:
        """The tokens of the request, counted only if they may exceed the window."""
        over = self.used > self._conversation.settings.token_budget
        return int(self._conversation.usage().used_tokens) if over else 0

    @property
    def used(self) -> int:
        """The upper bound of the tokens in use, as far as they were counted."""
        return self._counted.upper if self._counted else 0

    def shown(self) -> Fitted:
        """The view of the history; messages that did not change are the very objects passed."""
        of, state = self._followed, self._state
        view, history = state.view, of.history
        place_of = {**of.same, **of.regrouped}
        places = [of.same.get(id(message)) for message in view]
        recorded = [place_of.get(id(message)) for message in state.recorded]
        origins = [
            place if place is not None or origin is None else recorded[origin]
            for place, origin in zip(places, state.origins, strict=True)
        ]
        sendable = as_it_is(view) if self._unread else self._conversation.sendable(view)
        places, origins = sendable.indices_of(places), sendable.indices_of(origins)
        shown = [
            marked_as(message, None if origin is None else history[origin])
            if place is None or repaired else history[place]
            for message, repaired, place, origin
            in zip(sendable.messages, sendable.repaired, places, origins, strict=True)
        ]  # fmt: skip
        return Fitted(with_unread(shown, sendable.messages, places, of), origins, self._result)

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

    def _continued(self, state: State, history: Sequence[Any]) -> Step | None:
        """The step to a history that adds messages, or replaces the last ones.

        Returns:
            `None` if all of it must be read.
        """
        places = [i for i, message in enumerate(history) if id(message) not in self._unread]
        known = [history[place] for place in places]
        shared, of_view = shared_messages(state.recorded, known), False
        gone = len(state.recorded) - shared.known
        if gone and (in_view := self._in_view(state, known)):
            shared, of_view, gone = in_view, True, 0
        try:
            new = parse(shared.new(known))
        except InvalidConversation:  # one is unknown, or does not show its format alone
            return None
        if new.format is not self._format and not all(map(is_plain_text, new.raw)):
            return None
        events = end_replaced(state, shared.known, new.raw) if gone else message_events(new.raw)
        if events is None:
            return None
        self.passed_on.unknown_items(new.unknown_types)
        return Step(places, events, new, shared, of_view, gone)

    def _in_view(self, state: State, known: Sequence[Any]) -> Shared | None:
        return shared_with_view(state.view, self._conversation.sendable(state.view), known)

    def _changed(self, state: State, history: Sequence[Any]) -> Step:
        """The step to a history that was changed, or of which nothing is known yet."""
        places, read = self._read(history)
        self._format, self._counted = read.format, None
        self.passed_on.unknown_items(read.unknown_types)
        shared = shared_messages(state.recorded, read.raw)
        if shared.known == len(state.recorded) and not shared.rest:
            new = Conversation(read.raw[shared.read :], read.messages[shared.read :], read.format)
            return Step(places, message_events(new.raw), new, shared)
        events = new_events(state, read)
        in_view = None if has_rewind(events) else self._in_view(state, read.raw)
        if has_rewind(events) or (shared.known == len(state.recorded) and not in_view):
            return Step(places, events, None, shared)
        known = len(state.view)
        as_written = Shared(known, known, places=[*range(known)])  # as its host writes it
        return Step(places, events, None, in_view or as_written, of_view=True)

    def _read(self, history: Sequence[Any]) -> tuple[list[int], Conversation]:
        """The messages that we can read, with their indices; the others are noted and told."""
        places, read, errors = readable(history)
        # the messages are kept, so that their ids stay their own
        self._unread = {id(history[place]): history[place] for place in errors}
        for place, error in sorted(errors.items()):
            self.passed_on.unread(history[place], error, place, alone=not places)
        return places, read

    def _due(
        self, before: State, gone: int, read: Sequence[Message] | None
    ) -> PlannedCompression | None:
        """The compression that is due; all is counted only if the last count does not decide.

        Args:
            before: the state before the history was followed.
            gone: how many messages at the end of its view are gone.
            read: the new messages of the view, if they are read already.
        """
        conversation, settings = self._conversation, self._conversation.settings
        state = self._state
        if not settings.auto_compress:
            return None
        beside = fingerprint((conversation.system_for(state), conversation.tools))
        kept = len(before.view) - gone
        continues = state.view[:kept] == before.view[:kept] and not anchor_in(state.view[kept:])
        last = self._counted
        if last and continues and (last.view, last.beside) == (before.view, beside):
            counted = self._count_on(last, kept, read)
            decides = counted and counted.upper < settings.threshold_tokens
            if decides and settings.strategy != "window":
                self._counted = counted
                return None
        usage, of = conversation.usage(), len(state.view)
        first = kept if continues else of
        upper = usage.used_tokens.upper
        first_upper = upper - self._upper(first, of) + 1  # both were rounded up
        self._counted = Counted(upper, state.view, beside, first, first_upper)
        return before_request(conversation, self._pace, usage)

    def _count_on(self, last: Counted, kept: int, read: Sequence[Message] | None) -> Counted | None:
        """The count of the view, from that of its first `kept` messages or fewer.

        Returns:
            `None` if all must be counted.
        """
        view, all_stay = self._state.view, len(last.view) == kept
        upper, at = (last.upper, kept) if all_stay else (last.first_upper, last.first)
        if at > kept:
            return None
        upper += self._upper(at, kept)
        new = self._upper(kept, len(view), read)
        return Counted(upper + new, view, last.beside, kept, upper)

    def _upper(self, start: int, stop: int, read: Sequence[Message] | None = None) -> int:
        """The upper bound of the tokens of some messages of the view, which may be read already."""
        view = self._state.view
        try:
            read = read or parse(view[start:stop]).messages
        except InvalidConversation:  # they do not show their format alone
            read = parse(view).messages[start:stop]
        return Counter(self._conversation.model, self._conversation.counter).total(read).upper
