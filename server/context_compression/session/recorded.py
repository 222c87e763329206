"""One conversation on disk: record it, view it, bring anything back, undo.

The log only grows. A view is what replaying it gives: messages as recorded, and each compression's
layout over the view of its time. So an undo is one more line, and nothing is ever rewritten.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from context_compression.compression.request import CompressionRequest, Keeper
from context_compression.compression.result import Result
from context_compression.compression.run import compress
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.system_prompt import with_summary
from context_compression.display.strings import one_line
from context_compression.errors import (
    InvalidConversation,
    NothingToUndo,
    StoreError,
    StoreUnwritable,
    UnknownRef,
)
from context_compression.session.archiver import Archiver, Rehearsal, archive_of
from context_compression.session.keeping import ArchivedTexts
from context_compression.session.reading import NO_LINE, as_text, in_lines, select
from context_compression.session.state import (
    State,
    new_messages,
    rewinds,
    state_of,
    timestamp,
    undoing,
)
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.store.originals import original_of
from context_compression.store.refs import if_too_short
from context_compression.tokens import Counter, TextCounter
from context_compression.tokens.usage import Messages, Usage, for_model, usage

LOOKED_BACK = 20
"""Messages recorded before that tell what one is that cannot be told by itself."""


class Recorded:
    """A conversation in a store; `Session` says what the arguments are.

    Attributes:
        origin: `host`, `model` and `window` of a conversation that comes from a file. They are
            written down with a plan or compression, so that the session alone can tell of them.
    """

    origin: Mapping[str, Any] = MappingProxyType({})

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
        self._log = self.store.session(id)
        self._given_system = system

    @property
    def system(self) -> Any:
        """The system prompt for the next request: the one given, and in it the summary.

        That is where it goes where `summary_role` says so and messages have no such role.
        """
        return self._system_in(self.state())

    @system.setter
    def system(self, given: Any) -> None:
        self._given_system = given

    def _system_in(self, state: State, shown: Messages | None = None) -> Any:
        """The system prompt that goes with our view; a history that is not ours has its own."""
        ours = shown is None or list(shown[: len(state.view)]) == state.view
        if state.summary_in_system is None or not ours:
            return self._given_system
        return with_summary(self._given_system, state.summary_in_system)

    def record(self, *messages: Mapping[str, Any]) -> None:
        """Add messages to the conversation; they are on disk when this returns.

        Raises:
            InvalidConversation: not messages in a format we know; nothing was recorded.
        """
        raw = self._read(messages).raw
        now = timestamp()
        self._log.append(*({"type": "message", "created_at": now, "message": dict(m)} for m in raw))

    def _read(self, messages: Sequence[Mapping[str, Any]]) -> Conversation:
        """What is new; among items of OpenAI Responses there may be any, alone none we do not know.

        Raises:
            InvalidConversation: not messages in a format we know.
        """
        try:
            return parse(messages)
        except InvalidConversation:
            before = self.state().recorded[-LOOKED_BACK:]
            with suppress(InvalidConversation):
                whole = parse([*before, *messages])
                new = slice(len(before), None)
                return Conversation(whole.raw[new], whole.messages[new], whole.format)
            raise

    def follow(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Bring the record up to a conversation that somebody else keeps, such as a transcript.

        What is new is recorded; where the other's history was changed, ours is rewound to the last
        message both have.
        """
        self._log.append(*new_messages(self.state(), messages))

    def view(self, messages: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
        """The messages that the model would be sent now.

        Given the conversation as somebody else keeps it: the view that `follow` would lead to.
        """
        state = self.state()
        for event in [] if messages is None else new_messages(state, messages):
            state.replay(event)
        return state.view

    def usage(self, messages: Sequence[Mapping[str, Any]] | None = None) -> Usage:
        """How full the context is, with the view in it, or with `messages`."""
        state = self.state()
        return usage(
            state.view if messages is None else messages, tools=self.tools, model=self.model,
            system=self._system_in(state, messages), counter=self.counter, settings=self.settings,
        )  # fmt: skip

    def preview(
        self, messages: Sequence[Mapping[str, Any]] | None = None, **options: Any
    ) -> Result:
        """What `compress` would do to the view, or to `messages`, without doing it."""
        settings = self._settings(options.pop("settings", None))
        state = self.state()
        shown = state.view if messages is None else messages
        rehearsal = Rehearsal(archive_of(self.store, self._log, state), self.store)
        summarizer = options.pop("summarizer", None)
        system = self._system_in(state, messages)
        ask = self._ask(shown, system, rehearsal, settings=settings, **options)
        return compress(ask, summarizer)

    def _ask(
        self, messages: Messages, system: Any, store: Keeper, **options: Any
    ) -> CompressionRequest:
        """With what is known of this conversation."""
        return CompressionRequest(
            messages=messages, system=system, tools=self.tools, model=self.model,
            counter=self.counter, store=store, **options,
        )  # fmt: skip

    def _kept(
        self,
        state: State,
        news: Sequence[dict[str, Any]],
        before_writing: Callable[[], object],
        messages: Messages,
        **options: Any,
    ) -> CompressionRequest:
        """What is asked for where the originals shall be kept; `news` is written with them."""
        system = self._system_in(state)
        origin = self._origin_now(state, options.get("not_counted", 0))
        archiver = Archiver(self._log, self.store, state, news, before_writing, system, origin)
        return self._ask(messages, system, archiver, **options)

    def _origin_now(self, state: State, not_counted: int) -> dict[str, Any]:
        """The origin to write down; `beside` is what is counted beside the messages and what not.

        Where a host's requests are not known this time, what was known of them stays.
        """
        if not self.origin or "beside" in self.origin:  # the session itself told it
            return dict(self.origin)
        counter = Counter(self.model, self.counter)
        fixed = counter.system(self._given_system) + counter.tools(self.tools)
        unknown = not not_counted and self.origin["host"] != "messages"
        known = state.origin.get("beside", 0) if unknown else 0
        return {**self.origin, "beside": max(fixed + not_counted, known)}

    def _settings(self, given: Settings | Mapping[str, Any] | None) -> Settings:
        """The session's settings, some of them changed for one call, or others altogether."""
        if isinstance(given, Settings):
            return given
        return self.settings.changed(given) if given else self.settings

    def restore(
        self,
        ref: str,
        *,
        lines: tuple[int, int] | None = None,
        pattern: str | None = None,
        note: bool = True,
    ) -> str:
        """What was archived under a ref, byte for byte; or some of its lines.

        Args:
            ref: at least its first four digits.
            lines: first and last line, from 1, both included.
            pattern: only lines in which this regular expression is found, with their numbers.
            note: write down what was restored: of which a good part was, is not offloaded again.

        Raises:
            UnknownRef: nothing is archived under this ref.
            StoreDamaged: the archive does not hold what the ref says.
            StoreError: an impossible range or pattern.
        """
        full = self._log.full_ref(ref)
        if full is None:
            known = ", ".join(list(self.state().refs)[-5:]) or "none yet"
            short = if_too_short(ref)
            raise UnknownRef(
                f"Nothing is archived under {one_line(repr(ref))} here{short}. "
                f"The newest refs: {known}."
            )
        original = self.original(full)
        whole = lines is None and pattern is None
        shown = as_text(original) if whole else select(in_lines(original), lines, pattern)
        if shown == NO_LINE and lines is None:  # it may stand in what is no text
            shown = select(as_text(original), None, pattern)
        if note:
            with suppress(StoreUnwritable):  # what cannot be written down is shown all the same
                self._note(full, shown, len(as_text(original)))
        return shown

    def note_restored(self, ref: str, shown: str) -> None:
        """Write down how much of a (full) ref was brought back; after a good part it stays.

        For those who show a page of what `restore(note=False)` gave them.
        """
        self._note(ref, shown, len(as_text(self.original(ref))))

    def _note(self, ref: str, shown: str, of: int) -> None:
        self._log.append(
            {
                "type": "restore",
                "created_at": timestamp(),
                "ref": ref,
                "tokens": Counter(self.model, self.counter).text(shown),
                "share": len(shown) / max(1, of),
            }
        )

    def original(self, ref: str) -> Any:
        """What was archived under a full ref: a text, or a message as it came."""
        try:
            return self._log.original(ref)
        except StoreError:
            told = self.state().refs.get(ref)  # the log may not be spelled as we do
            if told is None:
                raise
            return self._log.original(ref, [told])

    def archived(self) -> Iterator[tuple[str, str, Any]]:
        """All that is archived here, the oldest first: ref, what it is, and the original.

        Raises:
            StoreDamaged: a file of originals cannot be read.
        """
        read = cache(self._log.read_originals)
        for ref, about in self.state().refs.items():
            yield ref, about["what"], original_of(about, lambda file, at: read(file)[at])

    def offload(self, text: str, *, what: str = "text") -> str:
        """Move a text to the archive; returns its ref."""
        with self._log.archiving():
            return ArchivedTexts(self._log, self.state()).add(text, what)

    def undo(self, messages: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
        """Take the last compression back; returns the view, with all recorded since.

        Given the `messages` of a conversation somebody else keeps, with what is new in them. They
        hold what the compression left, or what it was given.

        Raises:
            NothingToUndo: there is none, or it has nothing to do with the messages.
            InvalidConversation: these are not in a format we know.
        """
        with self._log.locked():
            state = self.state()
            if not state.compressions:
                raise NothingToUndo(f"{self.id} has no compression to undo.")
            undo = undoing(state.compressions[-1], timestamp())
            self._log.append(*self._undoing_in(messages, state, undo))
        return self.view()

    def _undoing_in(
        self, messages: Messages | None, state: State, undo: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """An undo with the events that bring the record up to messages, in their order."""
        if messages is None:
            return [undo]
        news, later = new_messages(state, messages), self.state()
        for event in news:
            later.replay(event)
        if later.compressions and later.compressions[-1]["n"] == undo["n"]:
            return [*news, undo]
        state.replay(undo)
        if not rewinds(news := new_messages(state, messages)):
            return [undo, *news]
        raise NothingToUndo(
            f"The last compression of {self.id} has nothing to do with these messages. Pass those "
            "it was given or left, or the name of the session alone. Nothing was changed."
        )

    def delete(self) -> None:
        """Remove the conversation and all its originals from disk; this cannot be undone."""
        self.store.delete(self.id)

    def state(self) -> State:
        """What the log says now."""
        return state_of(self._log)
