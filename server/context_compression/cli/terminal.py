"""What a terminal or a pipe gets: UTF-8 whatever the locale, exact bytes, a sign of life."""

import errno
import io
import os
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from itertools import cycle
from typing import Any

import click

from context_compression.display.strings import harmless
from context_compression.errors import ContextCompressionError
from context_compression.store.files import to_json

BAR = 16
"""Dots beside the moving part of the bar: how much is left to do is not known."""
PATIENCE_SECONDS = 0.5


def speak_utf8() -> None:
    """Write UTF-8 also where the locale is C; what has no UTF-8 is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def say(text: str = "") -> None:
    """Lines about the answer, to stderr."""
    click.echo(harmless(text), err=True)


def show(text: str = "", *, nl: bool = True) -> None:
    """The answer for people, or a part of it, to stdout."""
    with _answering():
        click.echo(harmless(text), nl=nl)


def is_at_terminal() -> bool:
    """Whether somebody can type what is read from stdin."""
    return not is_deaf() and sys.stdin.isatty()


def is_deaf() -> bool:
    """Whether stdin is closed (`command <&-`)."""
    return sys.stdin is None  # pyright: ignore[reportUnnecessaryComparison]  # Python's way to say so


def agreed(question: str, yes: bool, *, nobody: str = "add --yes.") -> bool:
    """Whether it shall be done: `yes`, or what is answered to a question on stderr.

    Args:
        question: what is asked.
        yes: it was agreed to on the command line.
        nobody: what to do where nobody can be asked.

    Raises:
        click.UsageError: nobody can be asked.
    """
    if yes:
        return True
    if not is_at_terminal():
        raise click.UsageError(f"Nobody can be asked here: {nobody}")
    return click.confirm(harmless(question), err=True)


def write(data: bytes) -> None:
    """Bytes to stdout, exactly these; on a terminal, what would move its cursor is spelled out."""
    with _answering():
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # closed: command >&-
            raise OSError(errno.EBADF, "stdout is closed")
        sys.stdout.flush()
        if sys.stdout.isatty():
            data = harmless(data.decode("utf-8", "replace")).encode()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def _answering() -> Generator[None]:
    """Says that an answer found no room; where nobody reads on, the pipe is just broken."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # or Python would try once more at the end; closed from the start, it is None
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = error.strerror or error
        raise ContextCompressionError(
            f"The answer cannot be written: {reason}. Make room; ask again."
        ) from error


def write_json(value: Mapping[str, Any]) -> None:
    """One JSON object to stdout, for programs."""
    write(to_json(value, indent=2) + b"\n")


@contextmanager
def working(what: str) -> Generator[None]:
    """Shows on a terminal that work goes on, once it takes longer than a moment."""
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # closed: 2>&-
        yield
        return
    done = threading.Event()

    def turn() -> None:
        if done.wait(PATIENCE_SECONDS):
            return
        for place in cycle((*range(BAR), *range(BAR, 0, -1))):
            bar = f"{'.' * place}===={'.' * (BAR - place)}"
            click.echo(f"\r[{bar}] {what} …", err=True, nl=False)
            if done.wait(0.1):
                break
        click.echo("\r\x1b[K", err=True, nl=False)

    thread = threading.Thread(target=turn, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
