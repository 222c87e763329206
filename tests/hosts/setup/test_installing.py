"""Our entry goes into a host's configuration and out again, and leaves no trace."""

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_compression.errors import SetupError
from context_compression.hosts import BY_NAME, INSTALLABLE, Host, Machine, Server
from context_compression.hosts.host import HostScript
from context_compression.hosts.setup import installing, jsonc, toml, yaml
from context_compression.hosts.setup.installing import AppliedChange

SERVER = Server("/opt/bin/context-compression")
MOVED = Server("/new/bin/context-compression")
EXISTING: dict[Any, list[str]] = {
    jsonc: [
        "{}",
        '{"UNDER": {}}',
        '{\n  "theme": "dark",\n  "UNDER": {\n    "other": {"command": "x"}\n  }\n}\n',
        '{"a":1}',
        '{\r\n\t"a": [1, 2],\r\n\t"UNDER": {}\r\n}',
        '// mine\n{\n  // all of it\n  "UNDER": {\n    "other": {}, // last\n  },\n}\n',
        '{"UNDER": {"context-compression": {"command": "by hand", "env": {"A": "b"}}}}',
    ],
    toml: [
        "",
        'model = "o9"',
        '# mine\r\nmodel = "o9"\r\n\r\n[mcp_servers.other] # x\r\ncommand = "x"\r\n',
        '[mcp_servers.context-compression]\ncommand = "by hand"\n[tui]\ntheme = "dark"\n',
    ],
    yaml: [
        "",
        "# mine\nGOOSE_MODEL: m",
        "extensions: {}\nlast: 1\n",
        "extensions:\n    other:\n        cmd: x # last\n\n# end\n",
        "extensions:\n  context-compression:\n    cmd: by hand\n  b:\n    type: builtin\n",
    ],
}
CASES = [
    pytest.param(host, text.replace("UNDER", host.under), id=f"{host.name}-{number}")
    for host in INSTALLABLE
    for number, text in enumerate(EXISTING[host.format])
    if not (host.strict and "//" in text)
]
SPACE = st.sampled_from(["", " ", "\n", "\r\n", "\n\n", "\t", "  \n"])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    return Machine("linux", {"PATH": "/nowhere"}, tmp_path / "home", tmp_path / "home" / "project")


def install(
    host: Host, machine: Machine, server: Server, *, in_project: bool = False, dry_run: bool = False
) -> AppliedChange:
    """The entry alone; hooks come below."""
    entry = host.server_entry(machine, server, in_project=in_project)
    [done] = installing.install([entry], machine.home, dry_run=dry_run)
    return done


def uninstall(
    host: Host, machine: Machine, *, in_project: bool = False, dry_run: bool = False
) -> AppliedChange:
    entry = host.server_entry(machine, SERVER, in_project=in_project)
    [done] = installing.uninstall([entry], machine.home, dry_run=dry_run)
    return done


def entry_of(host: Host, machine: Machine, *, in_project: bool = False) -> dict[str, Any] | None:
    return installing.entry_in(host.server_entry(machine, SERVER, in_project=in_project))


def wanted(host: Host, machine: Machine) -> dict[str, Any]:
    return host.server_entry(machine, SERVER).our_entry


def written(host: Host, machine: Machine, text: str) -> Path:
    path = host.file(machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def everything(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def parsed(host: Host, text: str) -> Any:
    if host.format is toml:
        return tomllib.loads(text)
    if host.format is yaml:
        return pyyaml.safe_load(text)
    return jsonc.entry_in(f'{{"a": {{"b": {text}}}}}', "a", "b")


@pytest.mark.parametrize(("host", "text"), CASES)
def test_install_twice_and_uninstall_leave_every_byte_as_it_was(
    host: Host, text: str, machine: Machine
) -> None:
    path = written(host, machine, text)
    before = everything(machine.home)

    first = install(host, machine, SERVER)
    after = path.read_bytes()
    second = install(host, machine, SERVER)

    assert first.change.is_one
    assert not second.change.is_one
    assert path.read_bytes() == after
    servers = parsed(host, after.decode())[host.under]
    assert wanted(host, machine).items() <= servers["context-compression"].items()
    assert first.backup
    assert (first.backup / path.name).read_bytes() == text.encode()
    uninstall(host, machine)
    assert everything(machine.home) == before


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), host=st.sampled_from(INSTALLABLE))
def test_whatever_was_written_there_comes_back(
    data: st.DataObject, host: Host, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    machine = Machine("linux", {"PATH": "/nowhere"}, home, home / "project")
    text = data.draw(st.sampled_from(EXISTING[host.format])).replace("UNDER", host.under)
    text = data.draw(SPACE) + text if host.format is jsonc else text
    text += data.draw(SPACE.filter(lambda space: "\t" not in space))
    path = written(host, machine, text)

    try:
        install(host, machine, SERVER)
    except SetupError:
        assert path.read_bytes() == text.encode()
        return
    if data.draw(st.booleans()):
        install(host, machine, MOVED)
    uninstall(host, machine)

    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("host", INSTALLABLE, ids=lambda host: host.name)
def test_a_file_we_made_goes_with_the_folders_made_for_it(host: Host, machine: Machine) -> None:
    install(host, machine, SERVER)
    made = host.file(machine)
    assert entry_of(host, machine) == wanted(host, machine)
    assert parsed(host, made.read_text(encoding="utf-8"))[host.under]

    uninstall(host, machine)

    assert everything(machine.home) == {}


@pytest.mark.parametrize("host", [h for h in INSTALLABLE if h.project], ids=lambda h: h.name)
def test_a_project_has_a_file_of_its_own(host: Host, machine: Machine) -> None:
    install(host, machine, SERVER, in_project=True)

    assert entry_of(host, machine, in_project=True) == wanted(host, machine)
    assert host.file(machine, in_project=True).is_relative_to(machine.cwd)
    assert entry_of(host, machine) is None
    uninstall(host, machine, in_project=True)
    assert not machine.cwd.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("host", "text"), CASES)
def test_what_others_changed_since_stays(host: Host, text: str, machine: Machine) -> None:
    path = written(host, machine, text)
    install(host, machine, SERVER)
    mine = "\n# and mine\n" if host.format is not jsonc else "\n\n"
    path.write_bytes(path.read_bytes() + mine.encode())

    uninstall(host, machine)

    left = path.read_bytes().decode()
    assert left.endswith(mine)
    assert entry_of(host, machine) is None
    before: dict[str, Any] = parsed(host, text) or {}
    before.get(host.under, {}).pop("context-compression", None)
    if not before.get(host.under) and host.format is toml:
        before.pop(host.under, None)
    assert (parsed(host, left) or {}) == before


def test_a_file_we_made_stays_when_others_wrote_into_it(machine: Machine) -> None:
    host = BY_NAME["vscode"]
    install(host, machine, SERVER)
    path = host.file(machine)
    path.write_text('{"inputs": [], ' + path.read_text(encoding="utf-8")[1:], encoding="utf-8")

    uninstall(host, machine)

    assert json.loads(path.read_bytes()) == {"inputs": []}


def test_another_installation_takes_over_and_what_the_user_added_stays(machine: Machine) -> None:
    host = BY_NAME["opencode"]
    text = '{"mcp": {}}'
    path = written(host, machine, text)
    install(host, machine, SERVER)
    changed = path.read_text(encoding="utf-8").replace('"enabled": true', '"enabled": false')
    path.write_text(changed, encoding="utf-8")

    install(host, machine, MOVED)

    entry = entry_of(host, machine) or {}
    assert entry["command"] == [MOVED.command, "serve"]
    assert entry["enabled"] is False
    uninstall(host, machine)
    assert json.loads(path.read_bytes()) == {"mcp": {}}


@pytest.mark.parametrize("host", INSTALLABLE, ids=lambda host: host.name)
def test_a_dry_run_shows_the_change_and_writes_nothing(host: Host, machine: Machine) -> None:
    before = everything(machine.home)

    done = install(host, machine, SERVER, dry_run=True)

    assert SERVER.command in done.change.diff()
    assert done.change.diff().startswith("--- /dev/null\n")
    assert everything(machine.home) == before
    install(host, machine, SERVER)
    there = everything(machine.home)
    gone = uninstall(host, machine, dry_run=True)
    assert gone.change.diff().splitlines()[1] == "+++ /dev/null"
    assert everything(machine.home) == there


BROKEN: dict[Any, str] = {jsonc: '{"a": ', toml: "a = ", yaml: "extensions: [\n"}


@pytest.mark.parametrize("host", INSTALLABLE, ids=lambda host: host.name)
@pytest.mark.parametrize("data", [None, b"\xff\xfe", b'"\x00'], ids=["broken", "utf-16", "nul"])
def test_a_file_that_is_broken_is_refused_and_left(
    host: Host, data: bytes | None, machine: Machine
) -> None:
    data = data or BROKEN[host.format].encode()
    path = written(host, machine, "")
    path.write_bytes(data)
    before = everything(machine.home)

    with pytest.raises(SetupError, match="is not changed") as refused:
        install(host, machine, SERVER)
    left = uninstall(host, machine).problem

    assert str(path) in str(refused.value)
    assert str(path) in str(left)
    assert everything(machine.home) == before


@pytest.mark.parametrize("earlier", [False, True], ids=["first", "over an earlier installation"])
@pytest.mark.parametrize("text", [None, "{}", '{"theme": "dark"}'])
def test_after_an_error_in_the_last_file_nothing_is_left_in_the_others(
    text: str | None, earlier: bool, machine: Machine
) -> None:
    host = BY_NAME["cursor"]
    if text is not None:
        written(host, machine, text)
    if earlier:
        install(host, machine, MOVED)
    before = everything(machine.home)
    entry = host.server_entry(machine, SERVER)
    blocked = machine.home / "file"  # where the second addition needs a folder

    def now() -> bytes | None:
        return host.file(machine).read_bytes() if host.file(machine).exists() else None

    first = now()

    class Late(HostScript):
        def added_to(self, text: str) -> str:
            if now() != first:  # the other addition is written already
                blocked.write_bytes(b"")
            return super().added_to(text)

    with pytest.raises(SetupError):
        installing.install([entry, Late(blocked / "hook.js", "x")], machine.home)
    blocked.unlink()

    assert everything(machine.home) == before
    if earlier:
        uninstall(host, machine)
        assert host.file(machine).exists() is (text is not None)


def test_what_can_be_removed_is_removed_and_the_rest_has_its_problem(machine: Machine) -> None:
    hosts = [BY_NAME["cursor"], BY_NAME["zed"]]
    entries = [host.server_entry(machine, SERVER) for host in hosts]
    installing.install(entries, machine.home)
    written(hosts[0], machine, "{")

    cursor, zed = installing.uninstall(entries, machine.home)

    assert str(hosts[0].file(machine)) in str(cursor.problem)
    assert zed.problem is None
    assert entry_of(hosts[1], machine) is None


@pytest.mark.parametrize("name", ["claude-desktop", "claude-code", "pi"])
def test_a_host_that_knows_no_comments_gets_none_to_live_with(name: str, machine: Machine) -> None:
    written(BY_NAME[name], machine, "// mine\n{}\n")

    with pytest.raises(SetupError, match="not JSON"):
        install(BY_NAME[name], machine, SERVER)


def test_uninstall_without_install_changes_nothing(machine: Machine) -> None:
    path = written(BY_NAME["cursor"], machine, '{"mcpServers": {"other": {}}}')
    before = everything(machine.home)

    done = uninstall(BY_NAME["cursor"], machine)

    assert not done.change.is_one
    assert everything(machine.home) == before
    assert path.exists()


@pytest.mark.parametrize("host", INSTALLABLE, ids=lambda host: host.name)
@pytest.mark.parametrize("installed", [False, True])
def test_an_empty_entry_of_our_name_goes_as_well(
    host: Host, installed: bool, machine: Machine
) -> None:
    texts: dict[Any, str] = {
        jsonc: '{\n  "UNDER": {\n    "other": {},\n    "context-compression": null\n  }\n}\n',
        toml: "[mcp_servers.other]\n[mcp_servers.context-compression]\n",
        yaml: "extensions:\n  other:\n    cmd: x\n  context-compression:\n",
    }
    path = written(host, machine, texts[host.format].replace("UNDER", host.under))
    if installed:
        install(host, machine, SERVER)
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")  # it is not what `install` left

    done = uninstall(host, machine)

    assert done.problem is None
    assert "context-compression" not in path.read_text(encoding="utf-8")
    assert "other" in path.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither such modes nor such links")
def test_links_and_modes_stay(machine: Machine) -> None:
    host = BY_NAME["codex"]
    real = machine.home / "dotfiles" / "codex.toml"
    real.parent.mkdir()
    real.write_text('model = "o9"\n', encoding="utf-8")
    real.chmod(0o640)
    link = host.file(machine)
    link.parent.mkdir()
    link.symlink_to(real)

    install(host, machine, SERVER)

    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "mcp_servers" in real.read_text(encoding="utf-8")
    uninstall(host, machine)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_text(encoding="utf-8") == 'model = "o9"\n'
    assert sorted(path.name for path in real.parent.iterdir()) == ["codex.toml"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_backups_are_for_the_user_alone(machine: Machine) -> None:
    written(BY_NAME["codex"], machine, 'token = "secret"\n')

    backup = install(BY_NAME["codex"], machine, SERVER).backup

    assert backup
    for path in (machine.home / ".compression").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_where_no_backup_can_be_kept_nothing_is_changed(machine: Machine) -> None:
    path = written(BY_NAME["codex"], machine, 'model = "o9"\n')
    (machine.home / ".compression").write_text("in the way", encoding="utf-8")

    with pytest.raises(SetupError, match="Nothing was changed"):
        install(BY_NAME["codex"], machine, SERVER)

    assert path.read_text(encoding="utf-8") == 'model = "o9"\n'


def test_what_is_no_file_is_refused(machine: Machine) -> None:
    BY_NAME["codex"].file(machine).mkdir(parents=True)

    with pytest.raises(SetupError, match="not a regular file"):
        install(BY_NAME["codex"], machine, SERVER)


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs rights there")
def test_a_link_that_goes_in_circles_is_refused(machine: Machine) -> None:
    path = BY_NAME["codex"].file(machine)
    path.parent.mkdir()
    path.symlink_to(path)

    with pytest.raises(SetupError, match=r"leads nowhere|cannot be read"):
        install(BY_NAME["codex"], machine, SERVER)


def test_a_file_that_somebody_else_changed_meanwhile_is_left(machine: Machine) -> None:
    path = written(BY_NAME["codex"], machine, 'model = "o9"\n')
    planned = install(BY_NAME["codex"], machine, SERVER, dry_run=True).change
    path.write_text('model = "o10"\n', encoding="utf-8")

    with pytest.raises(SetupError, match="another program"):
        planned.carry_out()

    assert path.read_text(encoding="utf-8") == 'model = "o10"\n'


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="no folder is closed to this user"
)
def test_a_folder_that_cannot_be_written_is_said(machine: Machine) -> None:
    path = written(BY_NAME["codex"], machine, "")
    path.parent.chmod(0o500)

    with pytest.raises(SetupError, match="permissions"):
        install(BY_NAME["codex"], machine, SERVER)

    path.parent.chmod(0o700)
