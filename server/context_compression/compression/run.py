"""The library in one function, in both colours: drives a `job` and asks a model on its behalf.

ask         what is asked for
job         what to come down to, strategies until it fits
subject     the conversation: read, mended, counted
outcome     what came of it
accounting  what became of each message
thinking    a compression that drops the model's thinking and nothing else
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from context_compression.compression.request import SMALLEST_TARGET, CompressionRequest, Keeper
from context_compression.compression.result import Result
from context_compression.compression.steps import ALL_RECENT, Run, start
from context_compression.compression.thinking import without_thinking
from context_compression.errors import InvalidSettings, SummaryError
from context_compression.summaries.overflow import is_overflow
from context_compression.summaries.summarizer import Summarizer, SummaryReply, SummaryRequest

__all__ = [
    "ALL_RECENT",
    "SMALLEST_TARGET",
    "CompressionRequest",
    "Keeper",
    "acompress",
    "compress",
    "start",
    "without_thinking",
]

Found: TypeAlias = SummaryRequest | Result
Aside: TypeAlias = Callable[[Callable[[], Found]], Awaitable[Found]]
"""Does a piece of work where it holds nobody up: in a thread, beside an event loop."""


def compress(ask: CompressionRequest, summarizer: Summarizer | None = None) -> Result:
    """What is asked for; the errors are those of `library.compress`."""
    run = start(replace(ask, can_ask=summarizer is not None))
    if summarizer is None:
        found = advanced(run)
        assert isinstance(found, Result), "a run without a summarizer asked for a summary"
        return found
    import asyncio  # brings sockets along, and only a model needs them

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(drive(run, summarizer))
    raise InvalidSettings("In an event loop a model is asked through acompress, not compress.")


async def acompress(ask: CompressionRequest, summarizer: Summarizer | None, aside: Aside) -> Result:
    """`compress` for an event loop, which goes on while `aside` works."""
    run = start(replace(ask, can_ask=summarizer is not None))
    return await drive(run, summarizer, aside)


async def _at_once(work: Callable[[], Found]) -> Found:
    return work()


async def drive(run: Run, summarizer: Summarizer | None, aside: Aside = _at_once) -> Result:
    """The result of a run, its requests answered by `summarizer`; cancelling it stops it."""
    found = await aside(partial(advanced, run))
    while not isinstance(found, Result):
        assert summarizer, "a run without a summarizer asked for a summary"
        found = await aside(partial(advanced, run, await _answer(summarizer, found)))
    return found


async def _answer(summarizer: Summarizer, request: SummaryRequest) -> SummaryReply | SummaryError:
    try:
        reply: Any = await summarizer.summarize(request)
    except SummaryError as error:
        return error
    except Exception as error:  # anybody's own summarizer may fail in its own way
        return SummaryError(f"{type(error).__name__}: {error}", too_long=is_overflow(error))
    if isinstance(reply, SummaryReply):
        return reply
    if isinstance(reply, str):
        return SummaryReply(reply)
    return SummaryError(f"The summarizer answered with {type(reply).__name__}, not a SummaryReply.")


def advanced(run: Run, answer: SummaryReply | SummaryError | None = None) -> Found:
    """A run's next request, or its result; `answer` is to the request before."""
    try:
        match answer:
            case None:
                return next(run)
            case SummaryReply():
                return run.send(answer)
            case SummaryError():
                return run.throw(answer)
    except StopIteration as done:
        return done.value
