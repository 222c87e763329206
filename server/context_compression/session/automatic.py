"""`AutomaticConversation`: a recorded conversation, compressed whenever a request needs that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from context_compression.compression.result import Result
from context_compression.compression.run import ASK_IN_AN_EVENT_LOOP, in_event_loop
from context_compression.errors import StoreError
from context_compression.listening import tell_usage
from context_compression.session import lasting
from context_compression.session.arrivals import arrived
from context_compression.session.compressing import Compressor, Need
from context_compression.session.fitting import Fitted, Fitting
from context_compression.session.following import check_list
from context_compression.session.locks import acquired
from context_compression.session.pacing import Announcer, Event, Pace
from context_compression.session.recorded import RecordedConversation
from context_compression.session.triggers import after_refusal, answering, before_request
from context_compression.store.log import FITTING_SECONDS
from context_compression.summaries.error_texts import Error
from context_compression.summaries.summarizer import Summarizer
from context_compression.threads import in_thread, same_signature_as

if TYPE_CHECKING:
    from context_compression.session.background import Background


class AutomaticConversation(RecordedConversation):
    """A recorded conversation that is compressed before a request, or after a refused one.

    This is the part of `Session` that a loop calls.

    Attributes:
        summarizer: writes summaries; with `None`, no model is called.
    """

    summarizer: Summarizer | None
    _announce: Announcer
    _pace: Pace
    _fitting: Fitting
    _background: "Background | None" = None

    @property
    def in_memory(self) -> Mapping[str, Any]:
        """Originals that could not be written to the store, by ref, while the session lives."""
        return self._fitting.memory.originals

    def warn(self, what: str, why: str) -> None:
        """Tell once in `status().warnings`, and in the log, what is not as it should be."""
        self._fitting.memory.warn(what, why)

    @property
    def on_event(self) -> Callable[[Event], object]:
        """Called at the start and the end of every compression; an error of it is logged."""
        return self._announce.on_event

    @on_event.setter
    def on_event(self, function: Callable[[Event], object]) -> None:
        known = self.__dict__.get("_announce")
        self._announce = Announcer(function, known.no_summary if known else "")

    def record(self, *messages: Mapping[str, Any]) -> None:
        """Add messages to the conversation; they are on disk when this returns.

        Raises:
            InvalidConversation: the messages are not in a format we know; nothing was recorded.
        """
        read = self._read(messages)
        super().record(*messages)
        self._fitting.passed_on.unknown_items(read.unknown_types)
        tell_usage(self, read.raw)
        if any(message.role == "assistant" for message in read.messages):
            self._pace.answered()

    def prepare(self) -> list[dict[str, Any]]:
        """The messages for the next request, compressed first if that is due, as deep as by `fit`.

        Nothing is compressed if `auto_compress` is off. After a compression that failed or left
        little room, the view must grow before the next one.

        Raises:
            ContextCompressionError: as for `compress`.
        """
        need = self._need()
        result = self._compress_before_request(need)
        self._fitting.room.tell(result.tokens_after if result else need.tokens)
        return self.view()

    async def aprepare(self) -> list[dict[str, Any]]:
        """`prepare` for an event loop."""
        return await in_thread(self.prepare)

    def _need(self) -> Need:
        """What the next request needs, after what an earlier one gave up came back.

        Results that came in were shortened where that is right.
        """
        self.log.append(*arrived(self, self._fitting.room.state()))
        usage = self.usage()
        due, tokens = before_request(self, self._pace, usage), usage.used_tokens
        due = due and replace(due, options=self._options())
        return Need(due, tokens.upper, self._options, int(tokens))

    def _options(self) -> dict[str, Any]:
        """The options of a compression before the next request."""
        return {**answering(self), **lasting.options(self, self.state())}

    def fit(self, messages: Sequence[Any], *, system: Any = None, tools: Any = None) -> list[Any]:
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
            fitted = self.fitted(messages, system=system, tools=tools)
            return self._fitting.sent(messages, fitted)
        except Exception as error:
            return self._fitting.memory.instead(messages, error)

    @same_signature_as(fit)
    async def afit(
        self, messages: Sequence[Any], *, system: Any = None, tools: Any = None
    ) -> list[Any]:
        """`fit` for an event loop."""
        return await in_thread(partial(self.fit, messages, system=system, tools=tools))

    def fitted(
        self,
        messages: Sequence[Any],
        *,
        system: Any = None,
        tools: Any = None,
        focus: str | None = None,
    ) -> Fitted:
        """`fit` with a report, and with its errors.

        Args:
            messages: as in `fit`.
            system: as in `fit`.
            tools: as in `fit`.
            focus: as in `compress`.

        Raises:
            ContextCompressionError: the store or a compression failed.
        """
        self._beside(system, tools)
        fitting, compressor = self._fitting, self._compressor
        if self.summarizer and in_event_loop():
            compressor = replace(compressor, summarizer=None)
        with acquired(self.log.fitting, FITTING_SECONDS):
            following = fitting.requests(messages, focus)
            planned = next(following)
            if self._background:
                need = Need(planned, fitting.used, partial(fitting.options, focus))
                self._compress_before_request(need)
                return fitting.shown_again()
            if planned and compressor.summarizer is not self.summarizer:
                fitting.memory.warn("no model wrote a summary", ASK_IN_AN_EVENT_LOOP)
            while planned:
                try:
                    planned = following.send(compressor.run(planned))
                except StoreError as error:
                    planned = following.throw(error)
            return fitting.shown()

    def recover(self, error: Error) -> list[dict[str, Any]] | None:
        """The messages to retry a refused request with; `None` if a retry would not help.

        If the conversation is too long, it is compressed; this needs `auto_compress`. If its
        thinking is bound to other messages, all its thinking is removed. That frees no room, but no
        provider would accept the request otherwise, so it does not need `auto_compress`. Each is
        tried once until the model answers; both can be undone.

        Args:
            error: the error of the refused request.
        """
        try:
            planned = after_refusal(self, self._pace, error)
            if planned is None:
                return None
            result = self._compressor.run(planned)
        except StoreError as failed:
            return self._fitting.memory.recovered(error, failed)
        return self._fitting.sent_again() if result.changed else None

    async def arecover(self, error: Error) -> list[dict[str, Any]] | None:
        """`recover` for an event loop."""
        return await in_thread(partial(self.recover, error))

    def _beside(self, system: Any = None, tools: Any = None) -> None:
        """Count what goes with the next request beside the messages, where it is given."""
        if system is not None:
            self.given_system = system
        if tools is not None:
            self.tools = tools

    def _compress_before_request(self, need: Need) -> Result | None:
        """Compress if that is due; beside the agent's work if the session does that."""
        if self._background:
            self._background.run(self._compressor_of(self.summarizer), need)
        elif need.due:
            return self._compressor.run(need.due)
        return None

    @property
    def _compressor(self) -> Compressor:
        alone = self._background.alone if self._background else None
        return self._compressor_of(alone(self.summarizer) if alone else self.summarizer)

    def _compressor_of(self, summarizer: Summarizer | None) -> Compressor:
        return Compressor(self, self._pace, summarizer, self._announce)
