"""The cost of sessions that outgrow their window: real ones, turn by turn, with a prompt cache.

    python benchmarks/replay.py [--windows 60000,120000,200000] [--only codex] [--limit 10]
        [--processes 2] [--dollars 3] [--each] [--markdown]

Recorded sessions are run as an agent's loop would run them: the messages before an answer of the
model are recorded, the next request is prepared, and so on. `Session`, which calls no model here,
is compared with the loops of `keeping.py`. These drop the oldest steps, either as few as necessary
before each request or half of the window at once; or clear old tool results; or do not compress, as
if the window had no end. All use the same threshold. For each window, only the sessions that reach
the threshold count.

    rewritten   requests that do not begin like the one before them
    sent        tokens of all requests
    cached      share of them that is in the prompt cache: the same as in the request before, from
                its beginning up to the first message that differs
    cost        of the prompts, in millions of input tokens: written to the cache 1.25, read 0.1
                (answers cost the same everywhere; the cache is assumed never to expire)
    mean        tokens of a request
    too large   requests that are larger than the window
    in view     of all identifiers that an answer repeats from the history before it, the share that
                is in its request
    far         the same for those that are not in the last 6,000 tokens before it
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TypeAlias

import recordings
from comparison import Figure, Table, block
from keeping import UNCOMPRESSED, Loop, loops, threshold_of
from needs import FAR_TOKENS
from recordings import Message, Messages
from texts import Reader

from context_compression.compression.forecast import READ, WRITE
from context_compression.conversation import parse, strings_in
from context_compression.tokens import Counter


@dataclass(frozen=True)
class Tally:
    """The totals of requests."""

    requests: int = 0
    rewritten: int = 0
    sent: int = 0
    cached: int = 0
    too_large: int = 0
    repeated: int = 0
    in_view: int = 0
    repeated_far: int = 0
    in_view_far: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def cost(self) -> float:
        """The cost in input tokens."""
        return READ * self.cached + WRITE * (self.sent - self.cached)


Tallies: TypeAlias = dict[str, Tally]
"""Tallies by loop."""


@dataclass(frozen=True)
class Step:
    """The messages since the last request, the model's answer, and earlier identifiers."""

    came: Messages
    answer: Message
    known: frozenset[str]
    near: frozenset[str]


class Ruler:
    """Measures messages of one session, each once: tokens and identifiers."""

    def __init__(self, folder: str | None) -> None:
        self._counter, self._reader = Counter(), Reader(folder)
        self._measured: dict[int, tuple[Message, int, frozenset[str]]] = {}

    def tokens(self, message: Message) -> int:
        return self._measure(message)[1]

    def names(self, *messages: Message) -> frozenset[str]:
        return frozenset[str]().union(*(self._measure(message)[2] for message in messages))

    def steps(self, messages: Messages) -> Iterator[Step]:
        """The session, request by request."""
        start, known = 0, frozenset[str]()
        for at, message in enumerate(messages):
            if message["role"] == "assistant" and start < at:
                came = messages[start:at]
                known |= self.names(*came)
                first = at
                while first and sum(map(self.tokens, messages[first:at])) < FAR_TOKENS:
                    first -= 1
                yield Step(came, message, known, self.names(*messages[first:at]))
                start = at

    def tally(self, request: Messages, before: Messages, step: Step, window: int) -> Tally:
        """The tally of one request."""
        sizes = [*map(self.tokens, request)]
        same = shared(before, request)
        repeated = self.names(step.answer) & step.known
        far = repeated - step.near
        shown = self.names(*request)
        return Tally(
            requests=1,
            rewritten=same < len(before),
            sent=sum(sizes),
            cached=sum(sizes[:same]),
            too_large=sum(sizes) > window,
            repeated=len(repeated),
            in_view=len(repeated & shown),
            repeated_far=len(far),
            in_view_far=len(far & shown),
        )

    def _measure(self, message: Message) -> tuple[Message, int, frozenset[str]]:
        found = self._measured.get(id(message))
        if found is None:
            tokens = self._counter.messages(parse([message]).messages)
            texts = strings_in(message["content"])
            names = frozenset[str]().union(*map(self._reader.identifiers, texts))
            # the message is kept with its measures: nothing else may get its id
            found = self._measured[id(message)] = message, tokens, names
        return found


def shared(before: Messages, after: Messages) -> int:
    """How many messages two requests share at their beginning."""
    pairs = zip(before, after, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def replayed(path: Path, windows: Sequence[int]) -> dict[int, Tallies]:
    """A session through every loop, by window, for each window whose threshold it reaches."""
    recording = recordings.load(path)
    ruler = Ruler(recording.folder)
    whole = sum(map(ruler.tokens, recording.messages))
    found: dict[int, Tallies] = {}
    for window in windows:
        if whole < threshold_of(window):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found[window] = {
                name: run(loop, recording.messages, ruler, window)
                for name, loop in loops(ruler.tokens, window, Path(folder)).items()
            }
    return found


def run(loop: Loop, messages: Messages, ruler: Ruler, window: int) -> Tally:
    total, before = Tally(), Messages()
    for step in ruler.steps(messages):
        request = [*loop.request(step.came)]
        total += ruler.tally(request, before, step, window)
        before = request
    return total


def tables(found: Mapping[int, Tallies]) -> Iterator[Table]:
    """The tables for a page, given the totals by window; a column for each window."""
    for heading, unit, lower_is_better, value in (
        ("input cost, in tokens, with a window of", "millions", True, _cost),
        ("% of repeated identifiers in the request, with a window of", "percent", False, _far),
        ("requests larger than the window of", "count", True, _too_large),
    ):
        rows: dict[str, dict[str, Figure]] = {}
        for window, tallies in found.items():
            for name, tally in tallies.items():
                if name != UNCOMPRESSED:
                    rows.setdefault(name, {})[f"{window:,}"] = Figure(value(tally))
        columns = [f"{window:,}" for window in found]
        yield Table("replay", heading, columns, rows, unit, lower_is_better)


def _cost(tally: Tally) -> float:
    return tally.cost


def _far(tally: Tally) -> float:
    return tally.in_view_far / max(1, tally.repeated_far)


def _too_large(tally: Tally) -> float:
    return tally.too_large


def table(tallies: Tallies, dollars: float | None) -> Iterator[list[str]]:
    """A row of headings, and one row for each loop."""
    money = [] if dollars is None else ["dollars"]
    yield [
        "", "rewritten", "sent", "cached", "cost", *money, "mean", "too large", "in view", "far",
    ]  # fmt: skip
    for name, tally in tallies.items():
        money = [] if dollars is None else [f"{tally.cost * dollars / 1e6:,.2f}"]
        yield [
            name,
            f"{tally.rewritten:,}",
            f"{tally.sent / 1e6:,.1f}M",
            share(tally.cached, tally.sent),
            f"{tally.cost / 1e6:,.2f}M",
            *money,
            f"{tally.sent / tally.requests / 1e3:,.1f}K",
            f"{tally.too_large:,}",
            share(tally.in_view, tally.repeated),
            share(tally.in_view_far, tally.repeated_far),
        ]


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines; all columns except the first are aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def everything(
    paths: Sequence[Path], windows: Sequence[int], processes: int
) -> dict[Path, dict[int, Tallies]]:
    """The replays of all recordings."""
    found: dict[Path, dict[int, Tallies]] = {}
    with ProcessPoolExecutor(processes) as pool:
        replays = pool.map(replayed, paths, [windows] * len(paths))
        for number, (path, tallies) in enumerate(zip(paths, replays, strict=True), 1):
            found[path] = tallies
            print(f"\rreplayed: {number} of {len(paths)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def totals(
    found: Mapping[Path, Mapping[int, Tallies]], windows: Sequence[int]
) -> dict[int, Tallies]:
    """The sums over sessions by window, for windows whose threshold a session reaches."""
    total: dict[int, Tallies] = {}
    for window in windows:
        taken = [each[window] for each in found.values() if window in each]
        for name in taken[0] if taken else ():
            tally = sum((tallies[name] for tallies in taken), Tally())
            total.setdefault(window, {})[name] = tally
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description="What sessions cost, turn by turn.")
    parser.add_argument("--windows", default="60000,120000,200000", help="in tokens")
    parser.add_argument("--only", default="", help="part of the recordings' names")
    parser.add_argument("--limit", type=int, help="so many recordings")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--dollars", type=float, help="price of a million input tokens")
    parser.add_argument("--each", action="store_true", help="each session, too")
    parser.add_argument("--markdown", action="store_true", help="what the page tells of it")
    options = parser.parse_args()
    windows = [int(window) for window in options.windows.split(",")]
    paths = [path for path in recordings.paths() if options.only in path.name][: options.limit]
    found = everything(paths, windows, options.processes)
    if options.markdown:
        print(block([*tables(totals(found, windows))]))
        return
    for window in windows:
        taken = {path: tallies[window] for path, tallies in found.items() if window in tallies}
        total = totals(found, [window]).get(window, {})
        requests = max((tally.requests for tally in total.values()), default=0)
        fit = sum(not each[UNCOMPRESSED].too_large for each in taken.values())
        title = (
            f"Window of {window:,} tokens: {requests:,} requests of {len(taken)} sessions that "
            f"reach the threshold; {fit} would fit uncompressed"
        )
        print(f"\n{title}\n")
        shown = {title: total} if taken else {}
        if options.each:
            shown |= {path.name.removesuffix(".json.gz"): each for path, each in taken.items()}
        for name, tallies in shown.items():
            if name != title:
                print(f"\n{name}: {next(iter(tallies.values())).requests:,} requests\n")
            rows = [*table(tallies, options.dollars)]
            print("\n".join(lines(rows)))
        print()


if __name__ == "__main__":
    main()
