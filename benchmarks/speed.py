"""Times and memory of the core, against the bars of the project.

    python benchmarks/speed.py [--tokens 200000,1000000] [--conversation FILE]

Each run is a process of its own; shown are the median of the runs, the fastest and the slowest.
Cold means: package imported, tokenizer not loaded. Warm means: tokenizer loaded, this conversation
not counted yet. Memory is the peak that tracemalloc sees, without the loaded tokenizer, in
multiples of the size of the conversation's objects.

The conversation is the bundled demo, repeated with other words until it is as long as wanted.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

MESSAGES = list[dict[str, Any]]
BUNDLED = Path(__file__).parents[1] / "server/context_compression/demo/conversation.jsonl"
BARS = {  # seconds for 200K tokens; longer conversations in proportion
    "compress cold": 0.4,
    "compress warm": 0.15,
    "count warm": 0.1,
    "recount": 0.001,
}
MEMORY_BAR = 1.0  # times the size of the conversation's objects in memory
START_BAR = 0.3  # seconds from start to first answer beyond those of `import mcp`


def grown(path: Path, tokens: int) -> MESSAGES:
    """A conversation of about so many o200k tokens: the file's, repeated with renamed words."""
    from context_compression import count_tokens

    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
    round_ = [json.loads(line) for line in lines]
    each = int(count_tokens(round_, model="gpt-4o"))
    messages: MESSAGES = []
    for number in range(-(-tokens // each)):
        messages += json.loads(renamed("\n".join(lines), number))
    while len(messages) > 2 and int(count_tokens(messages, model="gpt-4o")) > 1.02 * tokens:
        del messages[-2 - len(messages) // 50 :]
    return messages


def renamed(lines: str, number: int) -> str:
    """The lines as one JSON list, with ids and long words made different from other rounds'."""
    text = "[" + lines.replace("\n", ",") + "]"
    text = re.sub(r"(toolu_\w+)", rf"\g<1>x{number}", text)
    return re.sub(r"\b(?!tool_)([a-z]{4,}_[a-z]+)\b", rf"\g<1>{number}", text) if number else text


def deep_size(value: Any) -> int:
    """Bytes of parsed JSON in memory."""
    from context_compression.messages import is_array, is_object

    size = sys.getsizeof(value)
    if is_object(value):
        return size + sum(map(deep_size, value.values()))
    if is_array(value):
        return size + sum(map(deep_size, value))
    return size


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(path: Path, target: int) -> dict[str, float]:
    """All figures of this process, which has not counted anything yet."""
    from context_compression import compress, count_tokens

    text = path.read_text(encoding="utf-8")

    def fresh(mark: str) -> MESSAGES:
        """The same conversation in other words: nothing of it is in a cache."""
        return json.loads(text.replace("the", mark))

    messages = json.loads(text)
    found = {"compress cold": timed(lambda: compress(messages, target_tokens=target))}
    messages = fresh("thu")
    found["count warm"] = timed(lambda: count_tokens(messages))
    found["recount"] = timed(lambda: count_tokens(messages))
    messages = fresh("tho")
    found["compress warm"] = timed(lambda: compress(messages, target_tokens=target))
    found["compress again"] = timed(lambda: compress(messages, target_tokens=target))
    messages = fresh("thi")
    size = deep_size(messages)
    tracemalloc.start()
    result = compress(messages, target_tokens=target)
    found["memory"] = tracemalloc.get_traced_memory()[1] / size
    found["tokens"] = result.tokens_before
    found["ratio"] = result.ratio
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Times and memory against the bars.")
    parser.add_argument("--tokens", default="200000,1000000")
    parser.add_argument("--conversation", type=Path, default=BUNDLED)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(Path(options.measure[0]), int(options.measure[1]))))
        return
    failed = False
    for size in map(int, options.tokens.split(",")):
        messages = grown(options.conversation, size)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "conversation.json")
            path.write_text(json.dumps(messages), encoding="utf-8")
            command = [sys.executable, __file__, "--measure", str(path), str(size // 4)]
            runs = [json.loads(subprocess.check_output(command)) for _ in range(options.runs)]
        failed |= report(size, len(messages), runs)
    failed |= start_up(options.runs)
    sys.exit(failed)


def report(size: int, count: int, runs: list[dict[str, float]]) -> bool:
    """Print one size's table; whether a bar was missed."""
    print(f"\n{size:,} o200k tokens in {count:,} messages, to a quarter of that")
    print("| what | median | fastest | slowest | bar |  |\n|---|--:|--:|--:|--:|---|")
    failed = False
    for name in ("compress cold", "compress warm", "compress again", "count warm", "recount"):
        times = sorted(run[name] for run in runs)
        bar = BARS[name] * size / 200_000 if name in BARS else None
        middle = statistics.median(times)
        failed |= bar is not None and middle > bar
        shown = f"{1000 * bar:.1f} ms | {'met' if middle <= bar else 'MISSED'}" if bar else "| "
        cells = " | ".join(f"{1000 * t:.1f} ms" for t in (middle, times[0], times[-1]))
        print(f"| {name} | {cells} | {shown} |")
    memory = statistics.median(run["memory"] for run in runs)
    failed |= memory > MEMORY_BAR
    verdict = "met" if memory <= MEMORY_BAR else "MISSED"
    print(f"| peak memory | {memory:.2f} x input | | | {MEMORY_BAR:.2f} | {verdict} |")
    return failed


def start_up(runs: int) -> bool:
    """Print what the server's start costs beyond `import mcp`; whether the bar was missed."""
    bare = statistics.median(timed(import_mcp) for _ in range(runs))
    served = statistics.median(timed(first_answer) for _ in range(runs))
    verdict = "met" if served - bare <= START_BAR else "MISSED"
    print(
        f"\nstart to first answer: {served:.2f} s; bare import mcp {bare:.2f} s; "
        f"over it {served - bare:.2f} s (bar {START_BAR:.2f} s, {verdict})"
    )
    return served - bare > START_BAR


def import_mcp() -> None:
    subprocess.run([sys.executable, "-c", "import mcp.server"], check=True)


def first_answer() -> None:
    """Start the server, ask it who it is, read the answer, end it."""
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


if __name__ == "__main__":
    main()
