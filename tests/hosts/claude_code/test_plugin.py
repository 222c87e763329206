"""The plugin's folder as it is installed, how it finds our command, and that command."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import context_compression
from context_compression.testing import conversation

PLUGIN = Path(context_compression.__file__).parent / "hosts" / "claude_code" / "plugin"
POSIX = pytest.mark.skipif(shutil.which("sh") is None, reason="no sh to start it with")


def read(name: str) -> Any:
    return json.loads((PLUGIN / name).read_bytes())


def files_of(folder: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_plugin_is_in_the_package_and_of_its_version() -> None:
    about = read(".claude-plugin/plugin.json")
    [listed] = read(".claude-plugin/marketplace.json")["plugins"]

    assert about["version"] == version("context-compression")
    assert listed["name"] == about["name"]
    assert (PLUGIN / listed["source"] / "hooks" / "hooks.json").is_file()


def test_the_repository_is_a_marketplace_of_the_same_plugin() -> None:
    """`claude plugin marketplace add <repository>` looks for it at the root."""
    root = Path(__file__).parents[3]
    outer = json.loads((root / ".claude-plugin" / "marketplace.json").read_bytes())
    inner = read(".claude-plugin/marketplace.json")
    [listed], [of_plugin] = outer.pop("plugins"), inner.pop("plugins")

    assert outer == inner
    assert listed | {"source": of_plugin["source"]} == of_plugin
    named = root / listed["source"]
    assert files_of(named) == files_of(PLUGIN)  # the package may be installed elsewhere


def test_hooks_call_the_server_of_the_plugin() -> None:
    about, hooks = read(".claude-plugin/plugin.json"), read("hooks/hooks.json")
    [server] = about["mcpServers"]
    [module] = hooks["modules"]
    assert (PLUGIN / "hooks" / module).is_file()
    name = f"plugin:{about['name']}:{server}"

    [after_tool] = hooks["hooks"]["PostToolUse"]

    assert [hook["server"] for hook in after_tool["hooks"]] == [name]
    matching = re.compile(after_tool["matcher"])
    assert all(map(matching.fullmatch, ("Bash", "Read", "Agent", "mcp__github__get_issue")))
    ours = f"mcp__plugin_{about['name']}_{server}__context_restore"
    assert not any(map(matching.fullmatch, ("Edit", "Write", "Skill", ours)))
    assert len(ours.replace("restore", "compress")) <= 64  # as long as some providers take names


def test_no_hook_can_block_the_host() -> None:
    hooks = read("hooks/hooks.json")["hooks"]
    commands = [hook for groups in hooks.values() for group in groups for hook in group["hooks"]]

    assert all(hook["timeout"] <= 60 for hook in commands)
    assert all(
        hook["command"].endswith("|| true") for hook in commands if hook["type"] == "command"
    )


def script(path: Path, said: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho {said} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@POSIX
def test_the_plugin_starts_the_installation_it_came_with(tmp_path: Path) -> None:
    site = tmp_path / "my env" / "lib" / "python3.11" / "site-packages"
    plugin = shutil.copytree(
        PLUGIN, site / "context_compression" / "hosts" / "claude_code" / "plugin"
    )
    elsewhere = script(tmp_path / "bin" / "context-compression", "on the path")
    named = script(tmp_path / "named", "named")

    def started(**environ: str) -> str:
        command = [shutil.which("sh") or "sh", str(plugin / "start.sh"), "serve", "a b"]
        paths = {"PATH": f"{elsewhere.parent}:/usr/bin:/bin"}
        ended = subprocess.run(
            command, env=paths | environ, capture_output=True, text=True, timeout=60, check=True
        )
        return ended.stdout.strip()

    on_the_path = started()
    script(tmp_path / "my env" / "bin" / "context-compression", "of its own")

    assert on_the_path == "on the path serve a b"
    assert started() == "of its own serve a b"
    assert started(CONTEXT_COMPRESSION_COMMAND=str(named)) == "named serve a b"


@POSIX
def test_where_nothing_is_installed_it_says_so(tmp_path: Path) -> None:
    script_ = tmp_path / "plugin" / "start.sh"
    script_.parent.mkdir()
    shutil.copy(PLUGIN / "start.sh", script_)
    for name in ("dirname", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    for name in ("uvx", "uv", "pipx", "pip", "npx"):  # it asks none of them
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} was asked >&2\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)

    ended = subprocess.run(
        ["sh", str(script_), "serve"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1
    assert "context-compression is not installed" in ended.stderr
    assert "was asked" not in ended.stderr
    assert "In a clone of its repository:\n  pip install ." in ended.stderr


def hook(folder: Path, stdin: str) -> subprocess.CompletedProcess[str]:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "context_compression", "hook", "claude-code"],
        cwd=folder,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("stdin", ["", "no json", "[]", "{}", '{"hook_event_name": "Stop"}'])
def test_the_command_is_silent_where_there_is_nothing_to_say(tmp_path: Path, stdin: str) -> None:
    ended = hook(tmp_path, stdin)

    assert (ended.returncode, ended.stdout) == (0, "")


def test_the_command_answers_a_compaction_and_tells_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "home" / ".claude" / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        for number, message in enumerate(conversation(12)):
            row = {"type": message["role"], "uuid": f"u{number}", "sessionId": "s"}
            parent = f"u{number - 1}" if number else None
            file.write(json.dumps({**row, "parentUuid": parent, "message": message}) + "\n")
    about = {"session_id": "s", "transcript_path": str(path)}

    compaction = {
        "hook_event_name": "session.compact",
        "trigger": "manual",
        "handles": [f"u{number}" for number in range(12)],
    }

    before = hook(tmp_path, json.dumps(about | compaction))
    after = hook(
        tmp_path, json.dumps({**about, "hook_event_name": "SessionStart", "source": "compact"})
    )

    assert (before.returncode, after.returncode) == (0, 0)
    assert json.loads(before.stdout)["messages"]
    [(name, line)] = json.loads(after.stdout).items()  # nothing for the model: it has our view
    assert name == "systemMessage"
    assert re.fullmatch(r"[\d.]+K? -> [\d.]+K? tokens, \d+ originals restorable", line)
