"""`Session`: one conversation on disk that is compressed when its context is too full."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from context_compression.compression.result import Result
from context_compression.errors import StoreUnreachable, StoreUnwritable
from context_compression.session.automatic import AutomaticConversation
from context_compression.session.by_caller import (
    SummaryAssignment,
    assign_summary,
    planned_view,
    take_summary,
)
from context_compression.session.compressing import PlannedCompression
from context_compression.session.fitting import Fitting
from context_compression.session.pacing import Event, Pace
from context_compression.session.requests import due, preview
from context_compression.session.status import Status, status_of
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.strategies.base import Strategy
from context_compression.summaries.choice import BY_SETTINGS, Writer, summarizer_for
from context_compression.threads import in_thread, same_signature_as
from context_compression.tokens import Anchor, TextCounter


class Session(AutomaticConversation):
    """One conversation in a store, compressed when its context is too full.

        session = Session(".compression", "build", model="claude-sonnet-4-5")
        session.record({"role": "user", "content": "Why is the build red?"})
        messages = session.prepare()              # the view for the next request
        answer = client.messages.create(messages=messages, …)
        session.record({"role": "assistant", "content": answer.content})

    The async version of a method has an `a` before its name: `aprepare` for `prepare`.

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
        summarizer: Writer = BY_SETTINGS,
        on_event: Callable[[Event], object] = lambda event: None,
        background: bool = False,
    ) -> None:
        super().__init__(
            store, id, settings=settings, model=model, system=system, tools=tools, counter=counter
        )
        self.summarizer = summarizer_for(summarizer, self.settings)
        self.on_event = on_event
        self._pace = Pace()
        self._fitting = Fitting(self, self._pace)
        if background:
            from context_compression.session.background import Background  # it imports sockets

            self._background = Background()

    def __repr__(self) -> str:
        return f"<Session {self.id} in {self.store.name}>"

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

    def close(self) -> None:
        """Cancel what is prepared in the background; without `background` there is nothing to do.

        A compression that is ready but not due yet is thrown away. The session can still be used;
        its compressions then run before a request, as without `background`.
        """
        background, self._background = self._background, None
        if background:
            background.close()

    @same_signature_as(close)
    async def aclose(self) -> None:
        """`close` for an event loop."""
        await in_thread(self.close)

    def request(self, abort: Callable[[], object] | None = None) -> AbstractContextManager[None]:
        """Enclose the agent's request, so that no manual compression runs during it.

            with session.request():
                answer = client.messages.create(messages=session.view(), …)

        The request waits for a running compression, so take the `view` inside. A manual compression
        waits for the request, or cuts it short.

        Args:
            abort: called to cut the request short; without it, a compression waits.
        """
        return self._pace.request(abort)

    def preview(
        self, messages: Sequence[Mapping[str, Any]] | None = None, **options: Any
    ) -> Result:
        """The result that `compress` would have; nothing is written.

        Args:
            messages: the messages to compress instead of the view.
            options: those of `compress`, and a `summarizer`.
        """
        return preview(self, messages, **options)

    def compress(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        target_tokens: int | None = None,
        strategy: str | Strategy | None = None,
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

        Raises:
            ContextCompressionError: as for `context_compression.compress`; the conversation is
                unchanged.
        """
        options: dict[str, Any] = {
            "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
            "force": force, "settings": settings, "must_answer": must_answer,
        }  # fmt: skip
        with self._pace.compressing():
            return self._compressor.run(PlannedCompression("manual", options, messages))

    @same_signature_as(compress)
    async def acompress(
        self, *, messages: Sequence[Mapping[str, Any]] | None = None, **options: Any
    ) -> Result:
        """`compress` for an event loop, which continues meanwhile.

        A compression that is cancelled before it writes changes nothing. If it is already writing,
        it finishes first.
        """
        return await in_thread(partial(self.compress, messages=messages, **options))

    def compress_loop(self, start: int, *, target_tokens: int | None = None) -> Result:
        """Compress the messages before a running tool loop; the loop's messages are unchanged.

        Args:
            start: index in the view of the loop's first message; negative counts from the end.
            target_tokens: for the complete view; the default is that of `compress`.

        Raises:
            ContextCompressionError: as for `compress`.
        """
        options = {"target_tokens": target_tokens}
        with self._pace.compressing():
            return self._compressor.run(PlannedCompression("manual", options, loop=start))

    @same_signature_as(compress_loop)
    async def acompress_loop(self, start: int, *, target_tokens: int | None = None) -> Result:
        """`compress_loop` for an event loop."""
        return await in_thread(partial(self.compress_loop, start, target_tokens=target_tokens))

    def ask(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        **options: Any,
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

    def planned(self, plan_id: str) -> list[dict[str, Any]]:
        """The messages that a plan covers: the view without the compressions that it replaces."""
        return planned_view(self, plan_id)

    def status(
        self,
        messages: Sequence[Mapping[str, Any]] | None = None,
        anchor: Anchor | None = None,
    ) -> Status:
        """How full the context is, and what compressions saved so far; nothing is written.

        While the store cannot be used, it is the status of the last request alone, and warns.

        Args:
            messages: the actual content of the context, if a host keeps the history.
            anchor: what a provider charged for a first part of these messages.
        """
        unreachable: list[str] = []
        try:
            status = status_of(self, messages, anchor)
        except (StoreUnreachable, StoreUnwritable) as error:
            status, unreachable = self._fitting.memory.status(messages, anchor), [str(error)]
        background = self._background.warnings if self._background else []
        warnings = [*unreachable, *status.warnings, *self._fitting.warnings, *background]
        no_summary = self._announce.no_summary
        if no_summary and not any(no_summary in warning for warning in warnings):
            warnings.append(no_summary)
        return replace(status, warnings=warnings)

    def is_due(self, messages: Sequence[Mapping[str, Any]] | None = None) -> bool:
        """Whether a compression is due before the next request.

        It is due over the threshold, and with the strategy `window` also if there are too many
        turns. With `auto_compress` off it never is.

        Args:
            messages: the content of the request, if a host keeps the history; else the view.
        """
        return due(self, self.usage(messages), messages).now
