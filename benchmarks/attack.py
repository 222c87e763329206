"""Attacks on a store, with their counts: `python benchmarks/attack.py`, or some of them by name.

The exit code is 1 if data was lost or came back changed, or if a process crashed.

    kill       a process at work is killed at any moment (SIGKILL)
    damage     one file of a store is changed, cut, emptied, doubled, removed, or made a folder
    disk       no file may grow beyond a number of bytes
    processes  several processes work in one session at once
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from context_compression import Session
from context_compression.errors import ContextCompressionError, StoreError
from context_compression.store import Store
from context_compression.testing import Run, tool_step

SMALL = {"offload_min_tokens": 100, "offload_preview_tokens": 30, "max_tool_output": 400}
TEXT = "\n".join(f"{n} info handled request {n * 31} 三" for n in range(120))

UNTOLD = ("summaries.json", "config.json", "search.sqlite")
"""Files in which a changed value need not be reported. A person may change the first two. The index
is made from the other files; it may lose a hit, and is rebuilt if SQLite reports damage.
"""

Counts = Counter[str]


def text(number: int) -> str:
    """A text that differs from all others."""
    return f"text {number}\n{TEXT}\nend of {number}"


def step(number: int) -> list[dict[str, Any]]:
    """A user's message, a call and its result."""
    run = Run(f"c{number}", "Bash", {"command": f"make {number}"}, text(number))
    return [{"role": "user", "content": f"Step {number}."}, *tool_step([run], "anthropic")]


def work(folder: Path, worker: int, rounds: int, *, compresses: bool) -> None:
    """Record, archive, compress and undo; each line on stdout reports what is on disk."""
    session = Session(folder, "s", settings=SMALL)
    for number in range(worker * 1_000, worker * 1_000 + rounds):
        session.record(*step(number))
        print(f"recorded {number}", flush=True)
        print(f"offloaded {number} {session.offload(text(-1 - number))}", flush=True)
        if compresses:
            with suppress(StoreError):  # another one compresses just now, or was quicker
                session.compress(strategy=("auto", "offload", "extract")[number % 3], force=True,
                                 target_tokens=2_500)  # fmt: skip
            if number % 4 == 3:
                with suppress(StoreError):
                    session.undo()


def child(folder: Path, worker: int, rounds: int) -> subprocess.Popen[str]:
    """`work` in a process of its own."""
    command = [sys.executable, __file__, "--work", str(folder), str(worker), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lost_of(folder: Path, told: list[str]) -> Iterator[str]:
    """Data that was reported to be on disk and is missing, or that comes back changed."""
    session = Session(folder, "s", settings=SMALL)
    state = session.state()
    said = [json.dumps(message) for message in state.recorded]
    for line in told:
        kind, number, *ref = line.split()
        if kind == "recorded":
            missing = [m for m in map(json.dumps, step(int(number))) if said.count(m) != 1]
            if missing:
                yield f"{line}: {len(missing)} of its messages are not there once"
        elif session.original(ref[0]) != text(-1 - int(number)):
            yield f"{line}: another text comes back"
    for ref in state.refs:
        try:
            session.original(ref)
        except ContextCompressionError as error:
            yield f"{ref} does not come back: {error}"
    for problem in session.store.verify():
        if "torn" not in problem:
            yield problem
    while session.state().compressions:
        session.undo()
    if session.view() != session.state().recorded:
        yield "after all undos the view is not what was recorded"


def kill(runs: int, pick: random.Random, counts: Counts) -> Iterator[str]:
    """Kill a process at work; its reported data must be there, and work must go on."""
    for run in range(runs):
        with TemporaryDirectory() as made:
            folder = Path(made) / ".compression"
            process = child(folder, 0, 40)
            assert process.stdout and process.stderr
            first = process.stdout.readline()
            time.sleep(pick.random() * 1.5)
            process.send_signal(signal.SIGKILL)
            told = [first, *process.stdout.readlines()]
            process.stderr.close()
            process.wait()
            told = [line for line in told if line.endswith("\n")]
            counts["killed"] += process.returncode == -signal.SIGKILL
            counts["steps said to be on disk"] += len(told)
            yield from (f"kill {run}: {lost}" for lost in lost_of(folder, told))
            session = Session(folder, "s", settings=SMALL)
            session.record({"role": "user", "content": "Go on."})
            session.compress(strategy="extract", target_tokens=2_000, force=True)


def a_store(folder: Path) -> Store:
    """A store with every kind of file in it."""
    store = Store(folder)
    session = Session(store, "s", settings=SMALL)
    for number in range(8):
        session.record(*step(number))
    session.compress(strategy="offload", target_tokens=2_500, force=True)
    session.compress(strategy="extract", target_tokens=1_500, force=True)
    session.offload(text(99))
    store.add_summary({"session": "checkpoint", "content": "so far", "created_at": "2026-11-01"})
    store.update_config(lambda _: {"keep_recent": 5})
    store.search("request")
    return store


def damages(path: Path, pick: random.Random) -> tuple[str, Callable[[], object]]:
    """One way to damage a file, by its name."""
    data = path.read_bytes()
    at, more = pick.randrange(len(data)), pick.randrange(1, 200)
    ways: dict[str, bytes] = {
        "a bit": b"%b%c%b" % (data[:at], data[at] ^ (1 << pick.randrange(8)), data[at + 1 :]),
        "cut": data[:at],
        "zeros": data[:at] + bytes(min(more, len(data) - at)) + data[at + more :],
        "doubled": data[:at] + data[max(0, at - more) : at] + data[at:],
        "a part gone": data[:at] + data[at + more :],
        "garbage": data + pick.randbytes(more),
        "empty": b"",
    }
    name = pick.choice([*ways, "gone", "a folder"])
    if name == "gone":
        return name, path.unlink
    if name == "a folder":
        return name, lambda: (path.unlink(), path.mkdir())
    return name, lambda: path.write_bytes(ways[name])


def used(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Everything that the interfaces return about a store, and the reported damage."""
    store = Store(folder)
    session = Session(store, "s", settings=SMALL)
    said: dict[str, Any] = {}
    told: list[str] = []
    asked: dict[str, Callable[[], Any]] = {
        "view": session.view,
        "status": lambda: told.extend(session.status().warnings),
        "verify": lambda: told.extend(store.verify()),
        "summaries": lambda: [entry.get("content") for entry in store.summaries()],
        "config": store.read_config,
        "search": lambda: [hit.ref for hit in store.search("request 31").hits],
    }
    for name, ask in asked.items():
        try:
            said[name] = ask()
        except ContextCompressionError as error:
            told.append(str(error))
    with suppress(ContextCompressionError):
        for ref in session.state().refs:
            with suppress(ContextCompressionError):
                said[ref] = session.original(ref)
    return said, told


def damage(runs: int, pick: random.Random, counts: Counts) -> Iterator[str]:
    """Damage one file; nothing may crash or come back changed, and the damage must be reported."""
    with TemporaryDirectory() as made:
        sound = Path(made) / "sound"
        a_store(sound)
        before, _ = used(sound)
        refs = {name: value for name, value in before.items() if name.isalnum() and len(name) >= 12}
        for run in range(runs):
            folder = Path(made) / "damaged"
            shutil.copytree(sound, folder)
            files = [p for p in folder.rglob("*") if p.is_file() and p.stat().st_size]
            path = pick.choice(sorted(p for p in files if ".locks" not in p.parts))
            name, apply = damages(path, pick)
            apply()
            where = f"damage {run}, {name}, {path.relative_to(folder)}"
            counts[f"{name}"] += 1
            try:
                now, told = used(folder)
            except Exception as error:
                yield f"{where}: {type(error).__name__}: {error}"
                now, told = {}, ["crashed"]
            for ref, value in refs.items():
                if now.get(ref, value) != value:
                    yield f"{where}: {ref} came back as something else"
            counts["told" if told else "nothing changed"] += 1
            if not told and now != before and path.name not in UNTOLD:
                yield f"{where}: another answer, and nothing was told"
            with suppress(ContextCompressionError):
                Session(folder, "s").compress(strategy="window", target_tokens=800, force=True)
            shutil.rmtree(folder)


def disk(runs: int, pick: random.Random, counts: Counts) -> Iterator[str]:
    """Limit the size of files; data that does not fit must leave everything unchanged."""
    with TemporaryDirectory() as made:
        sound = Path(made) / "sound"
        session = Session(sound, "s", settings=SMALL)
        for number in range(8):
            session.record(*step(number))
        full = session.store.session("s").stamp()
        assert full
        before = session.view()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for run in range(runs):
            folder = Path(made) / "full"
            shutil.copytree(sound, folder)
            size = pick.randrange(2 * full[0])
            session = Session(folder, "s", settings=SMALL)
            changed = False
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            try:
                strategy = ("offload", "extract", "auto")[run % 3]
                result = session.compress(strategy=strategy, target_tokens=1_500, force=True)
                changed = result.changed
                counts["fitted"] += 1
            except ContextCompressionError as error:
                counts["refused"] += 1
                if "Nothing was changed" not in str(error):
                    yield f"disk of {size:,} bytes: {error}"
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            again = Session(folder, "s", settings=SMALL)
            if changed:
                again.undo()
            if again.view() != before or again.store.verify():
                yield f"disk of {size:,} bytes: not as it was; {again.store.verify()[:1]}"
            shutil.rmtree(folder)


def processes(runs: int, pick: random.Random, counts: Counts, workers: int = 8) -> Iterator[str]:
    """Let processes work in one session; every message is there once, every text comes back."""
    for run in range(max(1, runs // 20)):
        with TemporaryDirectory() as made:
            folder = Path(made) / ".compression"
            children = [child(folder, worker, pick.randrange(4, 8)) for worker in range(workers)]
            outputs = [process.communicate() for process in children]
            told = [line for out, _ in outputs for line in out.splitlines()]
            counts["processes"] += workers
            counts["steps said to be on disk"] += len(told)
            for process, (_, error) in zip(children, outputs, strict=True):
                if process.returncode:
                    yield f"processes {run}: one ended with {process.returncode}: {error[-300:]}"
            yield from (f"processes {run}: {lost}" for lost in lost_of(folder, told))


ATTACKS = {"kill": kill, "damage": damage, "disk": disk, "processes": processes}


def main() -> int:
    parser = argparse.ArgumentParser(description="Attack a store.")
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        folder, worker, rounds = asked.work
        work(Path(folder), int(worker), int(rounds), compresses=True)
        return 0
    broken = 0
    for name in asked.attacks or ATTACKS:
        counts: Counts = Counter()
        begun = time.monotonic()
        for lost in ATTACKS[name](asked.runs, random.Random(asked.seed), counts):
            broken += 1
            print(f"  BROKEN {lost}", flush=True)
        told = ", ".join(f"{what} {number:,}" for what, number in sorted(counts.items()))
        print(f"{name}: {asked.runs} runs in {time.monotonic() - begun:.0f} s; {told}", flush=True)
    print("nothing was lost" if not broken else f"{broken} broken promises")
    return 1 if broken else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
