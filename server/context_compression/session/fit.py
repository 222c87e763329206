"""The history of a program, or the record, kept small before each request.

A program that keeps its history itself passes all of it before each request. Mostly it has only
grown since the last one. Then only the new messages are read and counted. The record follows it,
and it is shown as the view of the record.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import TYPE_CHECKING, Any

from context_compression.compression.result import Result
from context_compression.compression.run import ASK_IN_AN_EVENT_LOOP, in_event_loop
from context_compression.conversation.formats import Conversation, Format, parse
from context_compression.conversation.formats.reading import is_plain_text
from context_compression.conversation.labels import marked_as
from context_compression.conversation.messages import Message, is_object
from context_compression.errors import InvalidConversation, StoreBusy, StoreError
from context_compression.listening import tell_usage
from context_compression.session.arrivals import arrived, shortened
from context_compression.session.compressing import Compressor, acquired
from context_compression.session.events import has_rewind
from context_compression.session.following import (
    Followed,
    Shared,
    end_replaced,
    followed,
    message_events,
    new_events,
    readable,
    shared_messages,
    shared_with_view,
    with_unread,
)
from context_compression.session.in_memory import InMemory
from context_compression.session.outgoing import as_it_is, system_for
from context_compression.session.pacing import (
    Announcer,
    Pace,
    PlannedCompression,
    Room,
    after_refusal,
    answering,
    before_request,
    lasting_options,
)
from context_compression.session.state import State
from context_compression.store.log import FITTING_SECONDS
from context_compression.strings import in_words, one_line
from context_compression.summaries.errors import Error
from context_compression.tokens import Counter, anchor_in, fingerprint

if TYPE_CHECKING:
    from context_compression.session.background import Background
    from context_compression.session.session import Session

logger = logging.getLogger(__name__)
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
class HistoryUpdate:
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
    """Keeps one session small before each request; `prepare`, `fit` and `compress` are its doors.

    Attributes:
        memory: makes the requests while the store cannot be used.
        room: brings back what an earlier request gave up, and tells what exceeds the window.
        passed_on: tells the messages that stay as they came.
        pace: prevents loops of compressions.
        announce: tells the start and the end of each compression.
        background: makes compressions beside the agent's work, if the session does that.
        used: the upper bound of the tokens in use, as far as they were counted.
    """

    def __init__(self, session: "Session", announce: Announcer) -> None:
        self.memory, self.room = InMemory(session), Room(session)
        self.passed_on = PassedOn(session.id)
        self.pace, self.announce = Pace(), announce
        self.background: Background | None = None
        self._session = session
        self.used = 0
        self._format: Format | None = None
        self._counted: Counted | None = None
        self._followed = Followed()
        self._state = State()
        self._result: Result | None = None
        self._unread: dict[int, Any] = {}
        self._last_read: Conversation | None = None

    def read(self, view: Sequence[Mapping[str, Any]]) -> Conversation:
        """A view, parsed once as long as it has the same messages.

        Raises:
            InvalidConversation: the messages are not in a format we know.
        """
        known = self._last_read = self.known(view) or parse(view)
        return known

    def known(self, view: Sequence[Mapping[str, Any]]) -> Conversation | None:
        """A view that was read before, perhaps as the very messages that a program passed."""
        last = self._last_read
        if last is None or [*last] != [*view]:
            return None
        if all(map(is_, last, view)):
            return last
        both = zip(last.messages, view, strict=True)
        values = tuple(replace(value, source=raw) for value, raw in both)
        return Conversation(view, values, last.format)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each kind of message that stays as it came, and for each failure."""
        background = self.background.warnings if self.background else []
        own = (*self.passed_on.warnings, *self.memory.warnings, *self.room.warnings)
        return [*own, *background]

    def keep_small(self, history: Sequence[Any] | None = None, focus: str | None = None) -> None:
        """Compress what the next request would send, if that is due.

        Args:
            history: all messages, as a program passes them, which the record follows; `None` if the
                record is the history.
            focus: the subject of the remaining work, in words.

        Raises:
            ContextCompressionError: the store or a compression failed, or other processes went on
                recording all the time.
        """
        session = self._session
        planned, self._result = self._planned(history, focus), None
        if self.background:

            def options() -> dict[str, Any]:  # another compression may have been written meanwhile
                self._state = session.state()
                return self.options(focus)

            compressor = Compressor(session, self.pace, session.summarizer, self.announce)
            self.background.run(compressor, planned, self.used, options)
        elif planned and history is None:
            self._result = self.compressor.run(planned)
        elif planned and history is not None:
            self._compress(planned, history, focus)
        over = self.used > session.settings.token_budget  # the tokens are counted only then
        tokens = int(session.usage().used_tokens) if over and not self._result else 0
        self.room.tell(self._result.tokens_after if self._result else tokens)

    def fitted(
        self,
        history: Sequence[Any],
        *,
        system: Any = None,
        tools: Any = None,
        focus: str | None = None,
    ) -> Fitted:
        """`Session.fit` with a report, and with its errors; `history` and `focus` as above.

        Raises:
            ContextCompressionError: as for `keep_small`.
        """
        if system is not None:
            self._session.given_system = system
        if tools is not None:
            self._session.tools = tools
        with acquired(self._session.log.fitting, FITTING_SECONDS):
            self.keep_small(history, focus)
            return self.shown_again() if self.background else self.shown()

    def recovered(self, error: Error) -> list[dict[str, Any]] | None:
        """What goes out instead of a refused request; see `Session.recover`."""
        try:
            planned = after_refusal(self._session, self.pace, error)
            if planned is None:
                return None
            result = self.compressor.run(planned)
        except StoreError as failed:
            return self.memory.recovered(error, failed)
        if not result.changed:
            return None
        return self.shown_again().messages if self._followed.history else self._session.view()

    @property
    def compressor(self) -> Compressor:
        """Runs a compression for which the caller waits: what is prepared is cancelled."""
        session = self._session
        alone = self.background.alone if self.background else None
        summarizer = alone(session.summarizer) if alone else session.summarizer
        return Compressor(session, self.pace, summarizer, self.announce)

    def recorded(self, read: Conversation) -> None:
        """Note messages that the program records itself."""
        self._last_read = read
        self.passed_on.unknown_items(read.unknown_types)
        tell_usage(self._session, read.raw)
        if any(message.role == "assistant" for message in read.messages):
            self.pace.answered()

    def _planned(
        self, history: Sequence[Any] | None, focus: str | None
    ) -> PlannedCompression | None:
        """The compression that is due, after the record follows the history and results came in."""
        if history is not None:
            return self.follow(history, focus)
        session = self._session
        self._state = self.room.state()
        if events := arrived(session, self._state):
            session.log.append(*events)
            self._state = session.state()
        usage = session.usage(state=self._state)
        due = before_request(session, self.pace, usage)
        self.used = usage.used_tokens.upper
        return due and replace(due, options=self.options(focus))

    def _compress(
        self, planned: PlannedCompression, history: Sequence[Any], focus: str | None
    ) -> None:
        """Compress; planned anew if another process recorded something meanwhile.

        Raises:
            StoreError: other processes did so all the time, or the store cannot be used.
        """
        session, compressor, due = self._session, self.compressor, planned
        if session.summarizer and in_event_loop():
            compressor = replace(compressor, summarizer=None)
            self.memory.warn("no model wrote a summary", ASK_IN_AN_EVENT_LOOP)
        for left in reversed(range(ATTEMPTS)):
            try:
                self._result = compressor.run(due)
            except StoreError:
                if not left:
                    raise
                self.follow(history)
            else:  # a program may pass the view before it, which is nowhere recorded any more
                now = session.state()
                if len(now.recorded) == len(self._state.recorded):
                    self._state = now
                    return
                if (again := self.follow(history, focus)) is None:
                    return
                due = again
        raise StoreBusy(f"Other processes go on recording in {session.id}.")

    def follow(self, history: Sequence[Any], focus: str | None = None) -> PlannedCompression | None:
        """Update the record to a history; returns the compression that is due then."""
        conversation = self._session
        before = conversation.state()
        step = self._continued(before, history) or self._changed(before, history)
        conversation.log.append(*step.events)
        state, new = self.room.state(), step.new
        if new:
            tell_usage(conversation, new.raw)
        shared, ours = step.shared, before.view if step.of_view else state.recorded
        behind = state.recorded[len(before.recorded) if step.of_view else shared.known :]
        self._followed = followed(history, step.places, shared, ours, behind)
        if new is None or any(message.role == "assistant" for message in new.messages):
            self.pace.answered()
        read = new.messages if new is not None else None
        if new and (events := shortened(conversation, state, new)):
            conversation.log.append(*events)
            read, state = None, conversation.state()
        self._state = state
        planned = self._due(before, step.gone, read)
        return planned and replace(planned, options=self.options(focus))

    def options(self, focus: str | None) -> dict[str, Any]:
        """The options of a compression of the history."""
        options = lasting_options(self._session, self._state, self.read(self._state.view).messages)
        return {**answering(self._session), **options, "focus": focus}

    def shown_again(self) -> Fitted:
        """`shown`, after a compression that `requests` did not plan."""
        self._state = self._session.state()
        return self.shown()

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
        sendable = as_it_is(view) if self._unread else self._session.sendable(view)
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
        is_over = self.used >= self._session.settings.threshold_tokens
        if fitted.result is None and self.memory.active and is_over:
            return self.memory.fit(history)
        self.memory.sent(history, fitted.messages)
        return fitted.messages

    def _continued(self, state: State, history: Sequence[Any]) -> HistoryUpdate | None:
        """The step to a history that adds messages, or replaces the last ones.

        Returns:
            `None` if all of it must be read.
        """
        if self._format is None:
            return None
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
        return HistoryUpdate(places, events, new, shared, of_view, gone)

    def _in_view(self, state: State, known: Sequence[Any]) -> Shared | None:
        return shared_with_view(state.view, self._session.sendable(state.view), known)

    def _changed(self, state: State, history: Sequence[Any]) -> HistoryUpdate:
        """The step to a history that was changed, or of which nothing is known yet."""
        places, read = self._read(history)
        self._format, self._counted = read.format, None
        self.passed_on.unknown_items(read.unknown_types)
        shared = shared_messages(state.recorded, read.raw)
        if shared.known == len(state.recorded) and not shared.rest:
            new = Conversation(read.raw[shared.read :], read.messages[shared.read :], read.format)
            return HistoryUpdate(places, message_events(new.raw), new, shared)
        events = new_events(state, read)
        in_view = None if has_rewind(events) else self._in_view(state, read.raw)
        if has_rewind(events) or (shared.known == len(state.recorded) and not in_view):
            return HistoryUpdate(places, events, None, shared)
        known = len(state.view)
        as_written = Shared(known, known, places=[*range(known)])  # as its host writes it
        return HistoryUpdate(places, events, None, in_view or as_written, of_view=True)

    def _read(self, history: Sequence[Any]) -> tuple[list[int], Conversation]:
        """The messages that we can read, with their indices; the others are noted and told."""
        places, read, errors = readable(history)
        self._last_read = read
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
        conversation, settings = self._session, self._session.settings
        state = self._state
        if not settings.auto_compress:
            return None
        beside = fingerprint((system_for(conversation, state), conversation.tools))
        kept = len(before.view) - gone
        continues = state.view[:kept] == before.view[:kept] and not anchor_in(state.view[kept:])
        last = self._counted
        if last and continues and (last.view, last.beside) == (before.view, beside):
            counted = self._count_on(last, kept, read)
            enough = counted and counted.upper < settings.threshold_tokens
            if counted and enough and settings.strategy != "window":
                self._counted, self.used = counted, counted.upper
                return None
        usage, of = conversation.usage(state=state), len(state.view)
        first = kept if continues else of
        upper = usage.used_tokens.upper
        first_upper = upper - self._upper(first, of) + 1  # both were rounded up
        self._counted, self.used = Counted(upper, state.view, beside, first, first_upper), upper
        return before_request(conversation, self.pace, usage)

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
        if start == stop:
            return 0
        if read is None and (known := self.known(view)):
            read = known.messages[start:stop]
        try:
            read = read or parse(view[start:stop]).messages
        except InvalidConversation:  # they do not show their format alone
            read = self.read(view).messages[start:stop]
        return Counter(self._session.model, self._session.counter).total(read).upper


# `PassedOn`: the messages of a history that stay as they came, told kind by kind.


MOST_TOLD = 8
"""How many kinds are told at most; a program may name each event anew."""
KIND_CHARS = 60


class PassedOn:
    """Tells each kind of message that we do not know once.

    Attributes:
        warnings: a sentence for each kind.
    """

    def __init__(self, session_id: str) -> None:
        self.warnings: list[str] = []
        self._session_id = session_id
        self._kinds: set[str] = set()

    def unread(self, message: Any, error: InvalidConversation, place: int, *, alone: bool) -> None:
        """Tell that a message is passed through.

        Args:
            message: the message, as the program passed it.
            error: why it cannot be read.
            place: its index in the history.
            alone: whether no message can be read. Then the error says what to pass instead; among
                messages that can be read, an object of a library is just named.
        """
        kind = _kind_of(message)
        why = str(error.at(place))
        if not (alone or is_object(message)):
            why = f"Message {place} is {kind}."
        self._tell(
            kind,
            "a message is passed through as it came; it is not counted, and not compressed: "
            f"{one_line(why)}",
        )

    def unknown_items(self, types: Iterable[str]) -> None:
        """Tell the types of items that are not known: they are counted, and stay as they came."""
        for kind in types:
            named = in_words(kind, KIND_CHARS)
            self._tell(
                f"item {kind}",
                f"items of the type {named!r} are not known here: they count, and always stay",
            )

    def _tell(self, kind: str, warning: str) -> None:
        if kind in self._kinds or len(self.warnings) > MOST_TOLD:
            return
        self._kinds.add(kind)
        if len(self.warnings) == MOST_TOLD:
            warning = "messages of more kinds are not known here; they stay as they came, too"
        self.warnings.append(warning)
        logger.warning("session %s: %s", self._session_id, warning)


def _kind_of(message: Any) -> str:
    """What a message is, in words: by its role and its type, or as an object of a library."""
    if not is_object(message):
        return f"{type(message).__name__} of {type(message).__module__.partition('.')[0]}"
    named = (f"{key} {in_words(str(message[key]), KIND_CHARS)}" for key in ("role", "type")
             if isinstance(message.get(key), str))  # fmt: skip
    return "a message with " + (" and ".join(named) or "neither role nor type")
