"""What the demo shows: a heading for each call, the answer's lines that matter, and checks."""

import time
from collections.abc import Iterable

import click

WIDTH = 96


class Board:
    """Prints as the demo goes, and remembers what did not hold."""

    def __init__(self) -> None:
        self.held = 0
        self.broken: list[str] = []
        self._steps = 0
        self._began = time.monotonic()

    def heading(self, text: str) -> None:
        """Begins the next step."""
        self._steps += 1
        click.secho(f"\n{self._steps}. {text}", bold=True)

    def show(self, lines: Iterable[str]) -> None:
        """Lines of an answer, cut to the page's width."""
        for line in lines:
            click.echo(f"   {line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}")

    def check(self, holds: bool, what: str) -> None:
        """Something that was promised, and whether it is so."""
        click.secho(f"   {'✓' if holds else '✗'} {what}", fg="green" if holds else "red")
        if holds:
            self.held += 1
        else:
            self.broken.append(what)

    def close(self) -> int:
        """The last line; returns 0 when all held, else 1."""
        seconds = time.monotonic() - self._began
        if self.broken:
            click.secho(f"\nNot as promised: {'; '.join(self.broken)}", fg="red")
            return 1
        click.echo(f"\nAll {self.held} checks held, in {seconds:.1f} s; nothing was left behind.")
        return 0
