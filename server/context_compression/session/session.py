"""A conversation that is compressed: when it is due, when it is refused, and when asked for."""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from context_compression.compression.request import CompressionRequest
from context_compression.compression.result import Result
from context_compression.compression.run import acompress, compress
from context_compression.compression.thinking import without_thinking
from context_compression.errors import BudgetTooSmall, StoreError
from context_compression.session.by_caller import ByCaller
from context_compression.session.pacing import POLL_SECONDS, Event, Pace, Reason
from context_compression.session.state import new_messages
from context_compression.session.status import Status, status_of
from context_compression.session.threads import check_cancelled, in_thread, same_signature_as
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.summaries.overflow import is_foreign_thinking, is_overflow
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens import Anchor, TextCounter
from context_compression.tokens.usage import Usage

Error: TypeAlias = BaseException | Mapping[str, Any] | str
LOCK_SECONDS = 30.0
"""How long a compression waits for another one of the same conversation."""


class Session(ByCaller):
    """One conversation in a store.

    Args:
        store: a `Store`, or the path of its folder.
        id: letters, digits, `.`, `_`, `-`.
        settings: a `Settings`, or some of its values.
        model: whose tokens and window count.
        system: the system prompt, where it is given beside the messages.
        tools: the tool definitions.
        counter: the caller's own way to count.
        summarizer: writes summaries; without one no model is ever asked.
        on_event: is told of the start and the end of every compression.
    """

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
        summarizer: Summarizer | None = None,
        on_event: Callable[[Event], object] = lambda event: None,
    ) -> None:
        super().__init__(
            store, id, settings=settings, model=model, system=system, tools=tools, counter=counter
        )
        self.summarizer, self.on_event = summarizer, on_event
        self._pace = Pace()

    def record(self, *messages: Mapping[str, Any]) -> None:
        """Add messages to the conversation; they are on disk when this returns.

        Raises:
            InvalidConversation: not messages in a format we know; nothing was recorded.
        """
        read = self._read(messages)
        super().record(*messages)
        if any(message.role == "assistant" for message in read.messages):
            self._pace.answered()

    def prepare(self) -> list[dict[str, Any]]:
        """The view for the next request, compressed first if that is due and `auto_compress` on.

        One that left little room, or failed, is not followed by another before the view has grown.

        Raises:
            ContextCompressionError: as `compress`.
        """
        if wanted := self._due():
            self._compressed(wanted)
        return self.view()

    async def aprepare(self) -> list[dict[str, Any]]:
        """`prepare` for an event loop."""
        if wanted := await in_thread(self._due):
            await self._acompressed(wanted)
        return await in_thread(self.view)

    def recover(self, error: Error) -> list[dict[str, Any]] | None:
        """A view to retry a refused request with; `None` when there is none.

        Where the conversation is too long: a smaller one, with `auto_compress` on. Where its
        thinking is bound to another conversation: one without any thinking. That saves no room but
        mends a request nobody would take, so it is done with `auto_compress` off, too. Either is
        tried once until the model answers; both can be undone.
        """
        wanted = self._refused(error)
        if wanted is None:
            return None
        try:
            result = self._compressed(wanted)
        except BudgetTooSmall:
            return None
        return self.view() if result.changed else None

    async def arecover(self, error: Error) -> list[dict[str, Any]] | None:
        """`recover` for an event loop."""
        wanted = await in_thread(partial(self._refused, error))
        if wanted is None:
            return None
        try:
            result = await self._acompressed(wanted)
        except BudgetTooSmall:
            return None
        return await in_thread(self.view) if result.changed else None

    def request(self, abort: Callable[[], object] | None = None) -> AbstractContextManager[None]:
        """Put this around the agent's request: no manual compression runs meanwhile.

        One that is asked for calls `abort`, where given, to cut the request short, else it waits;
        and a request waits until it is done. So take the `view` inside.
        """
        return self._pace.request(abort)

    def arequest(
        self, abort: Callable[[], object] | None = None
    ) -> AbstractAsyncContextManager[None]:
        """`request` for an event loop."""
        return self._pace.arequest(abort)

    def compress(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        target_tokens: int | None = None,
        strategy: str | None = None,
        pins: Sequence[int | str] = (),
        focus: str | None = None,
        force: bool = False,
        settings: Settings | Mapping[str, Any] | None = None,
        not_counted: int = 0,
        before_writing: Callable[[], object] = lambda: None,
    ) -> Result:
        """Compress the view; the originals are on disk before it changes.

        One compression at a time, over all processes; messages recorded meanwhile are kept. Given
        the `messages` of a conversation somebody else keeps, it first does what `follow` does, but
        writes that down together with the compression; `not_counted` are the tokens which they add
        to each request, for which a target that is not named leaves room. A `strategy`, `auto` too,
        goes before that of the settings. `before_writing` is called before anything is written;
        what it raises leaves all as it was.

        Raises:
            ContextCompressionError: as `compress`; the conversation is as it was.
        """
        options: dict[str, Any] = {
            "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
            "force": force, "settings": settings, "not_counted": not_counted,
        }  # fmt: skip
        with self._pace.compressing():
            return self._compressed(PlannedCompression("manual", options, messages, before_writing))

    @same_signature_as(compress)
    async def acompress(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        before_writing: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> Result:
        """`compress` for an event loop, which goes on meanwhile.

        Cancelled before it writes, it leaves all as it was; then, it ends what it began to write.
        """
        async with self._pace.acompressing():
            return await self._acompressed(
                PlannedCompression("manual", options, messages, before_writing)
            )

    def compress_loop(self, start: int, *, target_tokens: int | None = None) -> Result:
        """Compress what lies before a running tool loop; the loop's own steps are left alone.

        Args:
            start: index in the view of the loop's first message; negative counts from the end.
            target_tokens: for the whole view; without it as `compress`.
        """
        with self._pace.compressing():
            return self._compressed(
                PlannedCompression("manual", {"target_tokens": target_tokens}, loop=start)
            )

    @same_signature_as(compress_loop)
    async def acompress_loop(self, start: int, *, target_tokens: int | None = None) -> Result:
        """`compress_loop` for an event loop."""
        wanted = PlannedCompression("manual", {"target_tokens": target_tokens}, loop=start)
        async with self._pace.acompressing():
            return await self._acompressed(wanted)

    def status(
        self,
        messages: Sequence[Mapping[str, Any]] | None = None,
        anchor: Anchor | None = None,
    ) -> Status:
        """How the conversation stands; nothing is written.

        Args:
            messages: what is really in the context, where a host keeps the history and not we.
            anchor: what a provider really charged for a first part of them.
        """
        return status_of(self, messages, anchor)

    def _due(self) -> "PlannedCompression | None":
        """The compression that is due before the next request."""
        used = self.usage()
        worth_trying = self._pace.worth_trying(used.used_tokens)
        due = self.settings.auto_compress and used.over_threshold and worth_trying
        return PlannedCompression("threshold") if due else None

    def _refused(self, error: Error) -> "PlannedCompression | None":
        """One after a refusal: without thinking, or to well below what we count of the refused."""
        if is_foreign_thinking(error):
            return PlannedCompression("thinking") if self._pace.may_recover("thinking") else None
        overflow = self.settings.auto_compress and is_overflow(error)
        if not (overflow and self._pace.may_recover("overflow")):
            return None
        refused = self.usage().used_tokens
        target = min(self.settings.target_tokens, int(refused * self.settings.target_usage))
        return PlannedCompression("overflow", {"target_tokens": max(1, target)})

    def _compressed(self, wanted: "PlannedCompression") -> Result:
        """Compress, and tell of it."""
        with self._telling(wanted.reason, self.usage()) as told:
            if nothing := self._nothing_to_do(wanted):
                return told.done(nothing)
            with self._log.locked():
                ask = self._asked(wanted)
                if wanted.reason == "thinking":
                    return told.done(without_thinking(ask))
                return told.done(compress(ask, self.summarizer))

    async def _acompressed(self, wanted: "PlannedCompression") -> Result:
        """`_compressed` for an event loop."""

        def unless_cancelled() -> None:
            check_cancelled()
            wanted.before_writing()

        careful = replace(wanted, before_writing=unless_cancelled)
        with self._telling(wanted.reason, await in_thread(self.usage)) as told:
            if nothing := await in_thread(partial(self._nothing_to_do, wanted)):
                return told.done(nothing)
            async with self._turn():
                ask = await in_thread(partial(self._asked, careful))
                if wanted.reason == "thinking":
                    result = told.done(await in_thread(partial(without_thinking, ask)))
                else:
                    result = told.done(await acompress(ask, self.summarizer, in_thread))
            told.now = await in_thread(self.usage)
            return result

    def _nothing_to_do(self, wanted: "PlannedCompression") -> Result | None:
        """What is refused, or not due, shall not leave as much as an empty folder."""
        if self.summarizer or self.store.folder.exists():
            return None
        rehearsed = self.preview(wanted.messages, **wanted.options)
        return None if rehearsed.changed else rehearsed

    def _asked(self, wanted: "PlannedCompression") -> CompressionRequest:
        """What is asked for, in the state of now."""
        state = self.state()
        news = [] if wanted.messages is None else new_messages(state, wanted.messages, anew=True)
        for event in news:
            state.replay(event)
        options = {**wanted.options, "settings": self._settings(wanted.options.get("settings"))}
        if wanted.loop is not None:
            options["pins"] = tuple(range(len(state.view))[wanted.loop :])
        return self._kept(state, news, wanted.before_writing, state.view, **options)

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        """This session's one compression at a time, waited for without blocking the loop."""
        from anyio import sleep

        until = monotonic() + LOCK_SECONDS
        while True:
            with ExitStack() as held:
                try:
                    held.enter_context(self._log.locked(timeout=0))
                except StoreError:
                    if monotonic() > until:
                        raise
                else:
                    yield
                    return
            await sleep(POLL_SECONDS)

    @contextmanager
    def _telling(self, reason: Reason, used: Usage) -> Generator["Progress"]:
        """Tell of a compression's start and end."""
        before = int(used.used_tokens)
        told = Progress()
        self.on_event(Event("start", reason, before))
        try:
            yield told
        except BaseException as error:
            if told.result is None:
                if reason == "threshold" and isinstance(error, Exception):
                    self._pace.tried(before)
                text = str(error) or type(error).__name__
                self.on_event(Event("end", reason, before, before, aborted=True, error=text))
            raise
        finally:
            if told.result is not None:
                now = told.now or self.usage()
                if reason != "thinking" and (told.result.changed or now.over_threshold):
                    self._pace.tried(int(now.used_tokens))
                self.on_event(ended(reason, before, told.result))


@dataclass(frozen=True)
class PlannedCompression:
    """A compression that shall be made.

    Attributes:
        reason: why.
        options: those of `compress`.
        messages: the conversation, where somebody else keeps it.
        before_writing: as in `compress`.
        loop: where a running tool loop begins that is to be left alone.
    """

    reason: Reason
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    messages: Sequence[Mapping[str, Any]] | None = None
    before_writing: Callable[[], object] = lambda: None
    loop: int | None = None


@dataclass
class Progress:
    """What is known of a compression: its result once it is made, and how full the context is."""

    result: Result | None = None
    now: Usage | None = None

    def done(self, result: Result) -> Result:
        """It is made."""
        self.result = result
        return result


def ended(reason: Reason, before: int, result: Result) -> Event:
    """The event that tells of a compression's end."""
    summary = result.summary
    return Event(
        "end",
        reason,
        before,
        result.tokens_after,
        will_retry=reason in ("overflow", "thinking") and result.changed,
        first_kept=summary.first_kept if summary else None,
        cost=summary.cost if summary else None,
        usage=summary.usage if summary else None,
    )
