"""`Preparation`: one compression, prepared in a thread or in a task while the agent goes on.

It reads the view of its start, and writes nothing.
"""

import asyncio
import logging
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Event as Flag
from threading import Thread
from typing import Any

from context_compression.compression.result import Result
from context_compression.compression.run import Executor, acompress, at_once
from context_compression.listening import Compaction, heard, variables_here
from context_compression.session.compressing import Compressor, end_event
from context_compression.session.locks import free
from context_compression.session.pacing import Event
from context_compression.session.requests import request_beside
from context_compression.session.state import State
from context_compression.threads import in_thread

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
        self._is_guest, self._is_interrupted = False, False  # in an event loop of the caller
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether it has a result, or may still have one."""
        return self.result is not None or (self.is_running and not self._is_cancelled)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended. It ends with its event loop at the latest."""
        return not self._ended.is_set() and not self._is_in_closed_loop

    @property
    def is_orphaned(self) -> bool:
        """Whether its caller's event loop ended before it did."""
        left = self._is_guest and self._is_in_closed_loop and not self._ended.is_set()
        return self._is_interrupted or left

    @property
    def _is_in_closed_loop(self) -> bool:
        return self._loop is not None and self._loop.is_closed()

    def fits(self, state: State) -> bool:
        """Whether the view still begins with the messages that it covers."""
        return state.view[: len(self.covered)] == self.covered

    def in_thread(self) -> None:
        """Run it in a thread that the interpreter does not wait for at its exit."""
        Thread(target=self._run_in_thread, name="context-compression", daemon=True).start()

    def in_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run it in a task of an event loop; may be called from any thread."""
        self._loop, self._is_guest = loop, True
        loop.call_soon_threadsafe(self._create_task, loop)

    def cancel(self) -> None:
        """Cancel it and throw its result away, without waiting; may be called from any thread."""
        self._is_cancelled, self.result = True, None
        if self._loop and self._task:
            with suppress(RuntimeError):  # its loop is closed
                self._loop.call_soon_threadsafe(self._task.cancel)

    def wait(self) -> None:
        """Wait for the end after a cancellation, but not in the thread that must bring it about."""
        if self.is_running and (self._loop is None or self._loop is not running_loop()):
            self._ended.wait(ENDING_SECONDS)

    def _run_in_thread(self) -> None:
        try:
            asyncio.run(self._run(at_once))
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # of a task of the summarizer
            self._fail(error)
        finally:
            self._ended.set()

    def _create_task(self, loop: asyncio.AbstractEventLoop) -> None:
        self._task = loop.create_task(self._run(in_thread))
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._is_interrupted = task.cancelled()
        self._ended.set()

    async def _run(self, execute: Executor) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            with free(self._log.preparing) as alone:
                with free(self._log.locked) as free_to_compress:
                    self.is_elsewhere = not (alone and free_to_compress)
                if self.is_elsewhere or self._is_cancelled:
                    return
                end = await self._prepare(execute)
            self._ended.set()
            self._on_event(end)
        except asyncio.CancelledError:
            if not self._is_cancelled:  # the event loop ends
                raise
        except Exception as error:  # of the store
            self._fail(error)

    async def _prepare(self, execute: Executor) -> Event:
        """Compress; the event of the end."""
        tokens = self._started.tokens_before
        aborted = replace(self._started, kind="end", tokens_after=tokens, aborted=True)
        self._on_event(self._started)
        try:
            with heard(self._compaction()) as end:
                result = await acompress(self._request, self._summarizer, execute)
                end(result)
        except asyncio.CancelledError:
            self._on_event(replace(aborted, error="cancelled"))
            raise
        except Exception as error:
            return replace(aborted, error=self._fail(error))
        except BaseException as error:
            self._on_event(replace(aborted, error=self._fail(error)))
            raise
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


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of asyncio that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
