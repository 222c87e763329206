"""What a shell completes, asked as click asks and once in a real bash."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from context_compression.cli import main
from context_compression.cli.last_listing import listing_file
from context_compression.hosts import EXPORTERS, INSTALLABLE

from .conftest import conversation

Offered = Callable[..., dict[str, str | None]]


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offered:
    """What is offered, with its help, after some words and the beginning of another."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "chat.json").write_text(json.dumps(conversation()), encoding="utf-8")

    def offered(*words: str) -> dict[str, str | None]:
        shell = ShellComplete(main, {}, "context-compression", "_CONTEXT_COMPRESSION_COMPLETE")
        *before, incomplete = words
        found = shell.get_completions(before, incomplete)
        return {each.value: each.help for each in found if each.type == "plain"}

    return offered


@pytest.fixture
def recorded(offered: Offered) -> str:
    """A session in the store, which `sessions` listed; returns a ref of it."""
    done = CliRunner().invoke(main, ["compress", "chat.json", "--target-tokens", "6000", "--json"])
    CliRunner().invoke(main, ["sessions"])
    return next(iter(json.loads(done.stdout)["refs"]))


def test_commands_are_completed(offered: Offered):
    assert list(offered("comp")) == ["completion", "compress"]
    assert "hook" not in offered("")


@pytest.mark.parametrize("command", ["install", "uninstall", "doctor"])
def test_hosts_are_completed(offered: Offered, command: str):
    assert list(offered(command, "")) == [host.name for host in INSTALLABLE]


def test_the_hosts_of_an_export_are_completed(offered: Offered):
    offered_hosts = list(offered("export", "chat.json", "--host", ""))

    assert offered_hosts == [
        "claude-code",
        "codex",
        "copilot-cli",
        "gemini-cli",
        "opencode",
        "pi",
    ]  # some take back only what was kept of their own
    assert {*EXPORTERS} < {*offered_hosts}


def test_settings_are_completed(offered: Offered):
    assert "keep_recent" in offered("config", "keep")
    assert "keep_recent" in offered("config", "--reset", "keep")
    assert "keep_recent=" in offered("compress", "chat.json", "--set", "keep")


@pytest.mark.parametrize("command", ["status", "compress", "export"])
def test_sessions_are_completed_by_number_and_id(offered: Offered, recorded: str, command: str):
    title = offered(command, "1")["1"]

    assert title and title.startswith("recorded: Look at part 0, please.")
    assert offered(command, "ch")["chat"] == title


def test_refs_are_completed_with_what_they_stand_for(offered: Offered, recorded: str):
    help = offered("restore", recorded[:3])[recorded]

    assert help and help.endswith(", chat")


def test_ids_of_the_store_are_completed(offered: Offered, recorded: str):
    assert list(offered("archive", "delete", "")) == ["chat"]
    assert list(offered("summaries", "--session", "c")) == ["chat"]


def test_the_name_of_a_command_is_completed_without_importing_any(offered: Offered):
    code = (
        "import sys; from context_compression.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    environ = {
        **os.environ,
        "_CONTEXT_COMPRESSION_COMPLETE": "bash_complete",
        "COMP_WORDS": "context-compression comp",
        "COMP_CWORD": "1",
    }

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ)

    assert done.stdout == "plain,completion\nplain,compress\n"
    assert "context_compression.cli.app" in done.stderr
    assert not {"context_compression.cli.compress", "pydantic"} & {*done.stderr.split()}


def test_a_broken_store_is_completed_with_nothing(offered: Offered, recorded: str):
    for path in Path(".compression").rglob("events.jsonl"):
        path.write_bytes(b"\x00{")
    listing_file().write_bytes(b"{")

    assert offered("restore", "") == {}
    assert offered("status", "") == {}

    shutil.rmtree(".compression")
    Path(".compression").write_bytes(b"")

    assert offered("restore", "") == offered("archive", "delete", "") == {}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(offered: Offered, shell: str):
    done = CliRunner().invoke(main, ["completion", shell])

    assert "_CONTEXT_COMPRESSION_COMPLETE" in done.stdout


def test_the_users_own_shell_is_the_default(offered: Offered, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    fish = CliRunner().invoke(main, ["completion"])
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    refused = CliRunner().invoke(main, ["completion"])

    assert "function _context_compression" in fish.stdout
    assert refused.exit_code == 2
    assert "$SHELL names no shell that can be completed: bash, zsh, fish" in refused.stderr


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_a_real_bash_completes(offered: Offered, recorded: str, tmp_path: Path):
    command = tmp_path / "bin" / "context-compression"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m context_compression "$@"\n')
    command.chmod(0o755)
    script = f"""
        PATH="{command.parent}:$PATH"
        eval "$(context-compression completion bash)"
        COMP_WORDS=(context-compression restore {recorded[:4]}) COMP_CWORD=2
        _context_compression_completion context-compression
        echo "${{COMPREPLY[@]}}"
    """

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)

    assert done.stdout.split() == [recorded]
    assert done.stderr == ""


@pytest.mark.parametrize(
    "id", ["$(touch x)", "`id`", "a\nplain,evil", "a\x1b[31m", "\ud800", "a b"]
)
def test_nothing_that_a_shell_would_read_is_offered(offered: Offered, id: str):
    listing_file().parent.mkdir(parents=True)
    row = {"number": 1, "name": "x", "id": id, "host": "pi", "title": id, "store": ""}
    listing_file().write_text(json.dumps({"version": 1, "sessions": [row]}))

    found = offered("status", "")

    assert list(found) == ["1"]
    assert not set(found["1"] or "") & set("\n\x1b\ud800")
