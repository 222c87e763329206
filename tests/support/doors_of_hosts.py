"""The doors of programs that run us: the tools, plain HTTP, the command, the hooks of hosts."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from click.testing import CliRunner
from door import STORE, About, Ask, Door, Request, archived_in, in_store, of_session, session_in
from generated import Messages
from mcp import Client
from mcp_door import Answer, ask, connected, workspace_in, write_transcript
from plain_http import Answered
from plain_http import asked as asked_http

from context_compression import Session, hosts, restore_tool
from context_compression.cli import main
from context_compression.errors import StoreError, UnknownRef
from context_compression.hooks import compressed_text, view_to_send
from context_compression.hosts import NOTHING, answer, never_failing
from context_compression.testing import Dialect
from context_compression.workspace import Workspace

ID = "11111111-2222-4333-8444-555555555555"
HOSTS_DIALECT: Sequence[Dialect] = ("anthropic",)
Called: TypeAlias = Callable[[Client], Coroutine[Any, Any, Answer]]


def _workspace(folder: Path, asked: Ask) -> Workspace:
    environ = {name: value for name, value in os.environ.items() if name.startswith("OPENAI_")}
    environ |= {
        f"CONTEXT_COMPRESSION_{name.upper()}": str(value) for name, value in asked.settings.items()
    }
    return workspace_in(folder, environ | {"CONTEXT_COMPRESSION_DIR": str(folder / STORE)})


def _asked(
    workspace: Workspace, folder: Path, target: int, **arguments: Any
) -> tuple[Answer, About]:
    """The answer of `context_compress`; where the target is refused, the one without.

    Returns:
        The answer; and the target that it had to meet, or its refusal.
    """

    async def called() -> tuple[Answer, About]:
        async with connected(workspace) as client:
            call = partial(ask, client, "context_compress", **arguments)
            answer = await call(target_tokens=target)
            if not answer.failed:
                return answer, About(limit=target)
            written = archived_in(folder)
            return await call(), About(refusal=answer.text, written=written)

    answer, about = asyncio.run(called())
    assert "Traceback" not in answer.text
    return answer, about


def refused_as(met: About, about: About) -> About:
    """What a caller can learn, with the refusal that came first."""
    return replace(about, refusal=met.refusal, written=met.written)


def _tool(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """The tool `context_compress`, given all messages."""
    workspace = _workspace(folder, asked)
    answer, met = _asked(workspace, folder, asked.target(messages), messages=messages)
    if not answer.failed:
        view = answer.facts.get("messages", messages)
        about = in_store(folder / STORE, [answer.text], met.limit)
        yield Request(messages, view, refused_as(met, about))


def _tool_on_transcript(
    dialect: Dialect, messages: Messages, asked: Ask, folder: Path
) -> Iterator[Request]:
    """The tool, given the path of a host's transcript; what it makes is in our record."""
    workspace = _workspace(folder, asked)
    path = write_transcript(workspace.cwd / f"{ID}.jsonl", messages, session=ID)
    history = hosts.read(path).messages
    answer, met = _asked(workspace, folder, asked.target(history), conversation=str(path))
    if not answer.failed:
        session = Session(folder / STORE, ID)
        view = session.view(history)
        about = replace(of_session(session), told=[answer.text], limit=met.limit)
        yield Request(history, view, refused_as(met, about))


def _refused(answered: Answered) -> StoreError:
    assert answered.status in (409, 422, 503), answered.facts
    return StoreError(answered.message)


def _told_in(facts: Mapping[str, Any]) -> list[str]:
    return [*facts["warnings"], facts.get("report", {}).get("headline", "")]


def _http(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """`POST /v1/compress`, given all messages; where the target is refused, the smallest one."""
    workspace, target = _workspace(folder, asked), asked.target(messages)
    refusal, written = "", ()
    call = partial(asked_http, workspace, "/v1/compress")
    answered = call({"messages": messages, "target_tokens": target})
    if answered.kind == "BudgetTooSmall":
        refusal, written = answered.message, archived_in(folder)
        target = answered.facts["error"]["floor_tokens"]
        answered = call({"messages": messages, "target_tokens": target})
    if answered.status != 200:
        raise _refused(answered)
    about = in_store(folder / STORE, _told_in(answered.facts), target)

    def restore(ref: str) -> str:
        return _brought_back(workspace, ref)

    about = replace(about, refusal=refusal, written=written, restore=restore)
    yield Request(messages, answered.facts["messages"], about)


def _http_fit(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """`POST /v1/fit` before each request, with the tool where the program offers it."""
    workspace = _workspace(folder, asked)
    tools = [restore_tool(session_in(folder, asked)).anthropic] if asked.restores else []
    for history, system in asked.growing(messages):
        body = {"session": "one", "messages": history, "system": system, "tools": tools}
        answered = asked_http(workspace, "/v1/fit", body)
        if answered.status != 200:
            raise _refused(answered)
        about = of_session(session_in(folder, asked), history)

        def restore(ref: str) -> str:
            return _brought_back(workspace, ref)

        told = [*about.told, *_told_in(answered.facts)]
        yield Request(
            history, answered.facts["messages"], replace(about, told=told, restore=restore)
        )


def _brought_back(workspace: Workspace, ref: str) -> str:
    answered = asked_http(workspace, "/v1/restore", {"ref": ref})
    if answered.status == 404:
        raise UnknownRef(answered.message)
    assert answered.status == 200, answered.facts
    return answered.facts["text"]


def _command(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """The command `compress`, given a file."""
    given, out = folder / "chat.json", folder / "small.json"
    given.write_text(json.dumps(messages))
    settings = [f"--set={name}={value}" for name, value in asked.settings.items()]
    command = ["compress", str(given), "--output", str(out), *settings]
    environ = {
        "CONTEXT_COMPRESSION_DIR": str(folder / STORE), "HOME": str(folder), "USERPROFILE": ""
    }  # fmt: skip
    runner = CliRunner(env=environ)
    limit: int | None = asked.target(messages)
    done, met = runner.invoke(main, [*command, "--target-tokens", str(limit)]), About()
    if done.exit_code:
        met = About(refusal=done.output, written=archived_in(folder))
        limit, done = None, runner.invoke(main, command)
    assert "Traceback" not in done.output
    if out.exists():
        view = json.loads(out.read_text())
        about = in_store(folder / STORE, [done.output], limit)
        yield Request(messages, view, refused_as(met, about))


def _hooks(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """The hooks of hosts that let us replace a request; each event is a process of its own."""
    for history, _ in asked.growing(messages):
        session, view = session_in(folder, asked), None
        with never_failing("a host"):
            view = view_to_send(session, history)
        view = history if view is None else view
        yield Request(history, view, of_session(session, history))


def _summary(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """The hooks of hosts that take a text for all that leaves their context."""
    session, text = session_in(folder, asked), ""
    with never_failing("a host"):
        text = compressed_text(session, messages)
    if text:
        view = [{"role": "user", "content": text}]
        yield Request(messages, view, replace(of_session(session), limit=None))


def _told(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(asyncio.run(answer("claude-code", workspace, event)) or NOTHING)


def _claude_code(
    messages: Messages, asked: Ask, folder: Path
) -> tuple[Workspace, dict[str, Any], Messages]:
    """A session of Claude Code: what its events hold, and its messages."""
    workspace = _workspace(folder, asked)
    path = workspace.home / ".claude" / "projects" / "-project" / f"{ID}.jsonl"
    write_transcript(path, messages, session=ID)
    event = {"session_id": ID, "transcript_path": str(path), "cwd": str(workspace.cwd)}
    return workspace, event, hosts.read(path).messages


def _summarised(
    dialect: Dialect, messages: Messages, asked: Ask, folder: Path
) -> Iterator[Request]:
    """A compaction that the host does itself: all may go, and our notice is what comes after."""
    workspace, event, history = _claude_code(messages, asked, folder)
    _told(workspace, event | {"hook_event_name": "PreCompact", "trigger": "manual"})
    after = _told(workspace, event | {"hook_event_name": "SessionStart", "source": "compact"})
    notice = after.get("hookSpecificOutput", {}).get("additionalContext")
    if notice:
        view = [{"role": "user", "content": f"<system-reminder>{notice}</system-reminder>"}]
        about = of_session(Session(folder / STORE, ID))
        yield Request(history, view, replace(about, told=[notice], limit=None))


def _compacted(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """A compaction of the host that our view answers, row by row."""
    workspace, event, history = _claude_code(messages, asked, folder)
    handles = [f"u{number}" for number in range(len(messages))]
    words = f"keep {asked.target(history)} tokens"
    about = {"hook_event_name": "session.compact", "trigger": "manual", "handles": handles}
    rows = _told(workspace, event | about | {"instructions": words}).get("messages")
    if rows is not None:
        view = [messages[row] if isinstance(row, int) else _message_of(row) for row in rows]
        told = of_session(Session(folder / STORE, ID))
        yield Request(history, view, replace(told, limit=None))


def _message_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The message that the host makes of a new row."""
    content: list[dict[str, Any]] = [
        {
            "type": "tool_result", "tool_use_id": each["tool_use_id"], "content": each["text"],
            "is_error": each["isError"],
        }
        for each in row.get("toolResults", ())
    ]  # fmt: skip
    content += [{"type": "text", "text": row["text"]}] if row["text"] else []
    content += (
        {"type": "tool_use", "id": use["tool_use_id"], "name": use["tool"], "input": use["input"]}
        for use in row["toolUses"]
    )
    return {"role": row["role"], "content": content}


OF_HOSTS = (
    Door("context_compress", _tool, is_slow=True, makes_own=True),
    Door(
        "context_compress on a transcript", _tool_on_transcript, is_slow=True, makes_own=True,
        dialects=HOSTS_DIALECT,
    ),
    Door("compress over HTTP", _http, is_slow=True, makes_own=True),
    Door(
        "fit over HTTP", _http_fit, is_slow=True, makes_own=True, grows=True, takes_system=True
    ),
    Door("command", _command, is_slow=True, makes_own=True),
    Door("hooks", _hooks, grows=True, tells=False, makes_own=True, answers=True),
    Door(
        "hooks that take a summary", _summary, tells=False, makes_own=True, answers=True,
        replaces=True,
        dialects=HOSTS_DIALECT,
    ),
    Door(
        "a host's own compaction", _summarised, tells=False, makes_own=True, answers=True,
        replaces=True,
        dialects=HOSTS_DIALECT, is_slow=True,
    ),
    Door(
        "a compaction that we answer", _compacted, tells=False, makes_own=True, answers=True,
        replaces=True,
        dialects=HOSTS_DIALECT, is_slow=True,
    ),
)  # fmt: skip
