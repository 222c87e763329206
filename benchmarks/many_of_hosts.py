"""How fast thousands of sessions of hosts are searched; `many_sessions.py --of-hosts` runs it.

The sessions are made of recorded ones, in one project of a home folder (`made_homes.py`). A search
reads for a short time what is not indexed yet, and a process of its own reads the rest; the
searches that are timed come after that. The status and the hooks of a session in that home are
timed beside those of an empty home. All times are those in which the process had a processor.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import mean, median, quantiles
from typing import Any

import made_homes
from comparison import Figure, Table
from hooks import TURNS, answered, timed
from mcp import Client, StdioServerParameters
from search import WORD, resident
from texts import identifiers_in

from context_compression import Store
from context_compression.hosts import read
from context_compression.testing import conversation

ASKED = 300  # searches
RUNS = 7
LINES = 300  # of the output that a hook is called with
BARS = {"first search": 2.0, "95 % of searches take at most": 0.05}
"""Seconds."""


def everything(counts: Sequence[int], at: Path | None, pythons: Sequence[str]) -> dict[str, Any]:
    """The figures for each number of sessions.

    Args:
        counts: of sessions.
        at: the folder in which homes are kept, and found again; `None` for none.
        pythons: those whose package's status and hooks are timed.
    """
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = {}
        for count in counts:
            home = _home(at or Path(folder), count)
            found[str(count)] = searches(home) | doors(home, pythons)
        return found


def _home(folder: Path, count: int) -> made_homes.Home:
    """A home with so many sessions; one that was made before is used again."""
    place = folder / f"{count} sessions"
    about = place / "about.json"
    if not about.exists():
        home = made_homes.fill(made_homes.made(place), count)
        about.write_text(json.dumps([home.text, home.bytes]), encoding="utf-8")
    return made_homes.Home(place, place / "work" / "app", *json.loads(about.read_text("utf-8")))


def searches(home: made_homes.Home) -> dict[str, Any]:
    """Sizes, and seconds of the searches; each kind in a process that has searched nothing."""
    figures: dict[str, Any] = {"text": home.text, "transcripts": home.bytes}
    for kind in (first, indexed, later):
        figures |= json.loads(
            subprocess.check_output([sys.executable, __file__, kind.__name__, str(home.home)])
        )
    figures["index"] = sum(
        each.stat().st_size for each in made_homes.index_of(home).rglob("*.sqlite")
    )
    return figures


def first(home: made_homes.Home) -> dict[str, Any]:
    """The first search of all; what it began in another process is ended."""
    shutil.rmtree(made_homes.index_of(home), ignore_errors=True)
    began, ran = time.perf_counter(), time.process_time()
    result = made_homes.workspace(home).store.search("the first search")
    took, ran = time.perf_counter() - began, time.process_time() - ran
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text("utf-8").split():
        os.kill(int(pid), signal.SIGKILL)
        os.waitpid(int(pid), 0)
    return {"first search": ran, "first search, waiting too": took, "first note": result.note}


def indexed(home: made_homes.Home) -> dict[str, Any]:
    """The work of the process that reads all sessions, from the beginning."""
    shutil.rmtree(made_homes.index_of(home), ignore_errors=True)
    before, ran = resident("VmRSS"), time.process_time()
    made_homes.index(made_homes.workspace(home).store)
    ran = time.process_time() - ran
    return {"indexed in": ran, "memory to index": resident("VmHWM") - before}


def later(home: made_homes.Home) -> dict[str, Any]:
    """The searches of a process, and its first."""
    asked = [*queries(home)]
    before = resident("VmRSS")
    store = made_homes.workspace(home).store
    took = [_time_of(store, query) for query in asked]
    figures: dict[str, Any] = {"first search of a process": took[0], "searches": took[1:]}
    figures["memory to search"] = resident("VmHWM") - before
    paths = home.home.glob(".claude/projects/*app/*.jsonl")
    newest = max(paths, key=lambda path: path.stat().st_mtime)
    kept, written = newest.read_bytes(), newest.stat().st_mtime
    newest.write_bytes(kept + kept.splitlines(keepends=True)[-1])
    figures["a session grew"] = _time_of(store, asked[1])
    newest.write_bytes(kept)
    os.utime(newest, (written, written))
    return figures


def _time_of(store: Store, query: str) -> float:
    began = time.process_time()
    store.search(query)
    return time.process_time() - began


def queries(home: made_homes.Home) -> Iterator[str]:
    """What is searched: names with two words, three words, and questions, of texts in the home."""
    rng = Random(1)
    paths = sorted(home.home.glob(".claude/projects/*app/*.jsonl"))
    asked = 0
    while asked <= ASKED:
        texts = [*made_homes.strings([m["content"] for m in read(rng.choice(paths)).messages])]
        text = rng.choice(texts)[:4_000]
        names = sorted(
            {name for line in text.split("\n")[:50] for name, *_ in identifiers_in(line)}
        )
        words = sorted({*WORD.findall(text)})
        if not names or len(words) < 3:
            continue
        some = rng.sample(words, 3)
        by_name = " ".join([rng.choice(names), *some[:2]])
        question = f"What did we decide about {some[0]}, {some[1]} and {some[2]}?"
        yield (by_name, " ".join(some), question)[asked % 3]
        asked += 1


def doors(home: made_homes.Home, pythons: Sequence[str]) -> dict[str, Any]:
    """Seconds of the status and of hooks, by Python and door, here and in an empty home."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        empty = made_homes.made(Path(folder))
        for python in pythons:
            for name, place in (("", home), (", an empty home", empty)):
                for door, seconds in _doors(place, python):
                    figures[f"{door}{name} ({python})"] = seconds
    return figures


def _doors(home: made_homes.Home, python: str) -> Iterator[tuple[str, list[float]]]:
    """The doors of one version in one home, where an agent works in the newest session."""
    with _at_work(home) as transcript:
        yield "status", [*_processes(home, [python, "-m", "context_compression", "status"], "")]
        event = {
            "hook_event_name": "SessionStart", "source": "startup", "session_id": transcript.stem,
            "transcript_path": str(transcript), "cwd": str(home.project),
        }  # fmt: skip
        command = [python, "-m", "context_compression", "hook", "claude-code"]
        yield "session start", [*_processes(home, command, json.dumps(event))]
        yield "after a tool", asyncio.run(_after_a_tool(home, python, transcript))


@contextmanager
def _at_work(home: made_homes.Home) -> Generator[Path]:
    """A session that is written now, for the time of a measurement."""
    messages = conversation(TURNS, seed=1)
    now = datetime.now(UTC)
    path = made_homes.write(home.home, "claude-code", "at work", messages, home.project, now)
    yield path
    path.unlink()


def _processes(home: made_homes.Home, command: Sequence[str], given: str) -> Iterator[float]:
    for _ in range(RUNS):
        began = os.times()
        subprocess.run(
            command, input=given, text=True, cwd=home.project, env=made_homes.environ(home.home),
            check=True, capture_output=True,
        )  # fmt: skip
        ended = os.times()
        yield sum(ended[2:4]) - sum(began[2:4])


async def _after_a_tool(home: made_homes.Home, python: str, transcript: Path) -> list[float]:
    """What a running server takes for a hook after a tool, in seconds; the mean."""
    arguments = ["-m", "context_compression", "serve", "--hooks", "claude-code"]
    started = StdioServerParameters(
        command=python, args=arguments, cwd=home.project, env=made_homes.environ(home.home)
    )
    async with Client(started) as client:
        await timed(client, answered(transcript, LINES // 2))  # the tokenizer is loaded by then
        _, ran = await timed(client, answered(transcript, LINES))
    return [mean(ran) / 1_000]


def tables(figures: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """The tables of the page: one of searches and sizes, one of what else is done there."""
    counts = {f"{int(count):,} sessions": found for count, found in figures.items()}
    rows: dict[str, dict[str, Figure]] = {}
    for column, found in counts.items():
        shown = {
            "their texts": found["text"] / 1e6,
            "their transcripts": found["transcripts"] / 1e6,
            "the index": found["index"] / 1e6,
            "memory to index them": found["memory to index"] / 1e6,
        }
        for name, value in shown.items():
            rows.setdefault(name, {})[column] = Figure(value)
    yield Table("many", "megabytes", [*counts], rows, "count")
    rows = {}
    for column, found in counts.items():
        shown = {
            "to index all of them, once, in the background": found["indexed in"],
            "the first search of all": found["first search"],
            "the first search of a process": found["first search of a process"],
            "a search, median": median(found["searches"]),
            "a search, 95 % take at most": quantiles(found["searches"], n=20)[-1],
            "the next search after a session grew": found["a session grew"],
        }
        shown |= {
            name.removesuffix(f" ({sys.executable})"): median(seconds)
            for name, seconds in found.items()
            if name.endswith(f" ({sys.executable})")
        }
        for name, value in shown.items():
            rows.setdefault(name, {})[column] = Figure(value)
    yield Table("many", "time", [*counts], rows, "seconds")


def missed(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The bars that were missed."""
    found: list[str] = []
    for count, each in figures.items():
        values = {"first search": each["first search"]}
        values["95 % of searches take at most"] = quantiles(each["searches"], n=20)[-1]
        found += [
            f"{int(count):,} sessions, {name}: {values[name]:.3f} s, bar {bar}"
            for name, bar in BARS.items()
            if values[name] > bar
        ]
    return found


if __name__ == "__main__":
    kind, place = sys.argv[1:]
    about = made_homes.Home(Path(place), Path(place) / "work" / "app")
    print(json.dumps({"first": first, "indexed": indexed, "later": later}[kind](about)))
