"""Many workers on one archive: turns in a second, and answers from an archive of a team's size.

    python benchmarks/fleet.py [--only turns,archive] [--workers 1,2,4,8] [--seconds 10]
        [--sessions 100000] [--events 200] [--json FILE]

A real PostgreSQL server is started in a temporary folder and stopped at the end; it syncs its
writes to the disk, as in a team. A worker is a process of its own, and so is the one that asks.

    turns    each worker runs an agent: a tool call and a result of about 1,000 tokens, then the
             request (`fit`), in a session of its own; a new one after 100 turns
    archive  sessions with events, archived messages and their refs are put into the tables as the
             library would; then single calls are timed

The exit code is 1 if a limit was missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from postgres import running  # noqa: E402  # it is in the folder of the line above

from context_compression import Session, Store  # noqa: E402  # as above

WINDOW = 60_000  # tokens
TURNS = 100  # of one session
WORDS = 130  # of a result, for about 1,000 tokens
START = 3.0  # seconds, in which all workers have started
AGENTS = 1_000  # of which the last table tells
STEP_SECONDS = 10.0  # in which an agent makes one request: a model's answer and a tool's


def main() -> None:
    parser = argparse.ArgumentParser(description="Many workers on one archive.")
    parser.add_argument("--only", default="turns,archive")
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=200, help="of each session")
    parser.add_argument("--json", type=Path, help="all figures go there")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        place, number, begin = options.work
        print(turns(place, int(number), float(begin), options.seconds))
        return
    figures: dict[str, Any] = {}
    with running(durable=True) as server:
        if "turns" in options.only:
            workers = [*map(int, options.workers.split(","))]
            figures["turns"] = compared(server.url, workers, options.seconds)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def compared(url: str, workers: Sequence[int], seconds: float) -> dict[str, dict[int, float]]:
    """Turns in a second by the number of workers, over files and over the database."""
    print(f"{'workers':>8}{'files':>12}{'PostgreSQL':>12}   turns in a second")
    rates: dict[str, dict[int, float]] = {"files": {}, "PostgreSQL": {}}
    for number in workers:
        with tempfile.TemporaryDirectory() as folder:
            for name, place in (("files", folder), ("PostgreSQL", url)):
                rates[name][number] = rate(place, number, seconds)
        shown = "".join(f"{rates[name][number]:12.1f}" for name in rates)
        print(f"{number:8}{shown}", flush=True)
    return rates


def rate(place: str, workers: int, seconds: float) -> float:
    """The turns that so many workers make in a second, together."""
    begin = time.time() + START + 0.5 * workers
    command = [sys.executable, __file__, "--seconds", str(seconds), "--work", place]
    children = [
        subprocess.Popen([*command, str(n), str(begin)], stdout=subprocess.PIPE)
        for n in range(workers)
    ]
    return sum(int(child.communicate()[0]) for child in children) / seconds


def turns(place: str, number: int, begin: float, seconds: float) -> int:
    """How many turns a worker makes between two times."""
    rng, store, made = Random(number), Store(place), 0
    steps = endless_steps(rng)
    list(zip(range(3), one_session(store, f"warm-{number}", steps), strict=False))
    time.sleep(max(0.0, begin - time.time()))
    while True:
        for _ in one_session(store, f"{number}-{made}-{rng.random()}", steps):
            if time.time() > begin + seconds:
                return made
            made += 1


def one_session(store: Store, id: str, steps: Iterator[list[dict[str, Any]]]) -> Iterator[None]:
    """Make the requests of a session, one for each step."""
    session = Session(store, id, settings={"token_budget": WINDOW})
    history: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the build fails."}]
    for _ in range(TURNS):
        history += next(steps)
        session.fit(history)
        yield


def endless_steps(rng: Random) -> Iterator[list[dict[str, Any]]]:
    """Tool calls with their results, all different."""
    number = 0
    while True:
        number += 1
        result = "\n".join(
            f"{rng.randrange(10**9)} src/module_{rng.randrange(500)}.py:{rng.randrange(999)} ok"
            for _ in range(WORDS // 4)
        )
        call = {"name": "bash", "arguments": json.dumps({"command": f"make check-{number}"})}
        yield [
            {
                "role": "assistant", "content": None,
                "tool_calls": [{"id": f"call-{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call-{number}", "content": result},
        ]  # fmt: skip


if __name__ == "__main__":
    main()
