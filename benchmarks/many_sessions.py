"""How fast refs and searches are with thousands of sessions, in a store or of hosts.

    python benchmarks/many_sessions.py [--sessions 3000] [--json FILE]
    python benchmarks/many_sessions.py --of-hosts 1000,20000 [--at FOLDER] [--also PYTHON]
        [--json FILE]

With --of-hosts, see `many_of_hosts.py`: --at keeps the home folders there for the next run, --also
times the status and the hooks of another version, too. Without:

Each session has two short messages and an offloaded result, all different. The measurements are
taken in a process that has made none of them. The fastest of several runs counts, except for the
first search, which makes the index and runs once. The bars are for 3,000 sessions on a machine
without other work; the time in which this process had a processor is shown beside each time.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import many_of_hosts
from comparison import block

from context_compression import Session, Store

UNKNOWN = "0123456789ab"
RUNS = 9
WORDS = ("queue", "worker", "retry", "timeout", "database", "index", "migration", "parser", "token")
BARS = {  # ms
    "an unknown ref, new process": 20,
    "an unknown ref": 20,
    "the first search": 2_000,
    "a later search by name": 25,
    "a later question": 25,
    "a later pattern": 25,
    "the next search after a session grew": 25,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed in a store with thousands of sessions.")
    parser.add_argument("--sessions", type=int, default=3_000)
    parser.add_argument("--of-hosts", type=lambda text: [*map(int, text.split(","))])
    parser.add_argument("--at", type=Path, help="home folders are kept there, and used again")
    parser.add_argument("--also", help="a Python with another version, for status and hooks")
    parser.add_argument("--json", type=Path, help="all figures go there")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.measure)))
        return
    if options.of_hosts:
        sys.exit(of_hosts(options))
    with tempfile.TemporaryDirectory() as folder:
        fill(Store(folder), options.sessions)
        command = [sys.executable, __file__, "--measure", folder]
        figures: dict[str, list[float]] = json.loads(subprocess.check_output(command))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    sys.exit(report(figures, options.sessions))


def of_hosts(options: argparse.Namespace) -> bool:
    """Measure sessions of hosts; returns whether a limit was missed."""
    pythons = [sys.executable, *([options.also] if options.also else [])]
    figures = many_of_hosts.everything(options.of_hosts, options.at, pythons)
    print(block([*many_of_hosts.tables(figures)]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    missed = many_of_hosts.missed(figures)
    print("", *missed, sep="\n")
    return bool(missed)


def fill(store: Store, sessions: int) -> None:
    """Record sessions, each with a text of its own in the archive."""
    rng = Random(1)
    for number in range(sessions):
        session = Session(store, f"session-{number:05}")
        question = f"Look at task {number}: {' '.join(rng.choices(WORDS, k=60))}"
        answer = f"Task {number} is done. {' '.join(rng.choices(WORDS, k=60))}"
        session.record(
            {"role": "user", "content": question}, {"role": "assistant", "content": answer}
        )
        session.offload(f"result_{number} in task {number} {' '.join(rng.choices(WORDS, k=200))}")


def measured(folder: str) -> dict[str, list[float]]:
    """Milliseconds, and milliseconds of processor time, for each of `BARS`."""
    store = Store(folder)
    numbers = iter(range(1, 10**6))

    def grow_and_search() -> None:
        store.search(f"result_{next(numbers)}")

    figures = {"an unknown ref, new process": timed(lambda: store.locate(UNKNOWN), 1)}
    figures["an unknown ref"] = timed(lambda: Store(folder).locate(UNKNOWN), RUNS)
    import_sqlite()
    figures["the first search"] = timed(lambda: store.search("result_7 retry"), 1)
    searches: dict[str, Callable[[], object]] = {
        "a later search by name": lambda: store.search(f"result_{next(numbers)}"),
        "a later question": lambda: store.search(f"What came out of task {next(numbers)}?"),
        "a later pattern": lambda: store.search(pattern=f"result_{next(numbers)} in"),
    }
    figures |= {name: timed(work, RUNS) for name, work in searches.items()}
    grown: list[list[float]] = []
    for number in range(RUNS):
        Session(store, f"session-{number:05}").offload(f"one more result of task {number}")
        grown.append(timed(grow_and_search, 1))
    figures["the next search after a session grew"] = min(grown)
    return figures


def import_sqlite() -> None:
    """Import what the first search of a process imports, which is no matter of the store."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        Session(store, "one").offload("a text")
        store.search("text")


def timed(work: Callable[[], object], runs: int) -> list[float]:
    """The fastest run: milliseconds, and milliseconds of processor time."""
    taken: list[list[float]] = []
    for _ in range(runs):
        start, processor = time.perf_counter(), time.process_time()
        work()
        taken.append(
            [1_000 * (time.perf_counter() - start), 1_000 * (time.process_time() - processor)]
        )
    return min(taken)


def report(figures: dict[str, list[float]], sessions: int) -> bool:
    """Print the times; returns whether a limit was missed."""
    print(f"{sessions:,} sessions\n\n| what | ms | with a processor | bar |  |")
    print("|---|--:|--:|--:|---|")
    failed = False
    for name, (taken, processor) in figures.items():
        missed = taken > BARS[name]
        failed |= missed
        verdict = "MISSED" if missed else "met"
        print(f"| {name} | {taken:.1f} | {processor:.1f} | {BARS[name]:,} | {verdict} |")
    return failed


if __name__ == "__main__":
    main()
