"""The proxy between real clients and a provider that checks what it is sent.

The SDKs of Anthropic and OpenAI for Python and TypeScript, Claude Code and Codex do two windows'
worth of work. None of them has a plugin, and none of them sees `context_restore`.
"""

import asyncio
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from checking_provider import CheckingProvider, assert_sound
from other_hosts import CODEX, Codex, with_node
from proxied import Proxied
from real_hosts import CLAUDE_CODE, ClaudeCode, Desk, Package
from scripted_agent import AgentModel, Way, file_text, task
from sdk_agents import AGENTS
from wires import MESSAGES, RESPONSES, WIRES, Json

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "support" / "clients" / "sdk_agent.mjs"
TYPESCRIPT = {
    "messages": Package("anthropic-typescript", "@anthropic-ai/sdk", "1.14.0"),
    "chat": Package("openai-typescript", "openai", "7.59.0"),
    "responses": Package("openai-typescript", "openai", "7.59.0"),
}
BUDGET = 30_000
STEPS = 27
RESTORES: Mapping[int, Way] = {16: "one", 19: "several", 22: "beside", 25: "search"}
WORDS = ("Go on.",)
WORK = AgentModel(STEPS, RESTORES, pauses=(12,))
BESIDE_HOSTS = 25_000
"""Tokens of the system prompts and tools of hosts."""


def assert_unseen(key: str, history: Sequence[Json], said: Sequence[str]) -> None:
    """The client has every word of the model once, and knows nothing of our tool."""
    assert "context_restore" not in json.dumps(history)
    assert "".join(WIRES[key].said(history)) == "".join(said)


@pytest.mark.parametrize("key", AGENTS)
def test_an_sdk_for_python_works_on_behind_the_proxy(key: str, tmp_path: Path) -> None:
    wire, agent = AGENTS[key]

    async def both(url: str) -> Sequence[list[Json]]:
        streaming = agent(url, "streamed", WORDS, stream=True)
        return await asyncio.gather(streaming, agent(url, "whole", WORDS, stream=False))

    with (
        CheckingProvider(wire, WORK, BUDGET) as provider,
        Proxied(tmp_path, provider.url, BUDGET) as proxy,
    ):
        histories = asyncio.run(both(proxy.of_sdk))

    assert_sound(provider, ["streamed", "whole"], STEPS)
    for name, history in zip(["streamed", "whole"], histories, strict=True):
        assert_unseen(key, history, provider.work(name).said)
    assert sum(" tokens, " in line for line in proxy.told) >= 4  # one line for each compaction


@pytest.mark.parametrize("key", TYPESCRIPT)
def test_an_sdk_for_typescript_works_on_behind_the_proxy(key: str, tmp_path: Path) -> None:
    folder = TYPESCRIPT[key].installed().parents[2]
    files = tmp_path / "files"
    files.mkdir()
    ways = {"streamed": "stream", "whole": "whole"}
    for name in ways:
        write(files, name, f"{name}-{{}}.txt")

    with (
        CheckingProvider(WIRES[key], WORK, BUDGET) as provider,
        Proxied(tmp_path, provider.url, BUDGET) as proxy,
    ):
        running = [
            subprocess.Popen(
                ["node", SCRIPT, folder, key, how, proxy.of_sdk, files,
                 json.dumps([task(name), *WORDS])],
                env=with_node(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for name, how in ways.items()
        ]  # fmt: skip
        ended = [process.communicate(timeout=60) for process in running]

    for name, (printed, errors) in zip(ways, ended, strict=True):
        assert printed, errors[-2_000:]
        assert_unseen(key, json.loads(printed), provider.work(name).said)
    assert_sound(provider, [*ways], STEPS)


def test_claude_code_works_on_behind_the_proxy(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    write(desk.project, "claude", "{}.txt")
    model = AgentModel(STEPS, RESTORES, pauses=(12,), reads=printing)
    claude = ClaudeCode(CLAUDE_CODE.installed(), desk, ("--allowedTools", "Bash"))
    budget = BUDGET + BESIDE_HOSTS

    with (
        CheckingProvider(MESSAGES, model, budget) as provider,
        Proxied(tmp_path / "proxy", provider.url, budget) as proxy,
    ):
        began = claude.ask(proxy, task("claude"))
        session = next(event["session_id"] for event in began.events if "session_id" in event)
        went_on = claude.ask(proxy, "Go on.", "--resume", session)

    assert_sound(provider, ["claude"], STEPS)
    assert "context_restore" not in began.stdout + went_on.stdout
    written = "".join(path.read_text("utf-8") for path in claude.transcripts())
    assert "context_restore" not in written
    assert written.count("Next is file ") == STEPS


def test_codex_works_on_behind_the_proxy(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    write(desk.project, "codex", "{}.txt")
    model = AgentModel(STEPS, RESTORES, pauses=(12,), reads=executing)
    codex = Codex(CODEX.installed(), desk)
    budget = BUDGET + BESIDE_HOSTS

    with (
        CheckingProvider(RESPONSES, model, budget) as provider,
        Proxied(tmp_path / "proxy", provider.url, budget) as proxy,
    ):
        began = codex.ask(proxy, task("codex"))
        session = began.events[0]["thread_id"]
        went_on = codex.ask(proxy, "Go on.", session=session)

    assert_sound(provider, ["codex"], STEPS)
    assert "context_restore" not in began.stdout + went_on.stdout
    written = "".join(path.read_text("utf-8") for path in codex.rollouts())
    assert "context_restore" not in written


def write(folder: Path, name: str, called: str) -> None:
    """The files of a work."""
    for number in range(1, STEPS + 1):
        (folder / called.format(number)).write_text(file_text(name, number), "utf-8")


def executing(_: str, number: int) -> tuple[str, dict[str, Any]]:
    """The call of Codex that prints a file."""
    return "exec_command", {"cmd": f"cat {number}.txt"}


def printing(_: str, number: int) -> tuple[str, dict[str, Any]]:
    """The call of Claude Code that prints a file."""
    return "Bash", {"command": f"cat {number}.txt", "description": "Prints a file"}
