"""`install`, `uninstall` and `doctor` as users run them."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .conftest import Desk, Snapshot

NO_HOSTS = {"PATH": "/nowhere"}


@pytest.fixture
def codex(desk: Desk) -> Path:
    path = desk.folder / "home" / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('model = "o9" # mine\n', encoding="utf-8")
    return path


def test_install_without_a_host_lists_what_is_here_and_writes_nothing(
    desk: Desk, codex: Path, snapshot: Snapshot
) -> None:
    before = snapshot(desk.folder)

    page = desk.does("install", env=NO_HOSTS).stdout.decode()

    assert page.splitlines()[1].split() == ["codex", str(codex)]
    assert "Not found here: claude-code, claude-desktop, gemini-cli" in page
    assert snapshot(desk.folder) == before


@pytest.mark.slow
def test_install_says_what_it_did_and_where_the_backup_is_and_uninstall_undoes_it(
    desk: Desk, codex: Path, snapshot: Snapshot
) -> None:
    before = snapshot(desk.folder)

    done = desk.does("install", "codex", "cursor", env=NO_HOSTS).stderr.decode()

    assert f"Codex: context-compression is in {codex}." in done
    assert ".compression/installed/config-" in done
    assert "Cursor: context-compression is in" in done
    assert "installed" in desk.does("install", env=NO_HOSTS).stdout.decode()
    again = desk.does("install", "codex", env=NO_HOSTS).stderr.decode()
    assert f"Codex: {codex} has it already.\n" in again
    assert "context-compression is in" not in again
    gone = desk.does("uninstall", "codex", "cursor", env=NO_HOSTS).stderr.decode()
    assert "cursor/mcp.json is deleted, because it was made for context-compression." in gone
    assert snapshot(desk.folder) == before
    nothing = desk.does("uninstall", "codex", env=NO_HOSTS).stderr.decode()
    assert f"Codex: {codex} has no entry to remove.\n" in nothing


def test_a_dry_run_prints_the_diff(desk: Desk, codex: Path, snapshot: Snapshot) -> None:
    before = snapshot(desk.folder)

    done = desk.does("install", "codex", "--dry-run", env=NO_HOSTS)

    assert "+[mcp_servers.context-compression]" in done.stdout.decode().splitlines()
    assert done.stderr == b"Codex: this was a dry run; nothing was changed.\n"
    assert snapshot(desk.folder) == before
    assert codex.exists()


def test_the_options_of_the_store_go_into_the_entry(desk: Desk, codex: Path) -> None:
    desk.does("--store", "kept", "--allow", "/data", "install", "codex", env=NO_HOSTS)

    entry = tomllib.loads(codex.read_text(encoding="utf-8"))["mcp_servers"]["context-compression"]
    store = str(desk.folder / "kept")
    given = ["--store", store, "--allow", "/data", "serve", "--hooks", "codex"]
    assert entry["args"][-7:] == given


def test_without_hooks_there_are_the_tools_alone(desk: Desk, codex: Path) -> None:
    hooks = codex.parent / "hooks.json"
    desk.does("install", "codex", env=NO_HOSTS)
    assert "context_hook" in hooks.read_text(encoding="utf-8")

    desk.does("install", "codex", "--no-hooks", env=NO_HOSTS)

    entry = tomllib.loads(codex.read_text(encoding="utf-8"))["mcp_servers"]["context-compression"]
    assert entry["args"][-1] == "serve"
    assert not hooks.exists()


def test_in_a_project_the_entry_is_for_this_machine(desk: Desk) -> None:
    done = desk.does("install", "vscode", "claude-code", "--project", env=NO_HOSTS)

    assert b"Do not commit it" in done.stderr
    assert b"Only the server is installed." in done.stderr
    for name, under in ((".vscode/mcp.json", "servers"), (".mcp.json", "mcpServers")):
        assert json.loads((desk.folder / name).read_bytes())[under]["context-compression"]
    desk.does("uninstall", "vscode", "claude-code", "--project", env=NO_HOSTS)
    assert not (desk.folder / ".vscode").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["install", "emacs"], "Unknown host 'emacs'. Hosts: claude-code,"),
        (["uninstall"], "Name a host"),
        (["install", "goose", "--project"], "leave out --project"),
        (["install", "codex"], "is not changed: it is not TOML"),
    ],
)
def test_what_cannot_be_done_is_said(
    desk: Desk, codex: Path, arguments: list[str], said: str
) -> None:
    codex.write_text("a = ", encoding="utf-8")

    done = desk.run(*arguments, env=NO_HOSTS)

    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert codex.read_text(encoding="utf-8") == "a = "


def test_the_doctor_ends_with_1_where_something_is_wrong(desk: Desk, codex: Path) -> None:
    codex.write_text('[mcp_servers.context-compression]\ncommand = "/gone"\n', encoding="utf-8")

    done = desk.run("doctor", "codex", env=NO_HOSTS)
    asked = desk.run("doctor", "codex", "--json", env=NO_HOSTS)

    assert (done.returncode, asked.returncode) == (1, 1)
    assert "  ✗ server         there is no program /gone\n" in done.stdout.decode()
    assert "→ Run context-compression install again" in done.stdout.decode()
    checks = [finding["check"] for finding in json.loads(asked.stdout)["Codex"]]
    assert checks == ["configuration", "command", "hooks", "server"]


def test_the_doctor_has_a_line_for_each_host_that_is_here(desk: Desk, codex: Path) -> None:
    desk.run("install", "codex", env=NO_HOSTS)
    codex.write_text('[mcp_servers.context-compression]\ncommand = "/gone"\n', encoding="utf-8")
    (desk.folder / "home" / ".gemini").mkdir()

    done = desk.run("doctor", env=NO_HOSTS)

    version, of_codex, of_gemini, more = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert re.fullmatch(r"context-compression \d+\.\d+\.\d+", version)
    assert of_codex.startswith("✗ Codex         server: Run context-compression install again")
    assert "not installed in it; context-compression install gemini-cli" in of_gemini
    assert more == "More about one of them: context-compression doctor HOST"


@pytest.mark.slow
def test_without_any_host_the_doctor_tries_this_installation(desk: Desk) -> None:
    found = desk.json("doctor")

    assert "This installation" in found
    assert all(finding["ok"] is not False for finding in found["This installation"])


@pytest.mark.skipif(os.name == "nt", reason="temporary folders have other names there")
def test_an_installation_in_a_temporary_folder_is_warned_of(desk: Desk):
    folder = desk.folder / "scratch"
    command = folder / "bin" / "context-compression"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m context_compression "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    code = "import sys; sys.executable = '/opt/python'; sys.argv[0] = sys.argv[1]; del sys.argv[1]"
    code += "; from context_compression.cli import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", code, str(command), "install", "cursor"],
        cwd=desk.folder, env=desk.environ(PATH=path, TMPDIR=str(folder)),
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert f"the system deletes the folder of {command} after a while" in done.stderr
    assert "in a permanent folder: `uv tool install .`" in done.stderr


@pytest.mark.slow
def test_claude_codes_status_line_is_set_unless_the_user_has_one_or_wants_none(desk: Desk) -> None:
    settings = desk.folder / "home" / ".claude" / "settings.json"
    settings.parent.mkdir()

    without = desk.does("install", "claude-code", "--no-status-line", env=NO_HOSTS)
    assert not settings.exists()
    done = desk.does("install", "claude-code", env=NO_HOSTS).stderr.decode()
    assert b"status line" not in without.stderr
    assert "Its status line shows how full the context is" in done
    assert "statusLine" in json.loads(settings.read_bytes())
    desk.does("uninstall", "claude-code", env=NO_HOSTS)
    assert not settings.exists()

    own = b'{"statusLine": {"type": "command", "command": "my-line"}}'
    settings.write_bytes(own)
    done = desk.does("install", "claude-code", env=NO_HOSTS).stderr.decode()
    assert f"Your status line stays; to show ours instead, set in {settings}:" in done
    assert settings.read_bytes() == own


BROKEN_SETTINGS = {
    "comments": b'{\n  // mine\n  "theme": "dark"\n}\n',
    "byte order mark": b'\xef\xbb\xbf{"theme": "dark"}',
    "cut": b'{"theme": ',
    "other encoding": '{"theme": "é"}'.encode("latin-1"),
    "list": b"[]",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", BROKEN_SETTINGS.values(), ids=BROKEN_SETTINGS)
@pytest.mark.parametrize("others", [(), ("cursor",), ("codex", "zed")])
def test_a_file_that_cannot_be_read_keeps_every_other_file_as_it_was(
    desk: Desk, codex: Path, snapshot: Snapshot, text: bytes, others: tuple[str, ...]
) -> None:
    settings = desk.folder / "home" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(text)
    before = snapshot(desk.folder)

    done = desk.run("install", *others, "claude-code", env=NO_HOSTS)

    assert done.returncode
    assert str(settings) in done.stderr.decode()
    assert snapshot(desk.folder) == before
    gone = desk.run("uninstall", *others, "claude-code", env=NO_HOSTS)
    assert gone.returncode
    assert snapshot(desk.folder) == before


def test_uninstall_removes_what_it_can_and_names_what_is_left(
    desk: Desk, codex: Path, snapshot: Snapshot
) -> None:
    before = codex.read_bytes()
    desk.does("install", "codex", "claude-code", env=NO_HOSTS)
    settings = desk.folder / "home" / ".claude" / "settings.json"
    settings.write_bytes(settings.read_bytes()[:-3])

    done = desk.run("uninstall", "claude-code", "codex", env=NO_HOSTS)

    assert done.returncode == 1
    assert f"Not removed: {settings} " in done.stderr.decode()
    assert codex.read_bytes() == before
    assert not (desk.folder / "home" / ".claude.json").exists()
