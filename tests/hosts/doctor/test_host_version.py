"""The doctor asks programs of hosts for their versions, whatever they answer."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from context_compression.hosts import BY_NAME, Machine
from context_compression.hosts.doctor import checks as host_version
from context_compression.hosts.doctor import side_by_side
from context_compression.hosts.doctor.checks import check_version
from context_compression.hosts.host import Finding

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs are scripts")

Machines = Callable[..., Machine]
CODEX = BY_NAME["codex"]


def program(folder: Path, code: str, name: str = "codex") -> None:
    """A program of a host that does this."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\n{code}\n", encoding="utf-8")
    path.chmod(0o755)


def told(machine_with: Machines, folder: Path, code: str) -> Finding:
    program(folder, code)
    [finding] = check_version(CODEX, machine_with(PATH=str(folder)))
    return finding


@pytest.mark.parametrize(
    ("code", "fine", "says"),
    [
        ("print('codex-cli 0.169.0')", True, "codex-cli 0.169.0"),
        ("print('codex-cli 9.9.9')", True, "codex-cli 9.9.9; seen working with 0.169.0"),
        ("print('WARNING: no alias'); print('codex-cli 0.169.0'); print('bye')", True, "0.169.0"),
        ("raise SystemExit(3)", False, "codex --version does not work"),
        ("print('0.169.0'); raise SystemExit(3)", False, "codex --version does not work"),
        ("pass", False, "codex --version does not work"),
        ("print('what\\x1b[31m is this')", None, "names no version: what\\x1b[31m is this"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\x00')", None, "names no version"),
    ],
)
def test_what_a_program_says_is_told(
    machine_with: Machines, tmp_path: Path, code: str, fine: bool | None, says: str
):
    finding = told(machine_with, tmp_path / "bin", code)

    assert finding.ok is fine
    assert says in finding.says


def test_a_program_that_hangs_is_told_and_ended_with_all_that_it_started(
    machine_with: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(host_version, "PATIENCE", 0.5)
    lock = tmp_path / "at_work"
    code = f"import fcntl, os, time; at_work = open({str(lock)!r}, 'w')\n"
    code += "fcntl.flock(at_work, fcntl.LOCK_SH); os.fork(); time.sleep(600)"

    finding = told(machine_with, tmp_path / "bin", code)

    assert finding.ok is None and "gave no answer within 0.5 s" in finding.says
    FileLock(lock, timeout=30).acquire()  # both held this until their end


def test_a_program_that_never_stops_printing_is_ended(machine_with: Machines, tmp_path: Path):
    finding = told(machine_with, tmp_path / "bin", "while True: print('again')")

    assert finding.ok is not True


def test_a_program_that_cannot_be_started_is_told(machine_with: Machines, tmp_path: Path):
    program(tmp_path / "bin", "")
    (tmp_path / "bin" / "codex").write_text("#!/nowhere/sh\n", encoding="utf-8")

    [finding] = check_version(CODEX, machine_with(PATH=str(tmp_path / "bin")))

    assert finding.ok is False


def test_a_program_of_an_npm_package_is_not_started(machine_with: Machines, tmp_path: Path):
    package = tmp_path / "node_modules" / "codex"
    program(package.parent, "", "other")
    program(package, "raise SystemExit(3)")
    about = {"version": "0.169.0", "bin": {"codex": "codex"}}
    (package / "package.json").write_text(json.dumps(about), encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(package / "codex")

    [finding] = check_version(CODEX, machine_with(PATH=str(tmp_path / "bin")))

    assert (finding.ok, finding.says) == (True, "0.169.0")


def test_hosts_are_asked_at_the_same_time(machine_with: Machines, tmp_path: Path):
    names = ("codex", "gemini")
    for own, other in (names, names[::-1]):
        code = f"import os\nopen({str(tmp_path / own)!r}, 'w').close()\n"
        code += f"while not os.path.exists({str(tmp_path / other)!r}): pass\nprint('1.2.3')"
        program(tmp_path / "bin", code, own)
    machine = machine_with(PATH=str(tmp_path / "bin"))
    hosts = [BY_NAME["codex"], BY_NAME["gemini-cli"]]

    found = side_by_side(lambda host: [*check_version(host, machine)], hosts)

    assert [finding.says[:5] for [finding] in found] == ["1.2.3", "1.2.3"]
