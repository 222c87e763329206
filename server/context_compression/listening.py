"""Who listens to compactions and calls to models, for example telemetry; nobody until asked.

The work encloses what it does with `heard`. A listener is called at the start, with what is done;
it returns a context manager that lasts as long as the work, and that gives the function to call
with the outcome. So it can time the work, and see it fail. If a listener fails, the work goes on.

The progress of long work is for whoever shows it. The work itself knows how much of it is done:
bytes that were read, characters that were counted, messages that were looked at. It says so with
`advance`, from deep below the function that was called. Whoever wants to know passes a callback
with `reported_to`; without one, nothing happens.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunningCompaction:
    """A compaction; the outcome is its `Result`, or the summary that the caller must write first.

    Attributes:
        reason: why it runs, as in `Event`.
        session: the `Session`; `None` for a conversation in memory.
        model: the model of the conversation, if it is known.
        beginner: the context variables of the code that began it, if it runs in another thread.
    """

    reason: str
    session: Any = None
    model: str | None = None
    beginner: Context | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request to a model for a summary; the outcome is its answer.

    Attributes:
        asked: the `Summarizer`.
        model: the id of the model, if it is known.
        max_tokens: the most tokens of the answer, if the request limits them.
    """

    asked: Any
    model: str | None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """The usage of a request that a program made itself, as its new message reports it.

    Attributes:
        usage: as the provider reported it.
        session: the `Session`.
    """

    usage: Mapping[str, Any]
    session: Any


Work: TypeAlias = RunningCompaction | ModelCall | ReportedUsage
Ending: TypeAlias = Callable[[Any], object]
"""Takes the outcome of the work."""
Listener: TypeAlias = Callable[[Work], AbstractContextManager[Ending]]
_listeners: list[Listener] = []
_NOBODY: AbstractContextManager[Ending] = nullcontext(lambda outcome: None)


def listen(listener: Listener) -> Callable[[], None]:
    """Add a listener for the whole process; returns the function that removes it."""
    _listeners.append(listener)

    def stop() -> None:
        if listener in _listeners:
            _listeners.remove(listener)

    return stop


def variables_here() -> Context | None:
    """The context variables of the caller; `None` if nobody listens."""
    return copy_context() if _listeners else None


def heard(work: Work) -> AbstractContextManager[Ending]:
    """Encloses work that listeners hear; gives the function to call with its outcome."""
    return _heard(work) if _listeners else _NOBODY


def tell_usage(session: Any, messages: Sequence[Mapping[str, Any]]) -> None:
    """Tell listeners the newest usage in new messages of a session."""
    for message in reversed(messages) if _listeners else ():
        if usage := message.get("usage"):
            with heard(ReportedUsage(usage, session)):
                return


@contextmanager
def _heard(work: Work) -> Generator[Ending]:
    with ExitStack() as stack:
        begun = [_begun(listener, work, stack) for listener in tuple(_listeners)]
        del work  # it would keep its session alive

        def end(outcome: Any) -> None:
            for ending in filter(None, begun):
                with _failing_alone():
                    ending(outcome)

        yield end


def _begun(listener: Listener, work: Work, stack: ExitStack) -> Ending | None:
    """Let a listener hear work until a stack ends; `None` if it fails at once."""
    with _failing_alone():
        own = ExitStack()
        ending = own.enter_context(listener(work))
        stack.push(partial(_ended, own.__exit__))
        return ending
    return None


def _ended(end: Callable[..., object], *error: Any) -> None:
    """Tell a listener the end of work, and the error of the work, which stays as it is."""
    with _failing_alone():
        end(*error)


@contextmanager
def _failing_alone() -> Generator[None]:
    """A listener that fails does not stop the work that it hears, which may be paid for."""
    try:
        yield
    except Exception as error:
        logger.warning("a listener failed: %s", type(error).__name__)


T = TypeVar("T")
READING, LOOKING, COUNTING = "reading", "looking at tool results", "counting"
COMPRESSING, SELECTING, ARCHIVING = "compressing", "selecting", "archiving"
COMPARING = "comparing before and after"
SUMMARIZING = "waiting for a summary"
MEASURING, CHECKING, SHOWING = "measuring", "checking", "showing the tools"
LISTING, KEEPING = "listing sessions", "keeping sessions"
STAGES = (
    READING, LOOKING, COUNTING, COMPRESSING, SUMMARIZING, SELECTING, ARCHIVING, COMPARING,
)  # fmt: skip
"""The stages of a compression, in order."""


class Watcher(Protocol):
    """Is told how far the work is."""

    def advance(self, stage: str, done: int, total: int) -> object:
        """`done` of `total` are done in a stage; called from the thread that does the work."""
        ...


_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def reported_to(watcher: Watcher) -> Generator[None]:
    """Meanwhile, the progress of this thread's work is reported."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def is_reported() -> bool:
    """Whether anybody watches, for work whose progress takes time to find out."""
    return _WATCHER.get() is not None


def advance(stage: str, done: int, total: int) -> None:
    """Report that `done` of `total` are done in a stage."""
    if watcher := _WATCHER.get():
        watcher.advance(stage, done, total)


def counted(stage: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
    """The items, each reported when it is done."""
    if total is None:
        total = len(items) if isinstance(items, Sized) else 0
    for number, item in enumerate(items):
        yield item
        advance(stage, number + 1, total)
