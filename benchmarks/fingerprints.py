"""Proves that nothing that is computed has changed: a hash of each part of many runs.

    python benchmarks/fingerprints.py OUT.json [--quick] [--only GROUP,…]
    python benchmarks/fingerprints.py --compare BEFORE.json AFTER.json

The first writes a line for each run, in about six minutes, `--quick` in one. The second names the
runs that differ and the parts in which they do (`digests.py` says what these are), and ends with 1
where there is one. It uses what is public alone, so that it runs on commits whose modules lie
elsewhere.

    uniform    each recording, by strategies to targets
    field      a sample of other conversations
    counts     how many tokens, and how full a context is, for several models
    dialects   the same conversations in each dialect, whole and broken
    options    pins, focus, system prompts, models, settings, one after another
    sessions   recorded, compressed, restored, searched, undone; every byte that is then on disk
    command    transcripts of hosts, taken through the command, each order in a process of its own
    server     the tools, as an agent calls them over stdio
    hooks      events of hosts

The first five are in `views.py`, sessions in `lives.py`, the others in `doors.py`. Clock and chance
stand still (`still.py`).
"""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import doors
import lives
import still
import views
from digests import Parts, Runs, digest

import context_compression

GROUPS: Mapping[str, Callable[[int], Runs]] = {
    "uniform": views.uniform,
    "field": views.field,
    "counts": views.counts,
    "dialects": views.dialects,
    "options": views.options,
    "sessions": lives.sessions,
    "command": doors.command,
    "server": doors.server,
    "hooks": doors.hooks,
}
"""What is run, of one in so many conversations."""
QUICK = 12
VERSION = "version of fingerprints.py"
PATIENCE = 10
"""Seconds after which progress is told again."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Hashes of all that is computed.")
    parser.add_argument("out", type=Path, nargs="?", metavar="OUT.json")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE.json", "AFTER.json"))
    parser.add_argument("--quick", action="store_true", help="a sample of each kind: a minute")
    parser.add_argument("--only", metavar="GROUP,…", help=f"of {', '.join(GROUPS)}")
    options = parser.parse_args()
    if options.compare:
        sys.exit(compared(*map(read, options.compare)))
    if options.out is None:
        parser.error("name a file to write, or --compare two")
    names = (options.only or ",".join(GROUPS)).split(",")
    out = options.out.resolve()
    logging.disable()  # what is logged is told by results, too
    with still.place():
        write(out, runs_of(names, QUICK if options.quick else 1))


def runs_of(names: Iterable[str], each: int) -> Runs:
    """All runs of some groups, of one in so many conversations; progress is told."""
    say(f"of {context_compression.__file__}")
    for name in names:
        began = told = time.perf_counter()
        number, busy = 0, work()
        for number, (run, found) in enumerate(GROUPS[name](each), 1):
            yield f"{name}/{run}", found
            if (now := time.perf_counter()) > told + PATIENCE:
                say(f"  {name}: {number} runs, {now - began:.0f} s")
                told = now
        seconds = f"{time.perf_counter() - began:.0f} s, {work() - busy:.0f} of them at work"
        say(f"{name}: {number} runs, {seconds}")


def work() -> float:
    """Seconds for which this process and its children were really at work."""
    return sum(os.times()[:4])


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write(path: Path, runs: Runs) -> None:
    """A line for each run: its name, the hash of all, and those of its parts."""
    lines = {VERSION: json.dumps({"all": version()})}
    for name, found in runs:
        if name in lines:
            raise SystemExit(f"two runs have the name {name}")
        lines[name] = json.dumps({"all": digest(found), **found})
    text = ",\n".join(f"{json.dumps(name)}: {line}" for name, line in lines.items())
    path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    say(f"{len(lines) - 1} runs in {path}")


def version() -> str:
    """The hash of these files: what others of them wrote cannot be compared."""
    names = ("digests", "doors", "fingerprints", "lives", "orders", "still", "views")
    folder = Path(__file__).parent
    return digest([(folder / f"{name}.py").read_text(encoding="utf-8") for name in names])


def read(path: Path) -> dict[str, Parts]:
    return json.loads(path.read_text(encoding="utf-8"))


def compared(before: dict[str, Parts], after: dict[str, Parts]) -> int:
    """Print which runs differ and in what; 1 where there are any."""
    found = 0
    if before.pop(VERSION, None) != after.pop(VERSION, None):
        print("These were written by different versions of fingerprints.py: make both anew.")
        found += 1
    for name in dict.fromkeys([*before, *after]):
        if what := difference(before.get(name), after.get(name)):
            print(f"{name}: {what}")
            found += 1
    print(f"{found} of {len(before.keys() | after.keys())} runs differ")
    return int(found > 0)


def difference(before: Parts | None, after: Parts | None) -> str:
    """In which parts two runs differ; empty where in none."""
    if before is None or after is None:
        return "only after" if before is None else "only before"
    names = [name for name in dict.fromkeys([*before, *after]) if name != "all"]
    return ", ".join(name for name in names if before.get(name) != after.get(name))


if __name__ == "__main__":
    main()
