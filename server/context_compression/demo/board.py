"""The output of the demo: a heading for each call, lines of its answer, and checks."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import click

from context_compression.progress import SHOWING, advance
from context_compression.strings import without_end

WIDTH = 96
STEPS = 8
"""How many headings the tour prints, for its progress."""
Printing = Callable[[Callable[[], object]], object]
"""Runs what prints, for example in place of a bar on the terminal."""


class Board:
    """Prints the demo and counts the checks that passed or failed."""

    def __init__(
        self,
        printing: Printing = lambda print_it: print_it(),
        *,
        width: int | None = None,
        coloured: bool | None = None,
    ) -> None:
        """A board of `width` columns; `coloured` is for click, which decides by itself else."""
        self._printing, self._coloured = printing, coloured
        self._width = min(width or WIDTH + 3, WIDTH + 3) - 3
        self.passed = 0
        self.failed: list[str] = []
        self._steps = 0
        self._began = time.monotonic()

    def heading(self, text: str) -> None:
        """Prints the heading of the next step."""
        advance(SHOWING, self._steps, STEPS)
        self._steps += 1
        self.print(f"\n{self._steps}. {text}", bold=True)

    def show(self, lines: Iterable[str]) -> None:
        """Prints lines of an answer, cut to the width of the page."""
        for line in lines:
            self.print(f"   {without_end(line, self._width)}")

    def check(self, passed: bool, what: str) -> None:
        """Prints a check with its result."""
        self.print(f"   {'✓' if passed else '✗'} {what}", fg="green" if passed else "red")
        if passed:
            self.passed += 1
        else:
            self.failed.append(what)

    def close(self) -> int:
        """Prints the last line; returns 0 if all checks passed, else 1."""
        seconds = time.monotonic() - self._began
        if self.failed:
            self.print(f"\nChecks failed: {'; '.join(self.failed)}", fg="red")
            return 1
        self.print(f"\nAll {self.passed} checks passed in {seconds:.1f} s. All files are deleted.")
        return 0

    def print(self, text: str, **style: Any) -> None:
        """Prints lines, in a style of click."""
        self._printing(lambda: click.secho(text, color=self._coloured, **style))
