"""`demo`: a recorded conversation, taken through all six tools."""

import sys

import click

from context_compression.cli.help import examples
from context_compression.cli.terminal import above_the_bar, is_coloured, is_terminal, size, working
from context_compression.progress import SHOWING


@click.command(
    short_help="Run a recorded conversation through all six tools.",
    epilog=examples(
        ("demo", "about ten seconds; everything is deleted"),
    ),
)
def demo() -> None:
    """Run a recorded conversation through all six tools of a real server; check every result."""
    from context_compression import demo
    from context_compression.demo.board import Board

    screen = size(sys.stdout).columns if is_terminal(sys.stdout) else None
    with working("starting the server", SHOWING):
        code = demo.run(Board(above_the_bar, width=screen, coloured=is_coloured(sys.stdout)))
    raise SystemExit(code)
