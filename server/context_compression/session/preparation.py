"""`Preparation`: one compression, prepared in a thread while the agent goes on.

It reads the view of its start, and writes nothing.
"""

import logging
import weakref
from collections.abc import Mapping
from dataclasses import replace
from threading import Event as Flag
from threading import Thread, current_thread
from typing import Any

from context_compression.compression.result import Result
from context_compression.compression.run import compress
from context_compression.listening import Compaction, heard, variables_here
from context_compression.session.compressing import Compressor, end_event
from context_compression.session.locks import free
from context_compression.session.pacing import Event
from context_compression.session.requests import request_beside
from context_compression.session.state import State
from context_compression.threads import OwnLoop, working_for

logger = logging.getLogger(__name__)
ENDING_SECONDS = 5.0
"""How many seconds to wait at most for the end of a preparation that was cancelled."""


class Preparation:
    """One compression that is prepared; it keeps nothing of its session alive.

    Attributes:
        covered: the messages that it compresses: the view at its start.
        result: the prepared compression, until it is written or cancelled.
        problem: why it has no summary, or no result; `None` if all went well.
        is_elsewhere: whether it did not begin, because the conversation is being compressed by
            another session, or beside one.
    """

    def __init__(
        self, compressor: Compressor, state: State, options: Mapping[str, Any], tokens: int
    ) -> None:
        """Prepare nothing yet.

        Args:
            compressor: of the conversation.
            state: of its log.
            options: those of `Session.compress`.
            tokens: in use.
        """
        conversation = compressor.conversation
        self.covered = state.view
        self.result: Result | None = None
        self.problem: str | None = None
        self.is_elsewhere = False
        self._conversation = weakref.ref(conversation)
        self._model, self._beginner = conversation.model, variables_here()
        self._log, self._summarizer = conversation.log, compressor.summarizer
        self._request = request_beside(conversation, state, **options)
        self._on_event = compressor.on_event
        self._started = Event("start", "background", tokens, session=conversation.id)
        self._ended, self._is_cancelled = Flag(), False
        self._loop = OwnLoop()
        self._thread = Thread(target=self._run_in_thread, name="context-compression", daemon=True)

    @property
    def is_awaited(self) -> bool:
        """Whether it has a result, or may still have one."""
        return self.result is not None or (self.is_running and not self._is_cancelled)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not self._ended.is_set()

    def fits(self, state: State) -> bool:
        """Whether the view still begins with the messages that it covers."""
        return state.view[: len(self.covered)] == self.covered

    def start(self) -> None:
        """Run it in a thread that the interpreter does not wait for at its exit."""
        self._thread.start()

    def cancel(self) -> None:
        """Cancel it and throw its result away, without waiting; may be called from any thread."""
        self._is_cancelled, self.result = True, None
        self._loop.cancel()

    def wait(self) -> None:
        """Wait for the end after a cancellation, but not in the thread that must bring it about."""
        if self._thread is not current_thread():
            self._ended.wait(ENDING_SECONDS)

    def _run_in_thread(self) -> None:
        try:
            with self._loop, working_for(self._loop):
                self._run()
        except BaseException as error:  # of the store, or of a task of the summarizer
            if not self._is_cancelled:
                self._fail(error)
        finally:
            self._ended.set()

    def _run(self) -> None:
        with free(self._log.preparing) as alone:
            with free(self._log.locked) as free_to_compress:
                self.is_elsewhere = not (alone and free_to_compress)
            if self.is_elsewhere or self._is_cancelled:
                return
            end = self._prepare()
        self._ended.set()
        self._on_event(end)

    def _prepare(self) -> Event:
        """Compress; the event of the end."""
        tokens = self._started.tokens_before
        aborted = replace(self._started, kind="end", tokens_after=tokens, aborted=True)
        self._on_event(self._started)
        try:
            with heard(self._compaction()) as end:
                result = compress(self._request, self._summarizer)
                end(result)
        except BaseException as error:
            if self._is_cancelled and not isinstance(error, Exception):
                self._on_event(replace(aborted, error="cancelled"))
                raise
            return replace(aborted, error=self._fail(error))
        self.problem = result.no_summary or None
        if result.changed and not self._is_cancelled:
            self.result = result
        return replace(end_event(self._started, result), first_kept=None)  # not recorded yet

    def _compaction(self) -> Compaction:
        """What listeners hear of; nobody keeps it, because it would keep the session alive."""
        return Compaction("background", self._conversation(), self._model, self._beginner)

    def _fail(self, error: BaseException) -> str:
        """Note an error, which the log tells now, and `status` until the next preparation."""
        said = str(error) if isinstance(error, Exception) else repr(error)
        self.problem = said or type(error).__name__
        logger.warning("session %s, in the background: %s", self._started.session, self.problem)
        return self.problem
