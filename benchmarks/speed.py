"""Times and memory, of ours and of peers, on real conversations of growing length.

    python benchmarks/speed.py [--tokens 50000,200000,1000000,5000000] [--runs 5]
        [--only library,growth,memory,session,search,peers,start] [--peers]
        [--conversation FILE] [--cpu] [--json FILE | --load FILE] [--markdown]

Conversations are recorded sessions one after another (`lengths.py`), compressed to a quarter. Each
run is a separate process. The output is the median, with the fastest and the slowest.

    cold     package imported, tokenizer not loaded
    warm     tokenizer loaded, this conversation never seen
    again    the same conversation once more
    a turn   5,000 tokens more in a session on disk
    fit      the same by `fit`, also in multiples of the time for a turn
    memory   peak beyond the loaded tokenizer, in multiples of the conversation's size in memory
    growth   time for the complete conversation, in multiples of the time for its parts of 200K one
             by one; the column compares the longest conversation with that of 200K, which is a
             different mixture

Of other methods, the plain rules are measured; with --peers, the other tools, too, each in its own
environment. They use their own token counts; import and conversion are not measured. --cpu measures
CPU time, for a machine that other work keeps busy. The exit code is 1 if a limit was missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from comparison import OURS, Figure, Table, block
from lengths import conversation
from peer_environments import Unavailable, python_of
from peer_processes import SERVER, install
from peers import PEERS
from plain_rules import PLAIN

Figures: TypeAlias = dict[str, dict[int, list[float]]]
"""The measurements of each run, by name and length in tokens."""

IN_CHILDREN = ("library", "growth", "memory", "session", "search")
KINDS = (*IN_CHILDREN, "peers", "start")
TIMINGS = Path(__file__).with_name("timings.py")
MOST_SECONDS = 300  # that a peer may take
LONG = 1_000_000  # tokens; beyond, two runs must do
FROM = 200_000  # tokens, from where growth is judged; below, what is constant counts
OF_OURS = "compress, warm"
OPERATIONS = {
    "compress, cold": "compress to a quarter, the first call (tokenizer not loaded)",
    OF_OURS: "compress to a quarter, later, a new conversation",
    "compress again": "the same once more",
    "count": "count",
    "count again": "count again",
    "a turn more: fit": "follow a history with 5,000 tokens more, make the request (`fit`)",
    "a turn more": "record 5,000 tokens in a session on disk, prepare the request",
    "compress after a turn": "compress that session again",
    "restore": "restore an original",
    "search": "search the archive",
}
"""What the page shows of our own times, and its words for it."""
MULTIPLES = {
    "fit, of a turn more": "time of `fit`, of that to record a turn and prepare the request",
    "memory, allocated": "peak of allocated memory, of the conversation's size in memory",
    "growth, compress": "time to compress, of the times of its parts of 200K",
}
BARS: Mapping[str, Mapping[int, float]] = {
    "compress, cold": {200_000: 0.4},
    "compress, warm": {200_000: 0.15, 1_000_000: 1.0},
    "a turn more": {200_000: 0.02},
    "a turn more: fit": {200_000: 0.01},
    "fit, of a turn more": {200_000: 1.0},
    "restore": {50_000: 0.025, 200_000: 0.025, 1_000_000: 0.025, 5_000_000: 0.025},
    "search": {5_000_000: 0.025},
    "memory, allocated": {1_000_000: 1.0, 5_000_000: 1.0},
    "growth, count": {1_000_000: 1.2, 5_000_000: 1.2},
    "growth, compress": {1_000_000: 1.2, 5_000_000: 1.2},
    "start, beyond import mcp": {0: 0.3},
}


def measured(options: argparse.Namespace) -> Figures:
    """All requested measurements."""
    figures: Figures = {}
    for length in map(int, options.tokens.split(",")):
        messages = conversation(length, options.conversation)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "conversation.json")
            path.write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
            for _ in range(options.runs if length <= LONG else min(2, options.runs)):
                for name, figure in run(path, length, options):
                    figures.setdefault(name, {}).setdefault(length, []).append(figure)
    if "start" in options.only:
        figures["import mcp"] = {0: [timed(import_mcp) for _ in range(options.runs)]}
        figures["start"] = {0: [timed(first_answer) for _ in range(options.runs)]}
        pairs = zip(figures["start"][0], figures["import mcp"][0], strict=True)
        figures["start, beyond import mcp"] = {0: [served - bare for served, bare in pairs]}
    return figures


def run(path: Path, length: int, options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """The measurements of one run over one conversation, by name."""
    about = ("cpu" if options.cpu else "wall", str(path), str(length // 4))
    for kind in IN_CHILDREN:
        if kind in options.only and (kind != "growth" or length > FROM):
            found = child(sys.executable, kind, *about)
            if kind == "session":
                parts = (found["a turn more: record"], found["a turn more: prepare"])
                found = {"a turn more": sum(parts), **found}
                found["fit, of a turn more"] = found["a turn more: fit"] / found["a turn more"]
            yield from found.items()
    others = [peer for peer in PEERS if options.peers or peer in PLAIN]
    for peer in others if "peers" in options.only else ():
        try:
            python = sys.executable if peer in PLAIN else str(python_of(peer))
        except Unavailable:
            continue
        found = child(python, "peer", *about, peer)
        yield from ((f"{peer}, {when}", figure) for when, figure in found.items())


def child(python: str, *arguments: str) -> dict[str, float]:
    """The measurements of a process of `timings.py`; none if it failed or took too long."""
    print("\r" + " ".join(arguments)[-75:].ljust(75), end="", file=sys.stderr, flush=True)
    command = [python, str(TIMINGS), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=MOST_SECONDS, check=True,
            env={**os.environ, "PYTHONPATH": str(SERVER)},
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        print(f"\n{error.stderr.decode()[-300:]}", file=sys.stderr)
        return {}
    except subprocess.TimeoutExpired:
        print(f"\nmore than {MOST_SECONDS} s", file=sys.stderr)
        return {}
    return json.loads(done.stdout.split(b"\n")[-2])


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def import_mcp() -> None:
    subprocess.run([sys.executable, "-c", "import mcp.server"], check=True)


def first_answer() -> None:
    """Start the server, request its name and version, read the answer, end it."""
    who = {"name": "speed", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    command = [sys.executable, "-m", "context_compression", "serve"]
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe) as server,
    ):
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(hello).encode() + b"\n")
        server.stdin.flush()
        assert b"protocolVersion" in server.stdout.readline()
        server.kill()


def tables(figures: Figures) -> Iterator[Table]:
    """The tables for a page: ours beside other methods, then all operations of ours."""
    methods = {OURS: OF_OURS} | {peer: f"{peer}, warm" for peer in PEERS}
    rows = {method: medians(figures[name]) for method, name in methods.items() if name in figures}
    columns = [*medians(figures[OF_OURS])]
    heading = "compress to a quarter, a new conversation of"
    yield Table("speed", heading, columns, rows, "seconds", lower_is_better=True)
    rows = {shown: medians(figures[name]) for name, shown in OPERATIONS.items() if name in figures}
    yield Table("speed", f"{OURS}, a conversation of", columns, rows, "seconds")
    rows = {shown: medians(figures[name]) for name, shown in MULTIPLES.items() if name in figures}
    yield Table("speed", "a multiple", columns, rows, "score")


def medians(by: Mapping[int, Sequence[float]]) -> dict[str, Figure]:
    return {headed(length): Figure(statistics.median(runs)) for length, runs in by.items()}


def headed(length: int) -> str:
    return f"{length // 1000:,}K" if length < LONG else f"{length // LONG}M"


def table(figures: Figures, names: Sequence[str]) -> Iterator[str]:
    """A Markdown table of some measurements over all lengths."""
    lengths = sorted({length for name in names for length in figures[name]})
    heads = [*map(headed, lengths)]
    yield f"| | {' | '.join(heads if lengths != [0] else ['time'])} | growth |"
    yield "|---|" + "--:|" * (len(lengths) + 1)
    for name in names:
        by = figures[name]
        cells = (shown(name, by[n]) if n in by else "" for n in lengths)
        growth = growth_of(by)
        yield f"| {name} | {' | '.join(cells)} | {f'x {growth:.2f}' if growth else ''} |"


def shown(name: str, runs: Sequence[float]) -> str:
    if name.startswith(("memory", "growth", "fit, of")):
        return f"x {statistics.median(runs):.2f}"
    middle, *ends = (
        f"{1000 * seconds:,.0f}" if seconds >= 0.01 else f"{1000 * seconds:.2g}"
        for seconds in (statistics.median(runs), min(runs), max(runs))
    )
    return f"{middle} ms ({'–'.join(ends)})"


def growth_of(by: Mapping[int, Sequence[float]]) -> float | None:
    """The cost of a token in the longest conversation, in multiples of that in one of 200K."""
    longest = max(by)
    if FROM not in by or longest == FROM:
        return None
    return statistics.median(by[longest]) / longest / (statistics.median(by[FROM]) / FROM)


def missed(figures: Figures) -> Iterator[str]:
    """The limits that were not met."""
    for name, bars in BARS.items():
        for length, bar in bars.items():
            runs = figures.get(name, {}).get(length)
            if runs and (middle := statistics.median(runs)) > bar:
                yield f"{name} at {length:,} tokens: {middle:.3g}, bar {bar:g}"


def parser() -> argparse.ArgumentParser:
    """The options of a run."""
    found = argparse.ArgumentParser(description="Times and memory, here and elsewhere.")
    found.add_argument("--tokens", default="50000,200000,1000000,5000000")
    found.add_argument("--conversation", type=Path, help="JSON lines, instead of recordings")
    found.add_argument("--runs", type=int, default=5)
    found.add_argument("--only", type=lambda text: text.split(","), default=KINDS)
    found.add_argument("--peers", action="store_true", help="install and measure other tools, too")
    found.add_argument("--cpu", action="store_true", help="time that processes really ran")
    found.add_argument("--json", type=Path, help="write the figures there")
    found.add_argument("--load", type=Path, help="take the figures from there")
    found.add_argument("--markdown", action="store_true", help="what the page tells of it")
    return found


def main() -> None:
    options = parser().parse_args()
    if options.load:
        loaded = json.loads(options.load.read_text(encoding="utf-8"))
        figures: Figures = {name: {int(n): r for n, r in by.items()} for name, by in loaded.items()}
    else:
        if options.peers:
            install()
        figures = measured(options)
        print(file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(figures), encoding="utf-8")
    if options.markdown:
        print(block([*tables(figures)]))
        return
    starting = [name for name in figures if 0 in figures[name]]
    others = [name for name in figures if name not in starting]
    for names in (others, starting):
        if names:
            print("\n" + "\n".join(table(figures, names)))
    print("\n" + "\n".join(failures := [*missed(figures)] or ["All bars are met."]))
    sys.exit(failures != ["All bars are met."])


if __name__ == "__main__":
    main()
