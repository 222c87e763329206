"""Output to a terminal or a pipe: styles, exact bytes, questions, and the bar of a long work.

`rich` is imported only when something is printed on a terminal. FORCE_COLOR asks for the output of
a terminal in a pipe; NO_COLOR and TERM=dumb are respected.

The bar shows how much of a long work is done. It stands on stderr, only on a terminal, and only for
work that takes longer than `QUIET_SECONDS`. Whatever else is printed
meanwhile goes above it.
"""

import errno
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import click

from context_compression.cli.page import Block, Page, Style, as_text, laid_out
from context_compression.errors import ContextCompressionError
from context_compression.listening import (
    ARCHIVING,
    COMPARING,
    COMPRESSING,
    COUNTING,
    LOOKING,
    READING,
    SELECTING,
    SUMMARIZING,
    reported_to,
)
from context_compression.strings import cells, harmless, without_middle

if TYPE_CHECKING:
    from rich.console import Console


STYLES: Mapping[Style, str] = {
    "": "",
    "strong": "bold",
    "quiet": "dim",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
    "command": "cyan",
}
DEFAULT_SIZE = os.terminal_size((80, 24))
NARROWEST, LOWEST = 20, 8


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads this stream on a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def has_screen(stream: TextIO | None) -> bool:
    """Whether pages on this stream get the layout and styles of a terminal."""
    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    return stream is not None and (forced or is_terminal(stream))


def is_coloured(stream: TextIO) -> bool:
    """Whether this stream gets colours: NO_COLOR comes before FORCE_COLOR."""
    return has_screen(stream) and can_move() and not os.environ.get("NO_COLOR")


def can_move() -> bool:
    """Whether the cursor of the terminal can be moved."""
    return os.environ.get("TERM", "") not in ("dumb", "unknown")


def size(stream: TextIO) -> os.terminal_size:
    """The columns and lines of a terminal; COLUMNS and LINES of the environment go first."""
    columns, lines = (_number(os.environ.get(name)) for name in ("COLUMNS", "LINES"))
    try:
        real = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        real = os.terminal_size((0, 0))
    return os.terminal_size(
        (
            max(NARROWEST, columns or real.columns or DEFAULT_SIZE.columns),
            max(LOWEST, lines or real.lines or DEFAULT_SIZE.lines),
        )
    )


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 6 else 0


def console_of(stream: TextIO) -> "Console":
    """The console of `rich` on a stream; nothing in a text is taken for markup."""
    from rich.console import Console

    return Console(
        file=stream, width=size(stream).columns, markup=False, emoji=False, highlight=False
    )


def print_page(page: Page, stream: TextIO) -> None:
    """Prints a page on a terminal, as wide as that is."""
    from rich.text import Text

    columns, lines = size(stream)
    console = console_of(stream)
    for spans in laid_out(page, columns, lines):
        text = Text.assemble(*((part, STYLES[style]) for part, style in spans))
        console.print(text, soft_wrap=True)


QUIET_SECONDS = 0.5
REDRAWN = 0.1  # seconds
BAR = 24
SHARES = {
    READING: 5, LOOKING: 20, COUNTING: 10, COMPRESSING: 10, SUMMARIZING: 60, SELECTING: 35,
    ARCHIVING: 10, COMPARING: 10,
}  # fmt: skip
"""How long the stages take, relative to each other: measured with a conversation of 20 MB."""
OTHER_SHARE = 20


class Meter:
    """How much is done of work in known stages; it never goes back.

    Attributes:
        what: the work in a word or two, shown until a stage reports.
        percent: from 0 to 100; `None` until a stage reports.
    """

    def __init__(self, what: str, *stages: str) -> None:
        self.what, self.percent = what, None
        self._shares = {stage: SHARES.get(stage, OTHER_SHARE) for stage in stages}
        self._left_out = {SUMMARIZING} & {*stages}  # until one is asked for

    what: str
    percent: float | None

    def advance(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` are done in a stage, and all of the stages before it."""
        if stage not in self._shares or total <= 0:
            return
        self._left_out.discard(stage)
        names = [name for name in self._shares if name not in self._left_out]
        before = sum(self._shares[name] for name in names[: names.index(stage)])
        reached = before + self._shares[stage] * min(1, done / total)
        share = reached / sum(self._shares[name] for name in names)
        if self.percent is None or 100 * share >= self.percent:
            self.what, self.percent = stage, 100 * share

    def line(self, width: int) -> str:
        """`[██████··················]  25 % counting …`, of less than `width` cells."""
        words = f"{self.what} …"
        if self.percent is None:
            return without_middle(words, width - 1)
        number = f"{int(self.percent):>3} % "
        bar = min(BAR, width - 4 - cells(number) - cells(words))
        if bar < 4:
            return without_middle(f"{number.lstrip()}{words}", width - 1)
        filled = int(bar * self.percent / 100)
        return f"[{'█' * filled}{'·' * (bar - filled)}] {number}{words}"


class _Screen:
    """The line of the meter on stderr; one thread draws it, others print above it."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._shown = meter, False
        self._lock, self._done = threading.RLock(), threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def above(self, print_it: Callable[[], object]) -> None:
        """Prints something in place of the line, which is drawn again below it."""
        with self._lock:
            self._clear()
            print_it()

    def _draw(self) -> None:
        if self._done.wait(QUIET_SECONDS):
            return
        while True:
            with self._lock:
                line = self._meter.line(size(sys.stderr).columns)
                sys.stderr.write(f"\r{line}\x1b[K")
                sys.stderr.flush()
                self._shown = True
            if self._done.wait(REDRAWN):
                break
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


_SCREENS: list[_Screen] = []


def above_the_bar(print_it: Callable[[], object]) -> None:
    """Prints something while a bar may stand on the terminal."""
    if _SCREENS:
        _SCREENS[-1].above(print_it)
    else:
        print_it()


@contextmanager
def working(what: str, *stages: str) -> Generator[None]:
    """Shows on a terminal how much of some work is done, if it takes long.

    Args:
        what: the work in a word or two.
        stages: the stages of `context_compression.listening` that the work reports, in order;
            default: reading and counting. Other stages are ignored.
    """
    if _SCREENS or is_quiet() or not (is_terminal(sys.stderr) and can_move()):
        yield  # within other work, whose bar goes on
        return
    meter = Meter(what, *(stages or (READING, COUNTING)))
    screen = _Screen(meter)
    _SCREENS.append(screen)
    screen.start()
    try:
        with reported_to(meter):
            yield
    finally:
        screen.stop()
        _SCREENS.remove(screen)


REARRANGING = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that a terminal obeys or does not show, and that JSON does not escape by itself."""


def speak_utf8() -> None:
    """Makes both streams write UTF-8 in any locale; lone surrogates are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def is_quiet() -> bool:
    """Whether the command that runs was called with `--quiet`, which is read before all else."""
    context = click.get_current_context(silent=True)
    return bool(context and context.params.get("quiet"))


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

    Raises:
        click.UsageError: stdin is not a terminal, so the user cannot answer; `otherwise` says what
            to do instead.
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
