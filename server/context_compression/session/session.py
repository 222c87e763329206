"""`Session`: one conversation on disk. Record it, view it, compress it, restore, undo.

The log only grows. Replaying it gives the view: the recorded messages, with each compression's
layout applied to the view of its time. So an undo is one more line, and nothing is ever rewritten.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from typing_extensions import TypeVar

from context_compression.compression.result import Result
from context_compression.conversation.formats import AnyMessage, Conversation, parse
from context_compression.conversation.validity.growing import Sendable
from context_compression.errors import (
    InvalidConversation,
    NothingToUndo,
    StoreError,
    StoreUnreachable,
    StoreUnwritable,
    UnknownRef,
)
from context_compression.session.archive import ArchivedTexts
from context_compression.session.compressing import (
    SummaryAssignment,
    assign_summary,
    preview,
    take_summary,
)
from context_compression.session.events import has_rewind, timestamp, undo_of
from context_compression.session.fit import Fitting
from context_compression.session.following import check_list, message_events, new_events
from context_compression.session.outgoing import Outgoing, system_for
from context_compression.session.pacing import Announcer, Event, PlannedCompression, due
from context_compression.session.parts import part_of
from context_compression.session.restoring import note_restored
from context_compression.session.state import State, state_of
from context_compression.session.status import Status, status_of
from context_compression.settings import Settings, StrategyName
from context_compression.store import SessionLog, Store
from context_compression.store.refs import bare_ref, complete_ref, too_short_note
from context_compression.store.session_files import original_of
from context_compression.strategies.base import Strategy
from context_compression.strategies.keep import drops_thinking
from context_compression.strings import SHOWN_VALUE, one_line, without_middle
from context_compression.summaries.errors import Error
from context_compression.summaries.summarizer import BY_SETTINGS, Summarizer, Writer, summarizer_for
from context_compression.threads import twin_of
from context_compression.tokens import Anchor, TextCounter
from context_compression.tokens.usage import AnyMessages, Usage, for_model, usage

T = TypeVar("T", default=Any)
LOOKED_BACK = 20
"""How many earlier messages are read to find the format of a message that does not show it itself.
"""
NEWEST_REFS = 5
"""How many refs the error for an unknown ref lists."""


class Session:
    """One conversation in a store, compressed when its context is too full.

        session = Session(".compression", "build", model="claude-sonnet-5")
        history.append({"role": "user", "content": "Why is the build red?"})
        answer = client.messages.create(messages=session.fit(history), …)
        history.append({"role": "assistant", "content": answer.content})

    What a program needs first: `fit` before each request, `recover` after a refused one, `restore`,
    `status` and `undo`. A program that lets the session keep the record calls `record` and
    `prepare` instead of `fit`.

    The version of a method for an event loop has an `a` before its name: `aprepare` for `prepare`.
    Cancelled before it writes, it changes nothing; if it is already writing, it finishes first.

    Args:
        store: a `Store`, or its folder or address.
        id: names the session: letters, digits, `.`, `_`, `-`.
        settings: a `Settings`, or some of its values.
        model: the model whose tokens and window count.
        system: the system prompt, if the provider takes it separately from the messages.
        tools: the tool definitions that go with each request.
        counter: counts tokens instead of our counter: takes a text, returns a number of tokens.
        summarizer: writes summaries; by default the model that `settings` name, if they name one;
            `None`: no model.
        on_event: called at the start and the end of every compression; an error of it is logged.
        background: whether compressions that become due are made beside the agent's work. From 85 %
            of the threshold on, the next one is prepared in a thread, which asks the model in an
            event loop of its own. It is written by the request before which it is due. `on_event`
            is called from that thread when the preparation starts and ends.

    Attributes:
        store, id, model, tools, counter, summarizer: as above.
        log: the files of the session.
        settings: including the window of the model.
        given_system: the system prompt without the summary.
        origin: gives `host`, `model` and `window` of a conversation that comes from a file, and in
            `beside` the tokens outside the messages in each request. They are recorded with a plan
            or compression, so that a later process knows them.
        fitting: keeps it small before each request.
    """

    origin: Callable[[], Mapping[str, Any]] = dict

    def __init__(
        self,
        store: Store | str | Path,
        id: str,
        *,
        settings: Settings | Mapping[str, Any] | None = None,
        model: str | None = None,
        system: Any = None,
        tools: Any = None,
        counter: TextCounter | None = None,
        summarizer: Writer = BY_SETTINGS,
        on_event: Callable[[Event], object] = lambda event: None,
        background: bool = False,
    ) -> None:
        self.store = store if isinstance(store, Store) else Store(store)
        self.id = id
        self.model, self.tools, self.counter = model, tools, counter
        self.settings = for_model(settings, model)
        self.log: SessionLog = self.store.session(id)
        self.given_system = system
        self.summarizer: Summarizer | None = summarizer_for(summarizer, self.settings)
        self._outgoing = Outgoing()
        self.fitting = Fitting(self, Announcer(on_event))
        if background:
            from context_compression.session.background import Background  # it imports sockets

            self.fitting.background = Background()

    # What a program needs first

    def fit(self, messages: Sequence[T], *, system: Any = None, tools: Any = None) -> list[T]:
        """What to send instead of a history that the program keeps itself.

            history.append({"role": "user", "content": "Why is the build red?"})
            answer = client.messages.create(messages=session.fit(history), …)
            history.append({"role": "assistant", "content": answer.content})

        Pass all of the history before each request; it may have grown, branched or been edited. It
        is compressed when that is due, and otherwise continues what the last request sent, so that
        the prompt cache stays valid. What cannot be made small enough is sent as small as it gets.

        A history that grows fast is compressed deeper, so that a compression lasts. After the first
        one, outputs of programs come shorter: as a preview if `context_restore` is among the tools,
        otherwise without leaving anything out. What the model has not read stays whole as long as
        the request is below the threshold.

        A message that we cannot read is sent as it came; `status` warns of it. With the setting
        `summary_role` at `system`, send the property `system`, too.

        Args:
            messages: the history, in one dialect. It is not changed. Instead of all messages, a
                program may keep those that were returned last, followed by the new ones.
            system: the system prompt, if it is outside the messages. It counts.
            tools: the tool definitions of the request. They count.

        Returns:
            The messages to send. Those that did not change are the very objects passed.

        Raises:
            InvalidConversation: `messages` is not a list. Nothing else is refused: without a store
                or a compression the request is made in memory, and `status` warns of it.
        """
        check_list(messages)
        try:
            fitted = self.fitting.fitted(messages, system=system, tools=tools)
            return self.fitting.sent(messages, fitted)
        except Exception as error:
            return self.fitting.memory.instead(messages, error)

    afit = twin_of(fit)

    def recover(self, error: Error) -> list[Any] | None:
        """The messages to retry a refused request with; `None` if a retry would not help.

        If the conversation is too long, it is compressed; this needs `auto_compress`. If its
        thinking is bound to other messages, all its thinking is removed. That frees no room, but no
        provider would accept the request otherwise, so it does not need `auto_compress`. Each is
        tried once until the model answers; both can be undone.

        Args:
            error: the error of the refused request.

        Returns:
            The messages to send, of the type that the program keeps.
        """
        return self.fitting.recovered(error)

    arecover = twin_of(recover)

    def restore(
        self,
        ref: str,
        *,
        lines: tuple[int, int] | None = None,
        pattern: str | None = None,
        fields: str | None = None,
        count: bool = False,
        note: bool = True,
    ) -> str:
        """The original under a ref, byte for byte; or some of its lines, its fields, or a count.

        Also what a search found in the sessions that hosts wrote.

            session.restore("c3f9")                         # all of it
            session.restore("c3f9", lines=(10, 40))
            session.restore("c3f9", pattern="Error|FAILED")
            session.restore("c3f9", pattern="FAILED", count=True)    # "12 of 4,210 lines"
            session.restore("c3f9", fields="items[?status=='failed'].id, length(items)")
            session.restore("c3f9", fields="NAME, STATUS")           # columns of a table

        Args:
            ref: the ref, or at least its first four digits.
            lines: first and last line, from 1, both included.
            pattern: a regular expression; returns the matching lines with their numbers.
            fields: JMESPath expressions for JSON, or names of columns, with commas between them.
                JSON may stand in other text; a table and lines of JSON are rows, of each of which
                a name is taken.
            count: return how many lines match, or how many values the fields have.
            note: whether to record how much was restored. A text of which a good part was restored
                is not offloaded again.

        Returns:
            A text as it was; a message as JSON. The lines of a message are the lines of all its
            texts. Fields are JSON, those of rows CSV.

        Raises:
            UnknownRef: nothing is archived under this ref.
            StoreDamaged: the archive does not contain the original of the ref.
            StoreError: an impossible range, pattern or field, or two that do not go together.
        """
        full_ref = self.full_ref(ref)
        beside = None if full_ref else self.store.original_beside(ref)
        full_ref = beside.ref if beside else self.known_ref(ref)
        original = beside.original if beside else self.original(full_ref)
        part = part_of(original, lines=lines, pattern=pattern, fields=fields, count=count)
        if note and not beside and not part.is_number:
            with suppress(StoreUnwritable):  # the text is returned even if this fails
                note_restored(self, full_ref, part.text)
        return part.text

    def status(self, messages: AnyMessages | None = None, anchor: Anchor | None = None) -> Status:
        """How full the context is, and what compressions saved so far; nothing is written.

        While the store cannot be used, it is the status of the last request alone, and warns.

        Args:
            messages: the actual content of the context, if a host keeps the history.
            anchor: what a provider charged for a first part of these messages.

        Returns:
            The numbers, the refs and the warnings of this moment.
        """
        unreachable: list[str] = []
        try:
            status = status_of(self, messages, anchor)
        except (StoreUnreachable, StoreUnwritable) as error:
            status, unreachable = self.fitting.memory.status(messages, anchor), [str(error)]
        warnings = [*unreachable, *status.warnings, *self.fitting.warnings]
        no_summary = self.fitting.announce.no_summary
        if no_summary and not any(no_summary in warning for warning in warnings):
            warnings.append(no_summary)
        return replace(status, warnings=warnings)

    def undo(self, messages: AnyMessages | None = None) -> list[Any]:
        """Undo the last compression.

        Args:
            messages: the conversation as its host keeps it, including new messages. It begins with
                the view that the compression made, or with the messages the compression was given.

        Returns:
            The view, with all messages that were recorded since.

        Raises:
            NothingToUndo: there is no compression, or the messages do not belong to it.
            InvalidConversation: the messages are not in a format we know.
        """
        with self.log.locked():
            state = self.state()
            if not state.compressions:
                raise NothingToUndo(f"{self.id} has no compression to undo.")
            undo = undo_of(state.compressions[-1], timestamp())
            self.log.append(*self._undo_in(messages, state, undo))
        return self.view()

    # A record that the session keeps: record, send what `prepare` returns, or read the view

    def record(self, *messages: AnyMessage) -> None:
        """Add messages to the conversation; they are on disk when this returns.

        Raises:
            InvalidConversation: the messages are not in a format we know; nothing was recorded.
        """
        read = self._read(messages)
        self.log.append(*message_events(read.raw))
        self.fitting.recorded(read)

    def prepare(self) -> list[Any]:
        """The messages for the next request, compressed first if that is due, as deep as by `fit`.

        Nothing is compressed if `auto_compress` is off. After a compression that failed or left
        little room, the view must grow before the next one.

        Returns:
            Dicts in the dialect that was recorded.

        Raises:
            ContextCompressionError: as for `compress`.
        """
        self.fitting.keep_small()
        return self.view()

    aprepare = twin_of(prepare)

    def view(self, messages: AnyMessages | None = None) -> list[Any]:
        """The messages to send to the model now, repaired if its provider would refuse them.

        Args:
            messages: the conversation as its host keeps it. The result is the view after `follow`
                with these messages, and nothing is written.

        Returns:
            Dicts in the dialect that was recorded.
        """
        state = self.state()
        for event in [] if messages is None else new_events(state, messages):
            state.replay(event)
        outgoing = self._outgoing if messages is None else Outgoing()
        return [*self.sendable(state.view, outgoing).messages]

    def follow(self, messages: AnyMessages) -> None:
        """Update the record to a conversation that its host keeps, such as a transcript.

        New messages are recorded. If the host changed its history, the record is rewound to the
        last message that both have.

        Raises:
            InvalidConversation: the messages are not in a format we know; nothing was recorded.
        """
        self.log.append(*new_events(self.state(), messages))

    # How full the context is

    def usage(self, messages: AnyMessages | None = None, state: State | None = None) -> Usage:
        """How full the context is with the view, or with `messages`, in tokens.

        Args:
            messages: the content of the context, if a host keeps the history.
            state: the current one, if the caller has it.
        """
        state = state or self.state()
        return usage(
            self.fitting.read(state.view) if messages is None else messages, tools=self.tools,
            model=self.model, system=system_for(self, state, messages), counter=self.counter,
            settings=self.settings,
        )  # fmt: skip

    def is_due(self, messages: AnyMessages | None = None) -> bool:
        """Whether a compression is due before the next request.

        It is due over the threshold, and with the strategy `window` also if there are too many
        turns. With `auto_compress` off it never is.

        Args:
            messages: the content of the request, if a host keeps the history; else the view.
        """
        return due(self, self.usage(messages), messages).now

    # Compressions by hand

    def compress(
        self,
        *,
        messages: AnyMessages | None = None,
        target_tokens: int | None = None,
        strategy: StrategyName | Strategy | None = None,
        pins: Sequence[int | str] = (),
        focus: str | None = None,
        force: bool = False,
        settings: Settings | Mapping[str, Any] | None = None,
        must_answer: bool = False,
    ) -> Result:
        """Compress the view; the originals are on disk before the view changes.

        One compression runs at a time, across all processes. Messages that are recorded meanwhile
        are kept. A compression that is refused or not due writes nothing.

        Args:
            messages: the conversation as its host keeps it. The record first follows it, as
                `follow` does; this is written together with the compression.
            target_tokens: as in `context_compression.compress`.
            strategy: by name, `auto`, or one of your own; overrides the strategy of the settings.
            pins: as in `context_compression.compress`.
            focus: as in `context_compression.compress`.
            force: as in `context_compression.compress`.
            settings: for this call: a `Settings`, or some values that differ.
            must_answer: whether a target below the minimum size gives the smallest useful context
                instead of an error, because somebody has to be answered.

        Returns:
            The view, in `messages`, and the report; the session has the view from then on.

        Raises:
            ContextCompressionError: as for `context_compression.compress`; the conversation is
                unchanged.
        """
        options: dict[str, Any] = {
            "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
            "force": force, "settings": settings, "must_answer": must_answer,
        }  # fmt: skip
        return self.fitting.compressor.run(PlannedCompression("manual", options, messages))

    acompress = twin_of(compress)

    def compress_loop(self, start: int, *, target_tokens: int | None = None) -> Result:
        """Compress the messages before a running tool loop; the loop's messages are unchanged.

        Args:
            start: index in the view of the loop's first message; negative counts from the end.
            target_tokens: for the complete view; the default is that of `compress`.

        Returns:
            As `compress`.

        Raises:
            ContextCompressionError: as for `compress`.
        """
        options = {"target_tokens": target_tokens}
        return self.fitting.compressor.run(PlannedCompression("manual", options, loop=start))

    acompress_loop = twin_of(compress_loop)

    def preview(self, messages: AnyMessages | None = None, **options: Any) -> Result:
        """The result that `compress` would have; nothing is written.

        Args:
            messages: the messages to compress instead of the view.
            options: those of `compress`, and a `summarizer`.
        """
        return preview(self, messages, **options)

    def ask(
        self, *, messages: AnyMessages | None = None, **options: Any
    ) -> SummaryAssignment | Result:
        """Compress with a summary that the caller writes.

            outcome = session.ask(force=True)
            while isinstance(outcome, SummaryAssignment):
                outcome = session.answer(outcome.plan_id, write(outcome.prompt))

        The plan is kept on disk. The view does not change until the last summary is there.

        Args:
            messages: as in `compress`.
            options: the other arguments of `compress`.

        Returns:
            The assignment of a summary, or the result if no summary is needed.

        Raises:
            ContextCompressionError: as for `compress`; the conversation is unchanged.
        """
        return assign_summary(self, messages, options)

    def answer(self, plan_id: str, summary: str) -> SummaryAssignment | Result:
        """Continue a plan with the summary that the caller wrote.

        Args:
            plan_id: of the `SummaryAssignment`.
            summary: the text.

        Returns:
            The assignment of the next summary if the plan needs several, or the result.

        Raises:
            PlanError: the plan is unknown or older than an hour, or the messages it covers changed.
            SummaryError: the summary cannot be used; the plan waits for a better one.
        """
        return take_summary(self, plan_id, summary)

    # The archive

    def archived(self) -> Iterator[tuple[str, str, Any]]:
        """All originals that are archived here, the oldest first.

        Yields:
            The ref, a description in a few words, and the original.

        Raises:
            StoreDamaged: a file of originals cannot be read.
        """
        read = cache(self.log.read_originals)
        for ref, about in self.state().refs.items():
            yield ref, about["what"], original_of(about, lambda file, at: read(file)[at])

    def offload(self, text: str, *, what: str = "text") -> str:
        """Move a text to the archive; returns its ref.

        Args:
            text: the text to archive.
            what: a description in a few words, shown wherever refs are listed.

        Returns:
            The ref under which `restore` brings it back.
        """
        with self.log.archiving():
            return ArchivedTexts(self.log, self.state()).add(text, what)

    def full_ref(self, ref: str) -> str | None:
        """The complete form of a ref; `None` if nothing is archived under it.

        Raises:
            UnknownRef: several refs begin with these digits.
        """
        if known := complete_ref(bare_ref(ref), self.in_memory):
            return known
        return self.log.full_ref(ref)

    def known_ref(self, ref: str) -> str:
        """All digits of a ref.

        Raises:
            UnknownRef: nothing is archived under it; the message names the newest refs.
        """
        if full_ref := self.full_ref(ref):
            return full_ref
        newest = ", ".join(list(self.state().refs)[-NEWEST_REFS:]) or "none yet"
        raise UnknownRef(
            f"Nothing is archived under {one_line(repr(ref))} here{too_short_note(ref)}. "
            f"The newest refs: {newest}."
        )

    def original(self, ref: str) -> Any:
        """The original under a complete ref: a text, or a message as it came.

        Raises:
            StoreError: nothing is archived under it, or the archive is damaged.
        """
        if ref in self.in_memory:
            return self.in_memory[ref]
        try:
            return self.log.original(ref)
        except StoreError:
            about = self.state().refs.get(ref)  # the log may have another JSON layout
            if about is None:
                raise
            return self.log.original(ref, [about])

    @property
    def in_memory(self) -> Mapping[str, Any]:
        """Originals that could not be written to the store, by ref, while the session lives."""
        return self.fitting.memory.originals

    def delete(self) -> None:
        """Remove the conversation and all its originals from disk; this cannot be undone."""
        self.store.delete(self.id)

    # Its life

    @property
    def system(self) -> Any:
        """The system prompt for the next request: the given prompt, with the summary in it, if any.

        A summary goes into the prompt if `summary_role` is `system` and messages have no such role.
        Set this property to the prompt without the summary.
        """
        return system_for(self, self.state())

    @system.setter
    def system(self, given: Any) -> None:
        self.given_system = given

    @property
    def on_event(self) -> Callable[[Event], object]:
        """Called at the start and the end of every compression; an error of it is logged."""
        return self.fitting.announce.on_event

    @on_event.setter
    def on_event(self, function: Callable[[Event], object]) -> None:
        self.fitting.announce = Announcer(function, self.fitting.announce.no_summary)

    def close(self) -> None:
        """Cancel what is prepared in the background; without `background` there is nothing to do.

        A compression that is ready but not due yet is thrown away. The session can still be used;
        its compressions then run before a request, as without `background`.
        """
        background, self.fitting.background = self.fitting.background, None
        if background:
            background.close()

    aclose = twin_of(close)

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """`close`."""
        self.close()

    async def __aenter__(self) -> Self:
        """The session itself."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """`aclose`."""
        await self.aclose()

    def __repr__(self) -> str:
        room = SHOWN_VALUE - len(window := f", a window of {self.settings.token_budget:,}>")
        return without_middle(f"<Session {self.id} in {self.store.name}", room) + window

    # For the modules of this package and the doors

    def state(self) -> State:
        """The current state of the log; a copy that belongs to the caller."""
        return state_of(self.log)

    def sendable(
        self, view: Sequence[Mapping[str, Any]], outgoing: Outgoing | None = None
    ) -> Sendable:
        """What goes out for a view; `outgoing` repairs one that is not of the next request."""
        drops = drops_thinking(self.settings, self.model)
        read = self.fitting.known(view) or view
        return (outgoing or self._outgoing).of(read, drops_thinking=drops, name=self.id)

    def warn(self, what: str, why: str) -> None:
        """Tell once in `status().warnings`, and in the log, what is not as it should be."""
        self.fitting.memory.warn(what, why)

    def _read(self, messages: AnyMessages) -> Conversation:
        """Parse new messages, together with earlier ones if they do not show their format alone.

        Raises:
            InvalidConversation: the messages are not in a format we know.
        """
        try:
            return parse(messages)
        except InvalidConversation:
            before = self.state().recorded[-LOOKED_BACK:]
            with suppress(InvalidConversation):
                all_of_them = parse([*before, *messages])
                new = slice(len(before), None)
                return Conversation(
                    all_of_them.raw[new], all_of_them.messages[new], all_of_them.format
                )
            raise

    def _undo_in(
        self, messages: AnyMessages | None, state: State, undo: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """An undo with the events that update the record to `messages`, in the right order."""
        if messages is None:
            return [undo]
        events, later = new_events(state, messages), self.state()
        for event in events:
            later.replay(event)
        if later.compressions and later.compressions[-1]["n"] == undo["n"]:
            return [*events, undo]
        state.replay(undo)
        if not has_rewind(events := new_events(state, messages)):
            return [undo, *events]
        raise NothingToUndo(
            f"The last compression of {self.id} has nothing to do with these messages. Pass those "
            "it was given or left, or the name of the session alone. Nothing was changed."
        )
