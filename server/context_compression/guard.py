"""Turns an unexpected error into a message with the path, instead of a traceback.

Errors raised on purpose already say what to do. For all other errors, the message is made here.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from context_compression.errors import ContextCompressionError, Unforeseen

SAFE = "What is archived stays as it is."
REPORT = (
    f"{SAFE} `context-compression doctor` looks at the installation and the store; if it finds "
    "nothing wrong, it is a fault of context-compression: report these words, with what you asked."
)


@contextmanager
def in_our_words(*passing: type[Exception]) -> Generator[None]:
    """Raises `Unforeseen` instead of any error that was not raised on purpose.

    Args:
        passing: exceptions that the caller itself uses; they are raised unchanged.
    """
    try:
        yield
    except (ContextCompressionError, *passing):
        raise
    except Exception as error:
        if isinstance(inner := _first(error), ContextCompressionError):
            raise inner from error
        raise Unforeseen(words_for(inner)) from error


def words_for(error: BaseException) -> str:
    """What happened, where, and what to do, in one or two sentences."""
    what = " ".join(str(error).split())
    if isinstance(error, OSError):
        paths = " and ".join(map(_shown, (p for p in (error.filename, error.filename2) if p)))
        why = error.strerror or what or type(error).__name__
        where = f"{paths}: {why}" if paths else f"The system refused: {why}"
        return f"{where}. Correct the path, its permissions or the disk; ask again. {SAFE}"
    if isinstance(error, ValueError) and "embedded null" in what:
        return f"A path or a name holds a NUL character, and no file has it. Leave it out. {SAFE}"
    name = type(error).__name__
    described = f"{name}: {what}" if what else name
    return f"Something went wrong that nobody foresaw: {described}{_place(error)}. {REPORT}"


def _first(error: BaseException) -> BaseException:
    """The first of the errors in a group that several tasks raised at the same time."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _shown(path: Any) -> str:
    name = os.fsdecode(path) if isinstance(path, bytes | str) else str(path)
    return name if name.isprintable() else repr(name)


def _place(error: BaseException) -> str:
    """The place in our program: ` (state.py, line 93)`."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = (frame for frame in reversed(frames) if "context_compression" in frame.filename)
    if (frame := next(own, None)) is None:
        return ""
    return f" ({os.path.basename(frame.filename)}, line {frame.lineno})"
