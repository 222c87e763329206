"""The plugin goes into Claude Code's settings through its own command, and out again."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from context_compression.hosts import Machine, Server
from context_compression.hosts.claude_code.install_plugin import (
    FOLDER,
    MANIFEST,
    MARKET,
    PLUGIN,
    Plugin,
    plugin_for,
)

SETTINGS = '{"theme": "dark"}\n'
ENABLED = {
    "theme": "dark",
    "enabledPlugins": {PLUGIN: True},
    "extraKnownMarketplaces": {MARKET: {"source": {"source": "directory", "path": str(FOLDER)}}},
}
# like the real one, it writes its settings through a link, and leaves something on removal
CLAUDE = f"""#!{sys.executable}
import pathlib, sys
settings = pathlib.Path(sys.argv[0]).parents[1] / "home/.claude/settings.json"
if sys.argv[1:3] == ["plugin", "install"]:
    settings.write_text({json.dumps(ENABLED)!r})
if sys.argv[1:3] == ["plugin", "uninstall"]:
    settings.write_text('{{"theme": "dark", "enabledPlugins": {{}}}}')
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(CLAUDE, encoding="utf-8")
    program.chmod(0o755)
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    return Machine("linux", {"PATH": str(program.parent)}, home, tmp_path)


def test_settings_that_are_a_link_stay_one(machine: Machine, tmp_path: Path) -> None:
    linked = tmp_path / "dotfiles" / "settings.json"
    linked.parent.mkdir()
    linked.write_text(SETTINGS, encoding="utf-8")
    link = machine.home / ".claude" / "settings.json"
    link.symlink_to(linked)
    plugin = Plugin.on(machine)
    assert plugin is not None

    installed = plugin.install(Server("/opt/bin/context-compression"))
    plugin.uninstall()

    assert installed.change.is_one
    assert link.is_symlink()
    assert linked.read_text(encoding="utf-8") == SETTINGS


COMMAND = [sys.executable, "-P", "-m", "context_compression"]


def test_a_copy_of_the_plugin_starts_a_command_without_any_shell(tmp_path: Path) -> None:
    made = plugin_for(COMMAND, tmp_path / "a b")

    texts = {f.relative_to(made): f.read_text("utf-8") for f in made.rglob("*") if f.is_file()}
    server = json.loads(texts[MANIFEST])["mcpServers"]["context"]
    hooks = json.loads(texts[Path("hooks/hooks.json")])["hooks"]
    hook = hooks["SessionStart"][0]["hooks"][0]["command"].removesuffix(" || true")
    assert [server["command"], *server["args"]] == [*COMMAND, "serve", "--hooks", "claude-code"]
    assert shlex.split(hook) == [*COMMAND, "hook", "claude-code"]
    assert (
        f"const command = [{json.dumps(COMMAND)[1:-1]}, 'hook'" in texts[Path("hooks/register.ts")]
    )
    assert not any("start.sh" in text for text in texts.values())
    assert Path("start.sh") not in texts
    ended = subprocess.run(
        [server["command"], *server["args"][:3], "--version"], capture_output=True, check=True
    )
    assert ended.stdout.startswith(b"context-compression")


def test_the_same_copy_is_made_once(tmp_path: Path) -> None:
    first = plugin_for(COMMAND, tmp_path)
    second = plugin_for(COMMAND, tmp_path)
    other = plugin_for(["C:\\Program Files\\Python\\python.exe"], tmp_path)

    assert first == second != other
    assert len(list(tmp_path.iterdir())) == 2
    hooks = json.loads((other / "hooks" / "hooks.json").read_bytes())["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    assert command.startswith('"C:/Program Files/Python/python.exe" hook claude-code')
    server = json.loads((other / MANIFEST).read_bytes())["mcpServers"]["context"]
    assert server["command"] == "C:\\Program Files\\Python\\python.exe"
    assert server["args"] == ["serve", "--hooks", "claude-code"]


def test_on_windows_the_plugin_is_a_copy_that_starts_our_command(machine: Machine) -> None:
    plugin = Plugin.on(replace(machine, system="win32"))
    assert plugin is not None

    folder = plugin.folder(Server("C:\\bin\\context-compression.exe", ("--store", "D:\\s t")))

    server = json.loads((folder / MANIFEST).read_bytes())["mcpServers"]["context"]
    assert server["command"] == "C:\\bin\\context-compression.exe"
    assert server["args"][:2] == ["--store", "D:\\s t"]
