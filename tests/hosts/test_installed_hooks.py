"""The server says which hosts have hooks of another version than its own."""

import json
import shutil
from pathlib import Path

import pytest
from mcp import Client
from mcp_door import answer_of, workspace_in

from context_compression.hosts import BY_NAME, Machine, Server
from context_compression.hosts.claude_code.install_plugin import FOLDER, MARKET, PLUGIN
from context_compression.hosts.sentences import outdated_hooks
from context_compression.hosts.setup import installing
from context_compression.mcp_server import create_server

HOOKED = [name for name, host in BY_NAME.items() if host.hooks]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Machine("linux", {}, tmp_path / "home", tmp_path / "project")


def installed(name: str, machine: Machine) -> list[Path]:
    """Our hooks in a host, and their files."""
    additions = BY_NAME[name].hook_additions(machine, Server("/opt/older/context-compression"))
    installing.install(additions, machine.home)
    return [addition.path for addition in additions]


def test_all_hosts_with_files_of_hooks_are_tried() -> None:
    assert HOOKED == ["codex", "gemini-cli", "opencode", "pi"]


@pytest.mark.parametrize("name", HOOKED)
def test_hooks_of_this_version_are_current_whatever_command_they_start(
    name: str, machine: Machine
) -> None:
    assert outdated_hooks(machine) == []

    installed(name, machine)

    assert outdated_hooks(machine) == []


@pytest.mark.parametrize("name", HOOKED)
def test_hooks_of_another_version_are_named_with_what_to_run(name: str, machine: Machine) -> None:
    for path in installed(name, machine):
        text = path.read_text(encoding="utf-8")
        older = text.replace("2_000", "1_000").replace('"timeout": 10,', '"timeout": 9,')
        path.write_text(older if older != text else f"{text}\n", encoding="utf-8")

    [said] = outdated_hooks(machine)

    title = BY_NAME[name].title
    assert said == (
        f"the hooks installed in {title} are of another version; run "
        f"`context-compression install {name}`"
    )


def test_a_plugin_of_claude_code_is_compared_by_its_hooks(machine: Machine, tmp_path: Path) -> None:
    root = shutil.copytree(FOLDER, tmp_path / "older")
    settings = {
        "enabledPlugins": {PLUGIN: True},
        "extraKnownMarketplaces": {MARKET: {"source": {"path": str(root)}}},
    }
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    same = outdated_hooks(machine)
    (root / "hooks" / "register.ts").write_text("// older", encoding="utf-8")

    [said] = outdated_hooks(machine)

    assert same == []
    assert said.startswith("the hooks installed in Claude Code are of version 0.1.0, and not of")
    assert said.endswith("run `context-compression install claude-code`")


@pytest.mark.anyio
async def test_status_says_so(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    machine = Machine("linux", {}, workspace.home, workspace.cwd)
    [path] = installed("pi", machine)
    path.write_text("// older", encoding="utf-8")

    async with Client(create_server(workspace)) as client:
        status = await client.call_tool(
            "context_status", {"messages": [{"role": "user", "content": "Hello."}]}
        )

    assert "the hooks installed in Pi are of another version" in answer_of(status).text
