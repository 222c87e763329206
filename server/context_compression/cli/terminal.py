"""Output to a terminal or a pipe: UTF-8 in any locale, exact bytes, questions."""

import errno
import io
import os
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TextIO

import click

from context_compression.cli.console import has_screen, print_page
from context_compression.cli.meter import above_the_bar
from context_compression.cli.meter import working as working
from context_compression.cli.page import Block, Page, as_text
from context_compression.display.strings import harmless
from context_compression.errors import ContextCompressionError

REARRANGING = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that a terminal obeys or does not show, and that JSON does not escape by itself."""


def speak_utf8() -> None:
    """Makes both streams write UTF-8 in any locale; lone surrogates are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def say(*page: Block) -> None:
    """Prints lines about the answer to stderr."""
    above_the_bar(lambda: _print(page, sys.stderr))


def show(*page: Block) -> None:
    """Prints the answer for people, or a part of it, to stdout."""
    with _write_errors_explained():
        above_the_bar(lambda: _print(page, sys.stdout))


def _print(page: Page, stream: TextIO) -> None:
    if has_screen(stream):
        print_page(page, stream)
    else:
        click.echo(as_text(page), err=stream is sys.stderr)


def is_at_terminal() -> bool:
    """Whether stdin is a terminal, so that the user can type an answer."""
    return not stdin_is_closed() and sys.stdin.isatty()


def stdin_is_closed() -> bool:
    """Whether the command was started without stdin (`command <&-`)."""
    return sys.stdin is None  # pyright: ignore[reportUnnecessaryComparison]  # None if the process has none


def confirmed(question: str, yes: bool, *, otherwise: str = "Add --yes.") -> bool:
    """Whether the user agrees: on the command line, or in answer to a question on stderr.

    Args:
        question: the question.
        yes: whether the user agreed on the command line.
        otherwise: what to do instead, in the error if stdin is not a terminal.

    Raises:
        click.UsageError: stdin is not a terminal, so the user cannot answer.
    """
    if yes:
        return True
    if not is_at_terminal():
        raise click.UsageError(
            f"This needs a confirmation, and stdin is not a terminal. {otherwise}"
        )
    return click.confirm(harmless(question), err=True)


@contextmanager
def alone_on_stdout() -> Generator[BinaryIO]:
    """Stdout for a protocol; meanwhile, whatever else is printed goes to stderr."""
    sys.stdout.flush()
    with open(os.dup(1), "wb") as stdout:
        os.dup2(2, 1)
        try:
            yield stdout
        finally:
            sys.stdout.flush()
            os.dup2(stdout.fileno(), 1)


def write(data: bytes) -> None:
    """Writes exactly these bytes to stdout; on a terminal, control characters are escaped."""
    with _write_errors_explained():
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # closed: command >&-
            raise OSError(errno.EBADF, "stdout is closed")
        sys.stdout.flush()
        if sys.stdout.isatty():
            data = harmless(data.decode("utf-8", "replace")).encode()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def _write_errors_explained() -> Generator[None]:
    """Explains why an answer cannot be written; a broken pipe just ends the command."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # or Python tries again at exit; sys.stdout is None if it was closed from the start
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = error.strerror or error
        raise ContextCompressionError(
            f"The answer cannot be written: {reason}. Free some space or choose another "
            "destination, and run the command again."
        ) from error


def write_json(value: Mapping[str, Any]) -> None:
    """Writes one JSON object to stdout, for programs; what would rearrange a line is escaped."""
    from context_compression.store.files import to_json

    text = to_json(value, indent=2).decode()
    shown = REARRANGING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    write(shown.encode() + b"\n")
