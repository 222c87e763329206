"""What a report costs: its time beside the parsing of the file's JSON, its memory beside its size.

    python benchmarks/report_cost.py [--megabytes 96] [--runs 1] [--seed 1] [FILE …]

Without a FILE, it writes transcripts of Claude Code, with a compaction every 375 rows and with
none, and one of Codex. Their texts are made from a seed, and no line of a result is there twice,
so that every token is counted anew. Times are those that the processor ran, in processes of their
own. The memory is also given without that of a report of three rows, which every report takes. The
exit code is 1 if a report takes more than 6 times as long as the parsing, or if that memory is more
than the file has bytes.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from large import HERE, MEGABYTE, Row, run, written

TIMES, SHARE = 6.0, 1.0
WORDS = [
    *("build", "cache", "client", "config", "cursor", "daemon", "error", "fetch", "handler"),
    *("index", "journal", "kernel", "limit", "merge", "node", "offset", "packet", "query"),
    *("render", "schema", "token", "update", "vector", "worker", "zone"),
]
PARSE = """
import json, sys, time
started = time.process_time()
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)
print(time.process_time() - started)
"""


class Texts:
    """Commands and outputs of programs, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def line(self) -> str:
        words = self._random.choices(WORDS, k=self._random.randint(3, 12))
        at = f"src/{words[0]}/{words[1]}_{self._random.randrange(900)}.py"
        number, took = self._random.randrange(2_000), self._random.random()
        return f"{at}:{number}: {' '.join(words[2:])} {took:.6f}"

    def output(self) -> str:
        return "\n".join(self.line() for _ in range(self._random.choice((3, 10, 30, 90))))


def claude_code(texts: Texts, *, compacted: bool) -> Iterator[Row]:
    parent = None
    for n in count():
        if compacted and n and n % 187 == 0:
            about = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
            yield {"type": "system", "uuid": f"b{n}", "parentUuid": None, **about}
            said = {"role": "user", "content": f"This session is being continued. {texts.output()}"}
            yield {"type": "user", "uuid": f"s{n}", "parentUuid": f"b{n}", "sessionId": "s",
                   "isCompactSummary": True, "message": said}  # fmt: skip
            parent = f"s{n}"
        call = {
            "type": "tool_use",
            "id": f"t{n}",
            "name": "Bash",
            "input": {"command": texts.line()},
        }
        usage = {"input_tokens": 10, "cache_read_input_tokens": 90_000, "output_tokens": 20}
        said: Row = {"id": f"m{n}", "role": "assistant", "model": "claude-opus-5", "usage": usage}
        said["content"] = [{"type": "text", "text": texts.line()}, call]
        yield {"type": "assistant", "uuid": f"a{n}", "parentUuid": parent, "sessionId": "s",
               "message": said}  # fmt: skip
        output = texts.output()
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output}
        yield {"type": "user", "uuid": f"r{n}", "parentUuid": f"a{n}", "sessionId": "s",
               "message": {"role": "user", "content": [result]},
               "toolUseResult": {"stdout": output}}  # fmt: skip
        parent = f"r{n}"


def codex(texts: Texts) -> Iterator[Row]:
    yield {
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/work", "timestamp": "2026-11-20T10:00:00Z"},
    }
    for n in count():
        if n and n % 187 == 0:
            kept = [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": texts.output()}],
                }
            ]
            yield {"type": "compacted", "payload": {"message": "", "replacement_history": kept}}
        name = {"type": "function_call", "call_id": f"c{n}", "name": "exec_command"}
        yield {
            "type": "response_item",
            "payload": {**name, "arguments": json.dumps({"cmd": texts.line()})},
        }
        result = {"type": "function_call_output", "call_id": f"c{n}", "output": texts.output()}
        yield {"type": "response_item", "payload": result}


def parsing(path: Path) -> float:
    """Seconds that the parsing of a file's JSON takes."""
    command = [sys.executable, "-c", PARSE, str(path)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def meets(name: str, path: Path, folder: Path, count: int) -> bool:
    """Measure a report, print its figures; whether both bars are met."""
    small = folder / "small.jsonl"
    with path.open("rb") as file:
        small.write_bytes(b"".join(islice(file, 3)))
    least = run(HERE, ("report", str(small)), folder).megabytes
    parsed = statistics.median(parsing(path) for _ in range(3))
    runs = [run(HERE, ("report", str(path)), folder) for _ in range(count)]
    if wrong := next((each.said for each in runs if each.ended), ""):
        sys.exit(f"{name}: {wrong}")
    size = path.stat().st_size / MEGABYTE
    cpu = statistics.median(each.cpu for each in runs)
    peak = statistics.median(each.megabytes for each in runs)
    times, share = cpu / parsed, (peak - least) / size
    figures = f"{size:.0f} MB | {parsed:.2f} s | {cpu:.1f} s | {times:.1f} | {peak:.0f} MB"
    print(f"| {name} | {figures} | {peak - least:.0f} MB | {share:.1f} |", flush=True)
    return times <= TIMES and share <= SHARE


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=96)
    parser.add_argument("--runs", type=int, default=1, help="the median of so many counts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", type=Path, nargs="*", help="transcripts, in place of made ones")
    given = parser.parse_args()
    print("| transcript | size | parsing | report | times | peak memory | its own | of the file |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        met = [meets(file.name, file.resolve(), folder, given.runs) for file in given.files]
        if not given.files:
            rows = {
                "Claude Code, compacted": claude_code(Texts(given.seed), compacted=True),
                "Claude Code, never compacted": claude_code(Texts(given.seed), compacted=False),
                "Codex, compacted": codex(Texts(given.seed)),
            }
            for name, made in rows.items():
                path = written(folder / "made.jsonl", made, given.megabytes * MEGABYTE)
                met.append(meets(name, path, folder, given.runs))
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
