"""`RecordedConversation`: one conversation on disk. Record it, view it, restore, undo.

The log only grows. Replaying it gives the view: the recorded messages, with each compression's
layout applied to the view of its time. So an undo is one more line, and nothing is ever rewritten.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.system_prompt import with_summary
from context_compression.conversation.validity.growing import Sendable
from context_compression.display.strings import one_line
from context_compression.errors import (
    InvalidConversation,
    NothingToUndo,
    StoreError,
    StoreUnwritable,
    UnknownRef,
)
from context_compression.session.following import new_events
from context_compression.session.keeping import ArchivedTexts
from context_compression.session.log_events import has_rewind, timestamp, undo_of
from context_compression.session.outgoing import Outgoing
from context_compression.session.reading import NO_LINE, as_text, in_lines, select
from context_compression.session.replaying import state_of
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.store import SessionLog, Store
from context_compression.store.originals import original_of
from context_compression.store.short_refs import bare_ref, complete_ref, too_short_note
from context_compression.strategies.thinking import drops_thinking
from context_compression.tokens import Counter, TextCounter
from context_compression.tokens.usage import Messages, Usage, for_model, usage

LOOKED_BACK = 20
"""How many earlier messages are read to find the format of a message that does not show it itself.
"""
NEWEST_REFS = 5
"""How many refs the error for an unknown ref lists."""


class RecordedConversation:
    """A conversation in a store: the part of `Session` without compression.

    Attributes:
        store: the store that keeps it.
        id: of the session.
        log: the files of the session.
        settings: including the window of the model.
        model: the model whose tokens and window count.
        tools: the tool definitions that go with each request.
        counter: the caller's own way to count tokens.
        origin: gives `host`, `model` and `window` of a conversation that comes from a file, and in
            `beside` the tokens outside the messages in each request. They are recorded with a plan
            or compression, so that a later process knows them.
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
    ) -> None:
        self.store = store if isinstance(store, Store) else Store(store)
        self.id = id
        self.model, self.tools, self.counter = model, tools, counter
        self.settings = for_model(settings, model)
        self.log: SessionLog = self.store.session(id)
        self.given_system = system
        self._outgoing = Outgoing()

    @property
    def system(self) -> Any:
        """The system prompt for the next request: the given prompt, with the summary in it, if any.

        A summary goes into the prompt if `summary_role` is `system` and messages have no such role.
        Set this property to the prompt without the summary.
        """
        return self.system_for(self.state())

    @system.setter
    def system(self, given: Any) -> None:
        self.given_system = given

    def system_for(self, state: State, messages: Messages | None = None) -> Any:
        """The system prompt for a state, or for messages of a host.

        If the messages do not begin with the state's view, it is the prompt as it was given.
        """
        own = messages is None or list(messages[: len(state.view)]) == state.view
        if state.summary_in_system is None or not own:
            return self.given_system
        return with_summary(self.given_system, state.summary_in_system)

    def record(self, *messages: Mapping[str, Any]) -> None:
        """Add messages to the conversation; they are on disk when this returns.

        Raises:
            InvalidConversation: the messages are not in a format we know; nothing was recorded.
        """
        raw = self._read(messages).raw
        now = timestamp()
        self.log.append(*({"type": "message", "created_at": now, "message": dict(m)} for m in raw))

    def _read(self, messages: Sequence[Mapping[str, Any]]) -> Conversation:
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

    def follow(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Update the record to a conversation that its host keeps, such as a transcript.

        New messages are recorded. If the host changed its history, the record is rewound to the
        last message that both have.

        Raises:
            InvalidConversation: the messages are not in a format we know; nothing was recorded.
        """
        self.log.append(*new_events(self.state(), messages))

    def view(self, messages: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
        """The messages to send to the model now, repaired if its provider would refuse them.

        Args:
            messages: the conversation as its host keeps it. The result is the view after `follow`
                with these messages, and nothing is written.
        """
        state = self.state()
        for event in [] if messages is None else new_events(state, messages):
            state.replay(event)
        outgoing = self._outgoing if messages is None else Outgoing()
        return [*self.sendable(state.view, outgoing).messages]

    def sendable(
        self, view: Sequence[Mapping[str, Any]], outgoing: Outgoing | None = None
    ) -> Sendable:
        """What goes out for a view.

        Args:
            view: the view.
            outgoing: repairs it, if it is not the view of the session's next request.
        """
        drops = drops_thinking(self.settings, self.model)
        return (outgoing or self._outgoing).of(view, drops_thinking=drops, name=self.id)

    def usage(self, messages: Sequence[Mapping[str, Any]] | None = None) -> Usage:
        """How full the context is with the view, or with `messages`, in tokens."""
        state = self.state()
        return usage(
            state.view if messages is None else messages, tools=self.tools, model=self.model,
            system=self.system_for(state, messages), counter=self.counter, settings=self.settings,
        )  # fmt: skip

    def restore(
        self,
        ref: str,
        *,
        lines: tuple[int, int] | None = None,
        pattern: str | None = None,
        note: bool = True,
    ) -> str:
        """The original under a ref, byte for byte; or some of its lines.

            session.restore("c3f9")                         # all of it
            session.restore("c3f9", lines=(10, 40))
            session.restore("c3f9", pattern="Error|FAILED")

        Args:
            ref: the ref, or at least its first four digits.
            lines: first and last line, from 1, both included.
            pattern: a regular expression; returns the matching lines with their numbers.
            note: whether to record how much was restored. A text of which a good part was restored
                is not offloaded again.

        Returns:
            A text as it was; a message as JSON. The lines of a message are the lines of all its
            texts.

        Raises:
            UnknownRef: nothing is archived under this ref.
            StoreDamaged: the archive does not contain the original of the ref.
            StoreError: an impossible range or pattern.
        """
        full_ref = self.full_ref(ref)
        if full_ref is None:
            newest = ", ".join(list(self.state().refs)[-NEWEST_REFS:]) or "none yet"
            raise UnknownRef(
                f"Nothing is archived under {one_line(repr(ref))} here{too_short_note(ref)}. "
                f"The newest refs: {newest}."
            )
        original = self.original(full_ref)
        complete = lines is None and pattern is None
        text = as_text(original) if complete else select(in_lines(original), lines, pattern)
        if text == NO_LINE and lines is None:  # the pattern may match other parts than texts
            text = select(as_text(original), None, pattern)
        if note and full_ref not in self.in_memory:
            with suppress(StoreUnwritable):  # the text is returned even if this fails
                self._note(full_ref, text, len(as_text(original)))
        return text

    @property
    def in_memory(self) -> Mapping[str, Any]:
        """Originals that could not be written to the store, by ref, while the session lives."""
        return {}

    def full_ref(self, ref: str) -> str | None:
        """The complete form of a ref; `None` if nothing is archived under it.

        Raises:
            UnknownRef: several refs begin with these digits.
        """
        if known := complete_ref(bare_ref(ref), self.in_memory):
            return known
        return self.log.full_ref(ref)

    def note_restored(self, ref: str, shown: str) -> None:
        """Record which part of an original was restored.

        For callers that show one page of the result of `restore(note=False)`. A text of which a
        good part was restored is not offloaded again.

        Args:
            ref: all its digits.
            shown: the part that was shown.
        """
        if ref not in self.in_memory:
            self._note(ref, shown, len(as_text(self.original(ref))))

    def _note(self, ref: str, shown: str, of: int) -> None:
        self.log.append(
            {
                "type": "restore",
                "created_at": timestamp(),
                "ref": ref,
                "tokens": Counter(self.model, self.counter).text(shown),
                "share": len(shown) / max(1, of),
            }
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
        """
        with self.log.archiving():
            return ArchivedTexts(self.log, self.state()).add(text, what)

    def undo(self, messages: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
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

    def _undo_in(
        self, messages: Messages | None, state: State, undo: dict[str, Any]
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

    def delete(self) -> None:
        """Remove the conversation and all its originals from disk; this cannot be undone."""
        self.store.delete(self.id)

    def state(self) -> State:
        """The current state of the log; a copy that belongs to the caller."""
        return state_of(self.log)
