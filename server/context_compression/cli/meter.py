"""The bar on a terminal that shows how much of a long work is done.

It stands on stderr, only on a terminal, and only for work that takes longer than `QUIET_SECONDS`.
Whatever else is printed meanwhile goes above it.
"""

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from context_compression.cli.console import can_move, is_terminal, size
from context_compression.display.cells import cells, without_middle
from context_compression.progress import (
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
        stages: the stages of `context_compression.progress` that the work reports, in order;
            default: reading and counting. Other stages are ignored.
    """
    if _SCREENS or not (is_terminal(sys.stderr) and can_move()):
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
