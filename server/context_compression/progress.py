"""The progress of long work, for whoever shows it.

The work itself knows how much of it is done: bytes that were read, characters that were counted,
messages that were looked at. It says so with `advance`, from deep below the function that was
called. Whoever wants to know passes a callback with `reported_to`; without one, nothing happens.
"""

from collections.abc import Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")
READING, LOOKING, COUNTING = "reading", "looking at tool results", "counting"
COMPRESSING, SELECTING, ARCHIVING = "compressing", "selecting", "archiving"
COMPARING = "comparing before and after"
SUMMARIZING = "waiting for a summary"
MEASURING, CHECKING, SHOWING = "measuring", "checking", "showing the tools"
LISTING = "listing sessions"
STAGES = (
    READING, LOOKING, COUNTING, COMPRESSING, SUMMARIZING, SELECTING, ARCHIVING, COMPARING,
)  # fmt: skip
"""The stages of a compression, in order."""


class Listener(Protocol):
    """Is told how far the work is."""

    def advance(self, stage: str, done: int, total: int) -> object:
        """`done` of `total` are done in a stage; called from the thread that does the work."""
        ...


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def reported_to(listener: Listener) -> Generator[None]:
    """Meanwhile, the progress of this thread's work is reported."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def is_reported() -> bool:
    """Whether anybody listens, for work whose progress takes time to find out."""
    return _LISTENER.get() is not None


def advance(stage: str, done: int, total: int) -> None:
    """Report that `done` of `total` are done in a stage."""
    if listener := _LISTENER.get():
        listener.advance(stage, done, total)


def counted(stage: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
    """The items, each reported when it is done."""
    if total is None:
        total = len(items) if isinstance(items, Sized) else 0
    for number, item in enumerate(items):
        yield item
        advance(stage, number + 1, total)
