"""The screen of a terminal: whether there is one, how large it is, and styles by `rich`.

`rich` is imported only when something is printed on a terminal. FORCE_COLOR asks for the output of
a terminal in a pipe; NO_COLOR and TERM=dumb are respected.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from context_compression.cli.page import Page, Style, laid_out

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
