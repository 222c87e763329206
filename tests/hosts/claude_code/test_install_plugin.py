"""The plugin goes into Claude Code's settings through its own command, and out again."""

import json
import sys
from pathlib import Path

import pytest

from context_compression.hosts.claude_code.install_plugin import FOLDER, MARKET, PLUGIN, Plugin
from context_compression.setup.machine import Machine, Server

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
