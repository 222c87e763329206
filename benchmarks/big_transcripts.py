"""The cost of reading a very large transcript: seconds and memory, at first and after it has grown.

    python benchmarks/big_transcripts.py [MEGABYTES [HOST …]]

Writes a transcript for each host into a temporary folder (500 MB by default), with a compaction
every five megabytes, and one of Claude Code's that was never compacted. Each is read in a process
of its own; then a row is added, and it is read again.
"""

import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from subprocess import PIPE
from typing import Any

from context_compression.hosts import Readings

Row = dict[str, Any]
MEGABYTE = 1_000_000
OUTPUT = "".join(f"{n:04}: an output line with a path /src/app/{n}.py\n" for n in range(120))


def claude_code(compacted: bool = True) -> Iterator[Row]:
    parent = None
    for n in count():
        if compacted and n and n % 400 == 0:
            about = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
            yield {"type": "system", "uuid": f"b{n}", "parentUuid": None, **about}
            content = "This session is being continued. Summary: much."
            summary = {"isCompactSummary": True, "message": {"role": "user", "content": content}}
            yield {
                "type": "user",
                "uuid": f"s{n}",
                "parentUuid": f"b{n}",
                "sessionId": "s",
            } | summary
            parent = f"s{n}"
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"ls {n}"}}
        usage = {"input_tokens": 10, "cache_read_input_tokens": 90_000, "output_tokens": 20}
        said = {"id": f"m{n}", "role": "assistant", "content": [call], "usage": usage}
        yield {"type": "assistant", "uuid": f"a{n}", "parentUuid": parent, "sessionId": "s",
               "message": {**said, "model": "claude-opus-5"}}  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n}\n{OUTPUT}"}
        yield {"type": "user", "uuid": f"r{n}", "parentUuid": f"a{n}", "sessionId": "s",
               "message": {"role": "user", "content": [result]},
               "toolUseResult": {"stdout": f"{n}\n{OUTPUT}"}}  # fmt: skip
        parent = f"r{n}"


def claude_code_never_compacted() -> Iterator[Row]:
    return claude_code(compacted=False)


def codex() -> Iterator[Row]:
    def item(**payload: Any) -> Row:
        return {"timestamp": "2026-11-01T10:00:00Z", "type": "response_item", "payload": payload}

    yield {"type": "session_meta", "payload": {"id": "thread", "cwd": "/work"}}
    begin: Row = {"type": "message", "role": "user"}
    begin["content"] = [{"type": "input_text", "text": "Go on."}]
    yield item(**begin)
    for n in count():
        if n and n % 800 == 0:
            yield {"type": "compacted", "payload": {"message": "", "replacement_history": [begin]}}
        arguments = json.dumps({"cmd": f"ls {n}"})
        yield item(type="function_call", name="exec", arguments=arguments, call_id=f"c{n}")
        yield item(type="function_call_output", call_id=f"c{n}", output=f"{n}\n{OUTPUT}")


def pi() -> Iterator[Row]:
    yield {"type": "session", "version": 3, "id": "s", "cwd": "/work"}
    parent = None
    for n in count():
        if n and n % 800 == 0:
            yield {"type": "compaction", "id": f"k{n}", "parentId": parent, "summary": "Much.",
                   "firstKeptEntryId": f"r{n - 10}", "tokensBefore": 90_000}  # fmt: skip
            parent = f"k{n}"
        call = {"type": "toolCall", "id": f"c{n}", "name": "bash", "arguments": {"command": "ls"}}
        said = {"role": "assistant", "content": [call], "stopReason": "toolUse"}
        yield {"type": "message", "id": f"a{n}", "parentId": parent, "message": said}
        shown = [{"type": "text", "text": f"{n}\n{OUTPUT}"}]
        result = {"role": "toolResult", "toolCallId": f"c{n}", "content": shown}
        yield {"type": "message", "id": f"r{n}", "parentId": f"a{n}", "message": result}
        parent = f"r{n}"


def gemini_cli() -> Iterator[Row]:
    yield {"sessionId": "s", "projectHash": "0", "kind": "main"}
    for n in count():
        if n and n % 400 == 0:
            begin = {"id": f"s{n}", "type": "user", "content": [{"text": "<state_snapshot/>"}]}
            yield {"$set": {"messages": [begin]}}
        response = {"functionResponse": {"id": f"c{n}", "response": {"output": f"{n}\n{OUTPUT}"}}}
        call = {"id": f"c{n}", "name": "shell", "args": {"command": "ls"}, "result": [response]}
        said = {"id": f"a{n}", "type": "gemini", "content": "I look."}
        yield said
        yield {**said, "toolCalls": [call]}
        yield {"id": f"u{n}", "type": "user", "content": [response]}


def copilot_cli() -> Iterator[Row]:
    def event(kind: str, **data: Any) -> Row:
        return {"type": kind, "data": data, "id": "e", "parentId": None}

    yield event("session.start", sessionId="s")
    for n in count():
        if n and n % 800 == 0:
            yield event("session.compaction_start")
            yield event("session.compaction_complete", success=True, summaryContent="Much.")
        request = {"toolCallId": f"c{n}", "name": "bash", "arguments": {"command": "ls"}}
        yield event("assistant.message", content="", toolRequests=[request], apiCallId=f"{n}")
        result = {"content": f"{n}\n{OUTPUT}"}
        yield event("tool.execution_complete", toolCallId=f"c{n}", success=True, result=result)


FILES: dict[str, Callable[[], Iterator[Row]]] = {
    "claude-code": claude_code,
    "claude-code-never-compacted": claude_code_never_compacted,
    "codex": codex,
    "pi": pi,
    "gemini-cli": gemini_cli,
    "copilot-cli": copilot_cli,
}


def written(path: Path, rows: Iterator[Row], size: int) -> Iterator[Row]:
    """Write rows until the file has this size; returns the remaining rows."""
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(json.dumps(next(rows)).encode() + b"\n")
    return rows


def opencode(path: Path, size: int) -> None:
    """A database with one session of this size."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE session (id PRIMARY KEY, parent_id, directory, title, revert, "
            "time_updated); CREATE TABLE message (id PRIMARY KEY, session_id, time_created, "
            "time_updated, data); CREATE TABLE part (id PRIMARY KEY, message_id, time_updated, "
            "data); CREATE INDEX by_session ON message (session_id, time_created, id); "
            "CREATE INDEX by_message ON part (message_id, id); "
            "INSERT INTO session VALUES ('ses', NULL, '/work', 'Much', NULL, 1);"
        )
        for n in range(size // len(OUTPUT)):
            _step(db, n)
        db.commit()


def _step(db: sqlite3.Connection, n: int) -> None:
    ids = f"msg_{n:09}", f"prt_{n:09}"
    about: Row = {"role": "assistant", "parentID": "msg", "modelID": "m"}
    part: Row = {"type": "tool", "tool": "bash", "callID": f"c{n}"}
    part["state"] = {"status": "completed", "input": {}, "output": f"{n}\n{OUTPUT}"}
    if n % 800 == 0:  # a user's message that asks for a summary, and the summary
        about, part = {"role": "user"}, {"type": "compaction"}
    elif n % 800 == 1:
        about |= {"parentID": f"msg_{n - 1:09}", "summary": True, "finish": "stop"}
        part = {"type": "text", "text": "Much."}
    db.execute("INSERT INTO message VALUES (?, 'ses', ?, 1, ?)", (ids[0], n, json.dumps(about)))
    db.execute("INSERT INTO part VALUES (?, ?, 1, ?)", (ids[1], ids[0], json.dumps(part)))


def measured(path: Path) -> None:
    """Read a transcript, wait until it has grown, read it again; print the cost."""
    readings = Readings()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2):
        started = time.perf_counter()
        messages = len(readings.look(path).messages)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps([seconds, peak / 1000, messages, before / 1000]), flush=True)
        sys.stdin.readline()


def main() -> None:
    size = int(sys.argv[1] if len(sys.argv) > 1 else 500) * MEGABYTE
    names = sys.argv[2:] or [*FILES, "opencode"]
    print(f"{'host':30}{'MB':>6}{'first look':>12}{'peak':>10}{'grown':>12}{'messages':>10}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "transcript"
            rest = iter(())
            if name == "opencode":
                opencode(path, size)
            else:
                rest = written(path, FILES[name](), size)
            command = [sys.executable, __file__, "--read", str(path)]
            with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as reader:
                assert reader.stdin and reader.stdout
                first = json.loads(reader.stdout.readline())
                if name == "opencode":
                    with closing(sqlite3.connect(path)) as db:
                        _step(db, size // len(OUTPUT) + 2)
                        db.commit()
                else:
                    with path.open("ab") as file:
                        file.write(json.dumps(next(rest)).encode() + b"\n")
                reader.stdin.write("\n")
                reader.stdin.flush()
                second = json.loads(reader.stdout.readline())
                reader.stdin.write("\n")
            print(
                f"{name:30}{path.stat().st_size // MEGABYTE:6}{first[0]:10.2f} s"
                f"{second[1]:7.0f} MB{second[0] * 1000:9.0f} ms{second[2]:10,}"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        measured(Path(sys.argv[2]))
    else:
        main()
