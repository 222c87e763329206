"""`compress`, which drives the steps of one compression to its `Result`.

The steps (`steps.py`) are a generator. It yields a `SummaryRequest` when it needs a summary, and
receives the text. Only this module calls a model: in the event loop of the caller if it works in a
thread for one, else in its own.
"""

from dataclasses import replace
from functools import partial
from threading import current_thread, main_thread
from typing import Any, TypeAlias

from context_compression import progress
from context_compression.compression.outcome import Outcome, applied, changed
from context_compression.compression.prepared import CompressionRequest, PreparedConversation
from context_compression.compression.result import Result, StrategyStep
from context_compression.compression.steps import Steps, start
from context_compression.errors import InvalidSettings, SummaryError
from context_compression.listening import ModelCall, heard
from context_compression.planning.edits import Edit, View
from context_compression.strategies.keep import THINKING, dropping_thinking
from context_compression.summaries.errors import is_overflow, window_named
from context_compression.summaries.summarizer import (
    Summarizer,
    SummaryReply,
    SummaryRequest,
    asked,
    failure_of,
    reply_of,
)
from context_compression.threads import whom_to_ask
from context_compression.tokens.usage import for_model

ASK_IN_AN_EVENT_LOOP = (
    "In an event loop a model is asked through acompress, aprepare and afit, not through "
    "compress, prepare and fit."
)
RequestOrResult: TypeAlias = SummaryRequest | Result
"""The output of the steps: a request for a summary that they need, or their result."""


def compress(request: CompressionRequest, summarizer: Summarizer | None = None) -> Result:
    """The result of one compression, in memory.

    Raises:
        InvalidSettings: a `summarizer` is given, and an event loop runs in this thread.
        ContextCompressionError: see `library.compress`.
    """
    steps = start(replace(request, has_summarizer=summarizer is not None))
    if summarizer and in_event_loop():
        raise InvalidSettings(ASK_IN_AN_EVENT_LOOP)
    with whom_to_ask() as caller:
        state, calls = advance(steps), 0
        while not isinstance(state, Result):
            assert summarizer, "no step may need a summary without a summarizer"
            progress.advance(progress.SUMMARIZING, calls, calls + 1)
            answer, calls = caller.ask(partial(_answer, summarizer, state)), calls + 1
            state = advance(steps, answer)
    return state


def in_event_loop() -> bool:
    """Whether an event loop runs in this thread, so that a plain function cannot ask a model."""
    import asyncio  # it imports sockets, which only a model needs

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def advance(steps: Steps, answer: SummaryReply | SummaryError | None = None) -> RequestOrResult:
    """Run the steps up to their next request, or to their result.

    Args:
        steps: the generator that `start` returned.
        answer: the answer to the last request; `None` at the start.
    """
    try:
        match answer:
            case None:
                return next(steps)
            case SummaryReply():
                return steps.send(answer)
            case SummaryError():
                return steps.throw(answer)
    except StopIteration as done:
        return done.value


async def _answer(summarizer: Summarizer, request: SummaryRequest) -> SummaryReply | SummaryError:
    model = getattr(summarizer, "model", None) or request.model
    try:
        with heard(ModelCall(summarizer, model, request.max_tokens)) as end:
            reply = reply_of(await _in_time(summarizer, request))
            end(reply)
            return reply
    except SummaryError as error:
        return _with_window(error)
    except (
        Exception,
        KeyboardInterrupt,
        SystemExit,
    ) as error:  # a caller's own may fail as it likes
        if not isinstance(error, Exception) and current_thread() is main_thread():
            raise  # it may be a signal
        return _with_window(failure_of(error), error)


async def _in_time(summarizer: Summarizer, request: SummaryRequest) -> Any:
    """The answer, if the settings say how long it may take in this time."""
    if request.seconds is None:
        return await asked(summarizer, request)
    from context_compression.summaries.attempts import InTime  # it imports an event loop

    return await InTime(summarizer).summarize(request)


def _with_window(failed: SummaryError, error: BaseException | None = None) -> SummaryError:
    """The error of a summarizer, which says whether the request was too long, and for what window.

    A summarizer of the caller's may say that in its provider's words alone.
    """
    failed.too_long = failed.too_long or is_overflow(error or failed)
    if failed.too_long and not failed.window:
        failed.window, failed.used = window_named(error or failed) or (0, 0)
    return failed


NAME = "archive"


def with_all_dropped(request: CompressionRequest) -> Result:
    """A result without any message; the store of the request keeps all of them.

    Pins and the newest messages are no exception: a host that shortens its history spares nothing.

    Raises:
        StoreError: the store could not keep the originals.
    """
    settings = for_model(request.settings, request.model)
    prepared = PreparedConversation(request, settings, NAME)
    edit = Edit(0, len(prepared.planned.messages), (), "its host may drop it")
    outcome = Outcome((edit,), NAME, ())
    result = changed(prepared, outcome, View((), (), (edit,)), prepared.fixed_tokens)
    if request.store:
        request.store.keep(prepared.conversation.raw, result)
    return result


def without_thinking(request: CompressionRequest) -> Result:
    """The conversation without any thinking, whatever its size and the strategy of the request.

    Raises:
        ContextCompressionError: see `library.compress`.
    """
    settings = for_model(request.settings, request.model)
    prepared = PreparedConversation(request, settings, THINKING)
    edits = dropping_thinking(prepared.plan)
    step = StrategyStep(THINKING, prepared.fixed_tokens + prepared.view(edits)[1])
    return applied(prepared, Outcome(edits, THINKING, (step,)))
