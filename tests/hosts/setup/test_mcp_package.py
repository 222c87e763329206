"""With an older `mcp`, only the server refuses to work, and it says what it needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from context_compression.errors import ServerUnavailable
from context_compression.hosts.setup import machine as mcp_package
from context_compression.hosts.setup.machine import unavailable

OLD = "1.30.0"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose `mcp` is version 1.30.0, and cannot be imported."""
    packages = tmp_path / "packages"
    about = packages / f"mcp-{OLD}.dist-info" / "METADATA"
    about.parent.mkdir(parents=True)
    about.write_text(f"Metadata-Version: 2.1\nName: mcp\nVersion: {OLD}\n", "utf-8")
    (packages / "mcp.py").write_text("raise RuntimeError('mcp was imported')\n", "utf-8")
    home = tmp_path / "home"
    home.mkdir()
    return {**os.environ, "PYTHONPATH": str(packages), "HOME": str(home)}


def run(
    environ: dict[str, str], *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "context_compression", *arguments],
        cwd=environ["HOME"], env=environ, input=stdin, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("installed", ["1.30.0", "2.0.1", "0.9.1", "unknown"])
def test_a_version_below_the_oldest_is_refused(
    installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        return installed

    monkeypatch.setattr(mcp_package, "version", version)

    error = unavailable()

    assert error
    assert error.why.endswith(f"mcp 2.1 or newer, and {installed} is installed")


@pytest.mark.parametrize("installed", ["2.1.0", "2.3", "2.10.0rc1", "3.0.0"])
def test_a_newer_version_is_good(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        return installed

    monkeypatch.setattr(mcp_package, "version", version)

    assert unavailable() is None


@pytest.mark.parametrize("command", [("serve",), ("serve", "--http"), ("demo",)])
def test_the_server_and_the_demo_say_what_they_need(
    command: tuple[str, ...], environ: dict[str, str]
) -> None:
    ended = run(environ, *command)

    assert ended.returncode == 2
    assert "mcp 2.1 or newer, and 1.30.0 is installed" in ended.stderr
    assert f'{sys.executable} -m pip install "mcp>=2.1,<3"' in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_doctor_says_so_of_the_server(environ: dict[str, str]) -> None:
    ended = run(environ, "doctor", "--json")

    findings = json.loads(ended.stdout)["This installation"]
    [server] = [finding for finding in findings if finding["check"] == "server"]
    assert ended.returncode == 1
    assert not server["ok"]
    assert "1.30.0 is installed" in server["says"]
    assert "pip install" in server["mend"]


def test_an_installation_into_a_host_warns_and_goes_on(environ: dict[str, str]) -> None:
    ended = run(environ, "install", "cursor", "--dry-run")

    assert ended.returncode == 0
    assert "warning: The server cannot run here" in ended.stderr
    assert "mcpServers" in ended.stdout


@pytest.mark.parametrize(
    "command", [("--help",), ("status",), ("config", "keep_recent=7")], ids=" ".join
)
def test_other_commands_never_import_it(command: tuple[str, ...], environ: dict[str, str]) -> None:
    ended = run(environ, *command)

    assert "mcp was imported" not in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "1.30.0" not in ended.stderr


def test_a_conversation_is_compressed_and_a_hook_is_answered(
    environ: dict[str, str], tmp_path: Path
) -> None:
    transcript = tmp_path / "talk.json"
    talk = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} {'words ' * 400}"}
        for n in range(20)
    ]
    transcript.write_text(json.dumps(talk), "utf-8")

    compressed = run(environ, "compress", str(transcript), "--target-tokens", "3000")
    hook = run(environ, "hook", "claude-code", stdin="{}")

    assert compressed.returncode == 0, compressed.stderr
    assert 0 < len(compressed.stdout) < len(transcript.read_text("utf-8"))
    assert hook.returncode == 0


def test_a_program_that_makes_a_server_gets_an_import_error_in_words(
    environ: dict[str, str],
) -> None:
    code = (
        "try: import context_compression.mcp_server\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip

    assert ended.stdout.startswith(f"{ServerUnavailable.__name__} The server cannot run here")
