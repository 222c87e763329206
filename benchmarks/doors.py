"""What comes through the doors: the command, the server of the tools, the hooks of hosts."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from digests import Parts, Runs, of_files, parts
from recordings import FOLDER
from still import PLACE
from views import DIALECTS, STRATEGIES

import context_compression
from context_compression.testing import conversation

NATIVE = FOLDER.resolve().parent / "native"
PROJECT = PLACE / "project"
"""Where the programs work; not at home, for there is more than an agent may read."""
STORE, HOME = PROJECT / "store", PLACE / "home"
TODAY = re.compile(time.strftime(r"%Y-%m-%d[ T]\d\d:\d\d(:\d\d)?", time.gmtime()))
"""When a file was written, which is told of an archive."""
SAID = {"reasons", "repairs", "notes", "warnings", "method"}
"""Of the command's facts what only people read."""
LONG = "\n".join(f"src/part_{n % 7}.c:{n}: warning: unused variable v{n}" for n in range(900))
"""What a tool printed."""
Facts = dict[str, Any]


def command(each: int) -> Runs:
    empty()
    with obeying() as order:
        for at, path in enumerate(transcripts()[::each]):
            yield from commanded(order, path, more=at % 8 == 1)


def transcripts() -> list[Path]:
    """As hosts wrote them, in an order that mixes the hosts."""
    return sorted(NATIVE.rglob("*.gz"), key=lambda path: (path.name[-12:], path.name))


class Orders:
    """Gives orders to the command, one after another."""

    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self._child = child

    def __call__(self, *words: str, told: str = "") -> tuple[Parts, Facts]:
        """What the command says and how it ends; its facts, where it gives them as JSON."""
        line = json.dumps({"words": ["--store", "store", *words], "input": told})
        ended: dict[str, Any] = json.loads(asked(self._child, line))
        facts = facts_in(ended["out"])
        said = {name: facts[name] for name in facts if name in SAID}
        found = parts(error=ended["code"], words=[ended["err"], said])
        if not facts:
            return found | parts(view=TODAY.sub("today", ended["out"])), {}
        kept = {name: facts[name] for name in facts if name not in (*SAID, "messages")}
        return found | parts(view=facts.get("messages"), counts=kept), facts


def asked(child: "subprocess.Popen[str]", line: str) -> str:
    """The line that comes back for one."""
    assert child.stdin and child.stdout
    child.stdin.write(line + "\n")
    child.stdin.flush()
    return child.stdout.readline()


def facts_in(text: str) -> Facts:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        return {}


@contextmanager
def started(*words: str) -> "Generator[subprocess.Popen[str]]":
    """A program of this folder, which reads and writes lines."""
    order = [sys.executable, *words]
    with subprocess.Popen(
        order, cwd=PROJECT, env=environment(), text=True, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        yield child
        assert child.stdin
        child.stdin.close()


@contextmanager
def obeying() -> Generator[Orders]:
    with started(str(Path(__file__).with_name("orders.py"))) as child:
        yield Orders(child)


@cache
def environment() -> dict[str, str]:
    """That of the programs: the same package, and nothing that would change what they do."""
    server = Path(context_compression.__file__).parents[1]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return kept | {"PYTHONPATH": str(server), "LANG": "C.UTF-8"}


def commanded(order: Orders, path: Path, *, more: bool) -> Runs:
    """A transcript through the command; `more`: through all of it."""
    name = path.name.split(".")[0]
    ended, facts = order("status", str(path), "--json")
    yield f"{name} status of the file", ended
    target = str(max(1, int(facts.get("used_tokens", 0)) // 4))
    ended, facts = order("compress", str(path), "--target-tokens", target, "--json")
    yield f"{name} compress the file", ended
    yield f"{name} compress the file, on disk", of_files(STORE)
    if more:
        for words in further(str(path), target, facts):
            hidden = (str(path), target, str(facts.get("session")))
            said = " ".join("…" if word in hidden else word for word in words)
            yield f"{name} {said}", order(*words)[0]
        yield f"{name} in the end, on disk", of_files(STORE)
        yield f"{name} in the end, at home", of_files(HOME)
    empty()


def empty() -> None:
    """The project and home, with nothing in them; programs that work there go on."""
    for folder in (PROJECT, HOME):
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def further(there: str, target: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Orders that follow the compression of a transcript."""
    to = ("--target-tokens", target)
    for strategy in STRATEGIES:
        yield ("compress", there, *to, "--strategy", strategy, "--dry-run", "--json")
    ref = next(iter(facts.get("refs") or ["ffff"]))
    session = str(facts.get("session"))
    yield ("compress", there, "--target-tokens", "1")
    yield ("compress", there, *to, "--focus", "the tests", "--pin", "1", "--set", "keep_recent=2")
    yield ("compress", there, *to, "--summarizer", "caller", "--strategy", "summarize", "--json")
    yield ("compress", there, *to, "--output", "view.json")
    yield ("status", "view.json")
    yield ("status", session)
    yield ("status",)
    yield ("restore", ref)
    yield ("restore", ref, "--lines", "1-3", "--json")
    yield ("restore", "--query", "error test", "--json")
    yield ("restore", "--query", "error test")
    yield ("summaries", "--json")
    yield ("config", "keep_recent=4", "--json")
    yield ("config",)
    yield ("archive",)
    yield ("compress", session, "--undo", "--json")
    for host in ("claude-code", "codex", "pi"):
        yield ("export", there, "--host", host, *to, "--json")
    yield ("install",)
    yield ("install", "claude-code", "--dry-run")
    yield ("no-such-command",)


def server(each: int) -> Runs:
    for dialect in DIALECTS[:: min(2 * each, 5)]:
        empty()
        yield from served(dialect, conversation(12, 9, dialect))


def served(name: str, messages: Any) -> Runs:
    """A conversation through all tools."""
    (PROJECT / "chat.json").write_text(json.dumps(messages), encoding="utf-8")
    words = ("--store", "store", "serve")
    with started("-c", SERVE, str(Path(__file__).parent), *words) as child:
        client = {"name": "fingerprints", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        yield f"{name} initialize", parts(words=called(child, "initialize", hello))
        assert child.stdin
        child.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        yield f"{name} tools", parts(words=called(child, "tools/list", {}))
        yield f"{name} prompts", parts(words=called(child, "prompts/list", {}))
        known: dict[str, Any] = {"ref": "", "plan_id": ""}
        for number, (tool, arguments) in enumerate(calls(messages), 1):
            filled = {key: known.get(str(value), value) for key, value in arguments.items()}
            told = called(child, "tools/call", {"name": f"context_{tool}", "arguments": filled})
            facts: Facts = told["result"].get("structuredContent") or {}
            known["ref"] = next(iter(facts.get("refs", ())), known["ref"])
            known |= {name: facts[name] for name in known if facts.get(name)}
            found = parts(counts=facts, words=told, error=told["result"]["isError"])
            yield f"{name} {number} {tool} {' '.join(arguments)}", found
        yield f"{name} on disk", of_files(STORE)


SERVE = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
import still
del sys.path[0]
runpy.run_module("context_compression", run_name="__main__", alter_sys=True)
"""


def called(child: "subprocess.Popen[str]", method: str, arguments: Facts) -> Facts:
    """What the server answers to a request."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": arguments}
    answer = asked(child, json.dumps(request))
    while "method" in (told := json.loads(answer)):  # it says something of its own
        assert child.stdout
        answer = child.stdout.readline()
    return told


def calls(messages: Any) -> Iterator[tuple[str, Facts]]:
    """Calls of tools; `ref` and `plan_id` stand for what came before."""
    file = {"conversation": "chat.json"}
    yield "status", file
    yield "status", {"messages": messages, "response_format": "detailed"}
    yield "compress", {"messages": messages, "target_tokens": 3_000}
    yield "compress", {**file, "target_tokens": 3_000, "dry_run": True}
    yield "compress", {**file, "target_tokens": 2_500, "focus": "the tests", "pins": ["1"]}
    yield "compress", {**file, "target_tokens": 1}
    yield "restore", {"ref": "ref"}
    yield "restore", {"ref": "ref", "lines": "1-3"}
    yield "restore", {"query": "error session"}
    yield "offload", {"content": LONG}
    yield "offload", {**file, "min_tokens": 300}
    yield "compress", {**file, "strategy": "summarize", "settings": {"summarizer": "caller"}}
    yield "compress", {**file, "plan_id": "plan_id", "summary": "## Goal\nAs it was."}
    yield "compress", {"summary": "A checkpoint: the tests pass."}
    yield "summary", {}
    yield "config", {}
    yield "config", {"keep_recent": 3}
    yield "compress", {**file, "undo": True}
    yield "status", {"conversation": "no-such.json"}


def hooks(each: int) -> Runs:
    empty()
    with obeying() as order:
        for host, event in events():
            told = json.dumps({"session_id": "s1", "cwd": str(PROJECT), **event})
            found = order("hook", host, told=told)[0]
            yield f"{host} {event.get('hook_event_name')} {event.get('source', '')}", found
            yield f"{host} {event.get('hook_event_name')}, on disk", of_files(STORE)


def events() -> Iterator[tuple[str, Facts]]:
    """What hosts tell: a long output, and a compaction of their own."""
    command = {"command": "make"}
    bash = {"tool_name": "Bash", "tool_use_id": "c1", "tool_input": command}
    printed = {"stdout": LONG, "stderr": "", "interrupted": False, "isImage": False}
    transcript = {"transcript_path": written(HOME / ".claude/projects/p/s1.jsonl")}
    about = {**bash, "permission_mode": "default", **transcript}
    yield "claude-code", {"hook_event_name": "PostToolUse", **about, "tool_response": printed}
    yield "claude-code", {"hook_event_name": "PreCompact", "trigger": "auto", **transcript}
    yield "claude-code", {"hook_event_name": "SessionStart", "source": "compact", **transcript}
    yield "codex", {"hook_event_name": "PostToolUse", **bash, "tool_response": LONG}
    said = {"tool_name": "run_shell_command", "tool_response": {"llmContent": LONG}}
    yield "gemini-cli", {"hook_event_name": "AfterTool", **said, "tool_input": command}
    shown = {"text": LONG, "shown": LONG}
    ran = {"tool": "bash", "callID": "c1", "args": command}
    yield "opencode", {"hook_event_name": "tool.execute.after", **ran, **shown}
    made = {"toolName": "bash", "toolCallId": "c1", "input": command}
    yield "pi", {"hook_event_name": "tool_result", **made, **shown}
    yield "pi", {"hook_event_name": "nothing we know"}


def written(path: Path) -> str:
    """A transcript as Claude Code writes it."""
    rows: list[Facts] = []
    for at, message in enumerate(conversation(40, 3)):
        kind = message["role"]
        more = {"id": f"msg_{at}", "model": "claude-opus-4-5"} if kind == "assistant" else {}
        row = {"type": kind, "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None}
        rows.append({**row, "sessionId": "s1", "message": {**message, **more}})
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
