"""How long a host waits for our hooks: round trips to a running server, over its stdin and stdout.

    python benchmarks/hooks.py

The transcript holds a session of some size. The output is the median and the slowest of the calls,
and the mean of the server's own CPU time, because other processes may keep the machine busy.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import mean, median
from time import perf_counter
from typing import Any

from mcp import Client, StdioServerParameters

from context_compression.testing import conversation, log

SESSION = "11111111-2222-4333-8444-555555555555"
TURNS = 120
TIMES = 30
SIZES = (20, 100, 300, 370, 3_000)
"""Lines of a log. The host passes at most 30,000 characters, and more in a file."""


def written(home: Path) -> Path:
    """A transcript as Claude Code keeps it."""
    path = home / ".claude" / "projects" / "-project" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        parent = None
        for number, message in enumerate(conversation(TURNS, seed=1)):
            row = {"type": message["role"], "uuid": f"u{number}", "sessionId": SESSION}
            said = message | ({"id": f"m{number}"} if message["role"] == "assistant" else {})
            file.write(json.dumps({**row, "parentUuid": parent, "message": said}) + "\n")
            parent = row["uuid"]
    return path


def answered(transcript: Path, lines: int) -> Iterator[dict[str, Any]]:
    """Calls of the hook after a tool that printed this many lines, different ones each time."""
    results = transcript.with_suffix("") / "tool-results"
    results.mkdir(parents=True, exist_ok=True)
    for number in range(TIMES):
        text = log(Random(f"{lines} {number}"), lines)
        response = {"stdout": text[:30_000], "stderr": "", "interrupted": False}
        if len(text) > 30_000:
            (saved := results / f"{number}.txt").write_text(text, encoding="utf-8")
            response["persistedOutputPath"] = str(saved)
        yield {
            "hook_event_name": "PostToolUse",
            "session_id": SESSION,
            "transcript_path": str(transcript),
            "tool_name": "Bash",
            "tool_input": json.dumps({"command": "make check"}),
            "tool_response": json.dumps(response),
            "tool_use_id": f"toolu_{lines}_{number}",
        }


async def timed(
    client: Client, events: Iterator[dict[str, Any]]
) -> tuple[list[float], list[float]]:
    """Milliseconds of each call, and the CPU milliseconds of the server meanwhile."""
    took: list[float] = []
    ran: list[float] = []
    for event in events:
        began, before = perf_counter(), ran_so_far()
        await client.call_tool("context_hook", event)
        took.append(1_000 * (perf_counter() - began))
        ran.append(ran_so_far() - before)
    return took, ran


def ran_so_far() -> float:
    """CPU milliseconds of our only child so far; 0 if the system does not report them."""
    try:
        own = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("utf-8").split()
        fields = Path(f"/proc/{own[-1]}/stat").read_text("utf-8").rpartition(")")[2].split()
    except (OSError, IndexError):
        return 0
    return 1_000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def show(client: Client, transcript: Path, lines: int) -> None:
    took, ran = await timed(client, answered(transcript, lines))
    size = len(log(Random(f"{lines} 0"), lines))
    print(f"{lines:>20,} {size:>12,}", end="")
    print(f" {median(took):>10.1f} {max(took):>10.1f} {mean(ran):>12.1f}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        home, project = Path(name), Path(name) / "project"
        project.mkdir()
        transcript = written(home)
        command = [sys.executable, "-m", "context_compression", "serve", "--hooks", "claude-code"]
        environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        started = StdioServerParameters(
            command=command[0], args=command[1:], cwd=project, env=environ
        )
        print(f"a session of {transcript.stat().st_size / 1e6:.1f} MB")
        print(f"{'PostToolUse, lines':>20} {'characters':>12}", end="")
        print(f" {'median ms':>10} {'slowest':>10} {'mean of CPU':>12}")
        async with Client(started) as client:
            await timed(client, answered(transcript, 150))  # the tokenizer is loaded by then
            for lines in SIZES:
                await show(client, transcript, lines)
            rows = transcript.read_text("utf-8").splitlines()
            event = {
                "hook_event_name": "session.compact",
                "session_id": SESSION,
                "transcript_path": str(transcript),
                "window": 200_000,
                "handles": [json.loads(row)["uuid"] for row in rows],
            }
            took, ran = await timed(client, iter([event]))
            print(f"session.compact of {len(rows)} rows: {took[0]:,.0f} ms, CPU {ran[0]:,.0f}")
            await show(client, transcript, 301)  # the record of the whole session lies there now


if __name__ == "__main__":
    asyncio.run(main())
