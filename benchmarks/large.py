"""The cost of a large input, compared with another checkout: seconds, memory, and limits.

    python benchmarks/large.py [--beside CHECKOUT] [--only NAME,…] [--megabytes 100]

The inputs are: recordings of Claude Code lengthened to a hundred megabytes, once with a compaction
after each and once with none; a million messages of one letter; two files of sixteen megabytes that
unpack to gigabytes. The command reads each input in a process of its own, here and with the code of
CHECKOUT, which has its own `.venv`. The exit code is 1 if a limit is exceeded.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

import recordings

Row = dict[str, Any]
MEGABYTE = 1_000_000
IDS = ("id", "tool_use_id")
HERE = Path(__file__).resolve().parents[1]
BETWEEN = """
import json, os, subprocess, sys, time
started = time.perf_counter()
null, pipe = subprocess.DEVNULL, subprocess.PIPE
with subprocess.Popen(sys.argv[1:], stdout=null, stderr=pipe) as child:
    said = child.stderr.read().decode(errors="replace").strip()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
seconds, cpu = time.perf_counter() - started, used.ru_utime + used.ru_stime
print(json.dumps([seconds, used.ru_maxrss / 1000, child.returncode, said, cpu]))
"""


@dataclass(frozen=True)
class Measured:
    """The cost of one run: elapsed seconds, peak megabytes, whether it succeeded, CPU seconds."""

    seconds: float
    megabytes: float
    ended: int
    said: str
    cpu: float


@dataclass(frozen=True)
class Bar:
    """A run and its limits; `refused`: it must end with an error message."""

    name: str
    command: tuple[str, ...]
    seconds: float
    megabytes: float
    refused: bool = False


def lengthened(compacted: bool) -> Iterator[Row]:
    """Rows of recordings, repeated with new ids each time, in one chain."""
    files = sorted(recordings.FOLDER.parent.glob("native/claude-code/*.jsonl.gz"))
    recorded = [
        [*map(json.loads, gzip.decompress(f.read_bytes()).split(b"\n")[:-1])] for f in files
    ]
    last: str | None = None
    for turn in count():
        known: set[str] = set()
        for row in recorded[turn % len(recorded)]:
            if not row.get("uuid") or row.get("isSidechain") or is_of_compaction(row):
                continue
            parent = row.get("parentUuid")
            new = json.loads(json.dumps(row))
            new |= {"uuid": f"{turn}-{row['uuid']}", "sessionId": "s"}
            new["parentUuid"] = f"{turn}-{parent}" if parent in known else last
            renamed(new.get("message"), turn)
            known.add(row["uuid"])
            last = new["uuid"]
            yield new
        if compacted:
            about = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
            yield {"type": "system", "uuid": f"b{turn}", "parentUuid": None, **about}
            said = {"role": "user", "content": "This session is being continued. Summary: much."}
            last = f"s{turn}"
            yield {"type": "user", "uuid": last, "parentUuid": f"b{turn}", "sessionId": "s",
                   "isCompactSummary": True, "message": said}  # fmt: skip


def is_of_compaction(row: Row) -> bool:
    return row.get("isCompactSummary") is True or "boundary" in str(row.get("subtype"))


def renamed(value: Any, turn: int) -> None:
    """Give messages and calls other ids, so that no id is repeated."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            renamed(item, turn)
    elif isinstance(value, dict):
        about = cast("Row", value)
        about |= {key: f"{turn}-{about[key]}" for key in IDS if isinstance(about.get(key), str)}
        renamed(about.get("content"), turn)


def letters() -> Iterator[Row]:
    for n in range(1_000_000):
        yield {
            "role": ("user", "assistant")[n % 2],
            "content": "abcdefghijklmnopqrstuvwxyz"[n % 26],
        }


def written(path: Path, rows: Iterator[Row], size: float) -> Path:
    with path.open("wb") as file:
        for row in rows:
            file.write(json.dumps(row).encode() + b"\n")
            if file.tell() >= size:
                break
    return path


def bomb(path: Path, content: bytes) -> Path:
    """Sixteen megabytes of gzip in which some content is repeated."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    chunk = content * (MEGABYTE // len(content))
    with path.open("wb") as file:
        while file.tell() < 16 * MEGABYTE:
            file.write(packing.compress(chunk))
        file.write(packing.flush())
    return path


def run(checkout: Path, command: tuple[str, ...], folder: Path) -> Measured:
    """Run the command of a checkout.

    A small process in between starts it, because the peak memory of a parent counts for its child.
    """
    python = str(checkout / ".venv/bin/python")
    environ = {**os.environ, "PYTHONPATH": str(checkout / "server"), "HOME": str(folder)}
    child = [python, "-m", "context_compression", "--store", str(folder / "store"), *command]
    between = [sys.executable, "-c", BETWEEN, *child]
    done = subprocess.run(between, env=environ, stdout=subprocess.PIPE, cwd=folder, check=True)
    return Measured(*json.loads(done.stdout))


def live_context(path: Path) -> tuple[float, int]:
    """Megabytes of the messages that are live in a file, as JSON, and their tokens.

    A separate process measures this, because our peak memory would count for our children.
    """
    command = [sys.executable, __file__, "--live", str(path)]
    size, tokens = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return size, tokens


def print_live_context(path: Path) -> None:
    from context_compression import count_tokens
    from context_compression.hosts import read

    messages = read(path).messages
    size = len(json.dumps(messages, ensure_ascii=False).encode()) / MEGABYTE
    print(json.dumps([size, count_tokens(messages)]))


def transcript_bars(
    name: str, path: Path, here: Callable[[tuple[str, ...]], Measured]
) -> Iterator[Bar]:
    live, tokens = live_context(path)
    memory = 3 * live + 200
    print(f"{name}: {path.stat().st_size / MEGABYTE:.0f} MB, {live:.1f} MB of it live", flush=True)
    yield Bar(f"{name}: status", ("status", str(path)), 10, memory)
    allowed = 4 * here(("status", str(path))).seconds + 8
    target = ("--target-tokens", str(tokens // 4))
    command = ("compress", str(path), "--dry-run", *target)
    yield Bar(f"{name}: compress to a quarter", command, allowed, float("inf"))


def bars(
    folder: Path, size: float, wanted: set[str], here: Callable[[tuple[str, ...]], Measured]
) -> Iterator[Bar]:
    for name, compacted in (("compacted", True), ("never compacted", False)):
        if name in wanted:
            path = written(folder / f"{name.replace(' ', '-')}.jsonl", lengthened(compacted), size)
            yield from transcript_bars(name, path, here)
    if "letters" in wanted:
        path = folder / "letters.json"
        path.write_text(json.dumps([*letters()]), encoding="utf-8")
        yield Bar("a million letters, a list", ("status", str(path)), 15, float("inf"))
        path = written(folder / "letters.jsonl", letters(), float("inf"))
        yield Bar("a million letters, lines", ("status", str(path)), 15, float("inf"))
    if "bombs" in wanted:
        for name, content in (("lines", b'{"role":"user","content":"a"}\n'), ("zeros", b"\0")):
            path = bomb(folder / f"{name}.jsonl.gz", content)
            yield Bar(f"bomb of {name}", ("status", str(path)), 1, 100, refused=True)


def main() -> None:
    known = ["compacted", "never compacted", "letters", "bombs"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--beside", type=Path, help="another checkout, with its own .venv")
    parser.add_argument("--only", default=",".join(known), help=f"of: {', '.join(known)}")
    parser.add_argument("--megabytes", type=float, default=100)
    given = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)

        def here(command: tuple[str, ...]) -> Measured:
            return run(HERE, command, folder)

        print(
            f"{'':36}{'seconds':>9}{'bar':>7}{'MB':>8}{'bar':>8}{'beside':>9}{'MB':>8}{'times':>8}"
        )
        for bar in bars(folder, given.megabytes * MEGABYTE, {*given.only.split(",")}, here):
            got = here(bar.command)
            met = got.seconds <= bar.seconds and got.megabytes <= bar.megabytes
            met = met and got.ended == (2 if bar.refused else 0)
            missed += not met
            line = f"{bar.name:36}{got.seconds:9.2f}{bar.seconds:7.1f}{got.megabytes:8.0f}"
            line += f"{bar.megabytes:8.0f}"
            if given.beside:
                other = run(given.beside.resolve(), bar.command, folder)
                line += f"{other.seconds:9.2f}{other.megabytes:8.0f}"
                line += f"{got.seconds / other.seconds:8.2f}"
            print(line + ("" if met else f"   MISSED {got.said[-200:]}"), flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--live"]:
        print_live_context(Path(sys.argv[2]))
    else:
        main()
