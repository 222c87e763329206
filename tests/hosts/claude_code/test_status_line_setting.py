"""The status line in Claude Code's settings: ours only where the user has none."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from context_compression.hosts import Machine
from context_compression.hosts.claude_code.install_plugin import (
    StatusLine,
    check_status_line,
    user_has_own,
)
from context_compression.hosts.setup import installing

OWN = '{"statusLine": {"type": "command", "command": "my-line"}, "theme": "dark"}\n'
OLD = (
    '{"statusLine": {"type": "command", "command": "context-compression statusline", "padding": 2}}'
)
Settings = Callable[[str | None], Path]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine("linux", {}, tmp_path, tmp_path)


@pytest.fixture
def settings(machine: Machine) -> Settings:
    def written(text: str | None) -> Path:
        path = machine.home / ".claude" / "settings.json"
        if text is not None:
            path.parent.mkdir()
            path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize("before", [None, "{}", '{"theme": "dark"} \n'])
def test_ours_is_added_where_there_is_none_and_leaves_no_trace(
    machine: Machine, settings: Settings, before: str | None
) -> None:
    path = settings(before)

    installing.install([StatusLine.on(machine)], machine.home)
    command = json.loads(path.read_bytes())["statusLine"]["command"]
    shown = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False)
    found = check_status_line(machine)
    installing.uninstall([StatusLine.on(machine)], machine.home)

    assert (shown.returncode, shown.stderr) == (0, b"")
    assert found.ok is True
    assert (path.read_text("utf-8") if path.exists() else None) == before
    assert "install claude-code adds one" in check_status_line(machine).says


def test_a_line_of_the_users_own_is_neither_replaced_nor_removed(
    machine: Machine, settings: Settings
) -> None:
    path, line = settings(OWN), StatusLine.on(machine)

    installing.install([line], machine.home)
    installing.uninstall([line], machine.home)

    assert path.read_text("utf-8") == OWN
    assert user_has_own(line)
    found = check_status_line(machine)
    assert found.ok is None
    assert line.command in found.says


def test_ours_of_another_installation_is_replaced_and_keeps_what_the_user_added(
    machine: Machine, settings: Settings
) -> None:
    path, line = settings(OLD), StatusLine.on(machine)
    before = check_status_line(machine)

    installing.install([line], machine.home)

    assert (before.ok, before.mend) == (False, "context-compression install claude-code")
    assert json.loads(path.read_bytes())["statusLine"] == {**line.value, "padding": 2}


def test_what_the_user_changed_since_stays_when_ours_is_removed(
    machine: Machine, settings: Settings
) -> None:
    path, line = settings("{}"), StatusLine.on(machine)
    installing.install([line], machine.home)
    changed = json.loads(path.read_bytes()) | {"theme": "light"}
    path.write_text(json.dumps(changed), encoding="utf-8")

    installing.uninstall([line], machine.home)

    assert json.loads(path.read_bytes()) == {"theme": "light"}


def test_settings_that_are_not_json_are_left_alone_and_named(
    machine: Machine, settings: Settings
) -> None:
    path = settings("{")

    found = check_status_line(machine)

    assert found.ok is False
    assert str(path) in found.says
