"""The output of the demo: a heading for each call, lines of its answer, and checks."""

import time
from collections.abc import Iterable

import click

WIDTH = 96


class Board:
    """Prints the demo and counts the checks that passed or failed."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self._steps = 0
        self._began = time.monotonic()

    def heading(self, text: str) -> None:
        """Prints the heading of the next step."""
        self._steps += 1
        click.secho(f"\n{self._steps}. {text}", bold=True)

    def show(self, lines: Iterable[str]) -> None:
        """Prints lines of an answer, cut to the width of the page."""
        for line in lines:
            click.echo(f"   {line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}")

    def check(self, passed: bool, what: str) -> None:
        """Prints a check with its result."""
        click.secho(f"   {'✓' if passed else '✗'} {what}", fg="green" if passed else "red")
        if passed:
            self.passed += 1
        else:
            self.failed.append(what)

    def close(self) -> int:
        """Prints the last line; returns 0 if all checks passed, else 1."""
        seconds = time.monotonic() - self._began
        if self.failed:
            click.secho(f"\nChecks failed: {'; '.join(self.failed)}", fg="red")
            return 1
        click.echo(f"\nAll {self.passed} checks passed in {seconds:.1f} s. All files are deleted.")
        return 0
