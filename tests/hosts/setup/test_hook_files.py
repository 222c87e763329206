"""Hooks and scripts of ours go beside those of others, and out again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.hosts import BY_NAME, Host, Machine, Server
from context_compression.hosts.host import HookAdditions, is_our_group
from context_compression.hosts.setup.installing import install, uninstall

SERVER = Server("/opt/a b/context-compression", ("--store", "/s"))
THEIRS: dict[str, Any] = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}
OURS: dict[str, Any] = {
    "matcher": "mcp__.*",
    "hooks": [{"type": "mcp_tool", "server": "context-compression", "tool": "context_hook"}],
}
GROUPS = {"PostToolUse": [OURS, {**OURS, "matcher": "x"}], "PreCompact": [OURS]}
OLD = {**OURS, "matcher": "of an older version"}
HOSTS = [host for host in BY_NAME.values() if host.hooks]
INDENTS = [None, 2, "\t"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    return Machine("linux", {"PATH": "/nowhere"}, tmp_path / "home", tmp_path / "home" / "project")


@given(
    there=st.dictionaries(
        st.sampled_from(["PostToolUse", "PreCompact", "Stop"]),
        st.lists(st.sampled_from([THEIRS, {**THEIRS, "matcher": "é"}]), max_size=3),
    ),
    other=st.booleans(),
    old=st.booleans(),
    indent=st.sampled_from(INDENTS),
)
def test_hooks_go_behind_those_of_others_and_out_again(
    there: dict[str, list[Any]], other: bool, old: bool, indent: Any
) -> None:
    whole: dict[str, Any] = ({"other": 1} if other else {}) | ({"hooks": there} if there else {})
    text = json.dumps(whole, indent=indent)
    addition = HookAdditions(Path("hooks.json"), GROUPS)
    if old:
        earlier = HookAdditions(Path("hooks.json"), {"Stop": [OLD], "PreCompact": [OLD]})
        start = earlier.added_to(text)
    else:
        start = text

    new = addition.added_to(start)

    found = json.loads(new)
    for event in {*there, *GROUPS}:
        assert found["hooks"].get(event, []) == [*there.get(event, []), *GROUPS.get(event, [])]
    assert addition.added_to(new) is new
    assert addition.is_in(new)
    gone = addition.removed_from(new, text)
    assert json.loads(gone) == whole
    if not old and all(there.values()):
        assert gone == text


def test_every_group_we_ship_is_known_as_ours_again() -> None:
    merged = [file for host in HOSTS for file in host.hooks if file.merged]

    for file in merged:
        shipped = json.loads(file.template.read_bytes())["hooks"]
        assert all(is_our_group(group) for groups in shipped.values() for group in groups)
    assert merged


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
@pytest.mark.parametrize("in_project", [False, True])
def test_hooks_of_every_host_are_made_and_removed(
    host: Host, machine: Machine, in_project: bool
) -> None:
    additions = host.hook_additions(machine, SERVER, in_project=in_project)

    first = install(additions, machine.home)
    again = install(additions, machine.home)

    assert all(done.change.is_one for done in first)
    assert not any(done.change.is_one for done in again)
    assert all(addition.path.is_relative_to(machine.cwd) is in_project for addition in additions)
    uninstall(additions, machine.home)
    assert list(machine.home.iterdir()) == []


def test_scripts_start_the_command_that_was_installed(machine: Machine) -> None:
    texts = {
        addition.path.name: addition.added_to("")
        for host in HOSTS
        for addition in host.hook_additions(machine, SERVER)
    }

    for name in ("context-compression.js", "context-compression.ts"):
        assert '\nconst COMMAND = ["/opt/a b/context-compression", "--store", "/s"] ' in texts[name]
    shell = "context_compression() { '/opt/a b/context-compression' --store /s \"$@\"; } #"
    assert f"\n{shell}" in texts["hook.sh"]


def test_on_windows_no_hook_starts_a_shell(machine: Machine) -> None:
    windows = replace(machine, system="win32")
    server = Server("C:\\Program Files\\py\\context-compression.exe", ("--store", "D:\\s"))

    for host in HOSTS:
        for addition in host.hook_additions(windows, server):
            text = addition.added_to("")
            if addition.path.suffix == ".json" and "hooks" in text:
                commands = [
                    hook["command"]
                    for groups in json.loads(text)["hooks"].values()
                    for group in groups
                    for hook in group["hooks"]
                    if "command" in hook
                ]
                assert not [each for each in commands if each.startswith("sh ")]
                assert all(each.startswith('"C:\\Program Files') for each in commands)


def test_a_script_of_another_is_put_aside_and_comes_back(machine: Machine) -> None:
    [addition] = BY_NAME["pi"].hook_additions(machine, SERVER)
    addition.path.parent.mkdir(parents=True)
    addition.path.write_text("// mine", encoding="utf-8")

    install([addition], machine.home)
    uninstall([addition], machine.home)

    assert addition.path.read_text(encoding="utf-8") == "// mine"


def test_a_script_that_was_changed_goes_all_the_same(machine: Machine) -> None:
    [addition] = BY_NAME["opencode"].hook_additions(machine, SERVER)
    install([addition], machine.home)
    addition.path.write_text("// shorter", encoding="utf-8")

    uninstall([addition], machine.home)

    assert not addition.path.parent.exists()


@pytest.mark.parametrize("text", ["[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// c\n{}"])
def test_a_file_of_hooks_written_in_another_way_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        HookAdditions(Path("hooks.json"), GROUPS).added_to(text)
