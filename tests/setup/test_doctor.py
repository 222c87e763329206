"""The doctor starts a real server as the host would, and says what is wrong."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import context_compression
from context_compression import Session
from context_compression.setup import installing
from context_compression.setup.doctor import check, environment, examine
from context_compression.setup.findings import VARIABLES, Finding
from context_compression.setup.hosts import BY_NAME, Host
from context_compression.setup.machine import Machine, Server
from context_compression.store import Store

Machines = Callable[..., Machine]
CODEX = BY_NAME["codex"]
CURSOR = BY_NAME["cursor"]


def of(findings: Sequence[Finding], name: str) -> Finding:
    return next(finding for finding in findings if finding.check == name)


def wrong(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.ok is False]


def install(host: Host, machine: Machine, server: Server) -> None:
    pieces = [host.server_entry(machine, server), *host.hook_pieces(machine, server)]
    installing.install(pieces, machine.home)


def test_a_server_that_works_is_said_to_work(machine_with: Machines, real_server: Server) -> None:
    machine = machine_with()
    install(CURSOR, machine, real_server)

    found = examine(CURSOR, machine, real_server)

    assert wrong(found) == []
    assert re.match(r"version .+, \d+\.\d s to start, protocol 20", of(found, "server").says)
    assert of(found, "tools").says.startswith("6 tools")
    assert "o200k" in of(found, "counting").says
    assert of(found, "store").says.startswith(str(machine.cwd / ".compression"))
    assert of(found, "key").says.startswith("none")
    assert list(machine.cwd.iterdir()) == []


def test_without_an_entry_it_says_how_to_get_one(
    machine_with: Machines, real_server: Server
) -> None:
    [finding] = examine(CODEX, machine_with(), real_server)

    assert finding.ok is False
    assert finding.mend == "context-compression install codex"


def test_a_broken_configuration_is_said(machine_with: Machines, real_server: Server) -> None:
    machine = machine_with()
    path = CODEX.file(machine)
    path.parent.mkdir()
    path.write_text("a = ", encoding="utf-8")

    [finding] = examine(CODEX, machine, real_server)

    assert "not TOML" in finding.says


def test_a_program_that_is_gone_is_said(machine_with: Machines, real_server: Server) -> None:
    machine = machine_with()
    install(CODEX, machine, Server("/gone/context-compression"))

    found = examine(CODEX, machine, real_server)

    [finding] = wrong(found)
    assert finding.says == "there is no program /gone/context-compression"
    assert "install again" in finding.mend
    assert "another installation" in of(found, "command").says


def test_what_a_server_says_when_it_does_not_start_is_passed_on(machine_with: Machines) -> None:
    machine = machine_with()
    code = "import sys; sys.exit('out of patience')"

    [finding] = wrong(check([sys.executable, "-c", code], machine.environ, machine))

    assert finding.says == "does not start: out of patience"


@pytest.mark.parametrize(
    ("variable", "value", "says", "mend"),
    [
        ("CONTEXT_COMPRESSION_KEEP_RECNT", "5", "is nothing we know", "KEEP_RECENT?"),
        ("CONTEXT_COMPRESSION_XYZZY", "5", "is nothing we know", "Remove it."),
        ("CONTEXT_COMPRESSION_KEEP_RECENT", "many", "keep_recent", "Correct"),
    ],
)
def test_a_variable_that_is_misspelt_or_impossible_is_said(
    machine_with: Machines, variable: str, value: str, says: str, mend: str
) -> None:
    machine = machine_with(**{variable: value})

    finding = of(wrong(check(["/gone"], machine.environ, machine)), "environment")

    assert says in finding.says
    assert mend in finding.mend


def test_every_variable_that_the_package_reads_is_known() -> None:
    folder = Path(context_compression.__file__).parent
    files = [path for ending in ("py", "sh", "ts", "json") for path in folder.rglob(f"*.{ending}")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)

    assert set(re.findall(r"\bCONTEXT_COMPRESSION_[A-Z][A-Z_]*[A-Z]\b", text)) <= VARIABLES


def test_a_variable_that_the_host_keeps_back_is_said(machine_with: Machines) -> None:
    machine = machine_with(CONTEXT_COMPRESSION_KEEP_RECENT="7", CODEX_HOME="")
    install(CODEX, machine, Server("/gone"))

    finding = of(examine(CODEX, machine, Server("/gone")), "environment")

    assert finding.ok is None
    assert "does not pass on CONTEXT_COMPRESSION_KEEP_RECENT" in finding.says


def test_codex_passes_on_what_its_entry_lists_and_desktops_little(machine_with: Machines) -> None:
    machine = machine_with(CODEX_HOME="/c", SECRET="s", LANG="C")

    assert environment("whole", machine)["SECRET"] == "s"
    listed = environment("listed", machine, ["CODEX_HOME"])
    assert (listed["CODEX_HOME"], listed["LANG"]) == ("/c", "C")
    assert "SECRET" not in listed
    if sys.platform != "win32":
        assert environment("desktop", machine).keys() == {"HOME", "PATH", "LANG"}
        assert environment("desktop", machine)["PATH"] != machine.environ["PATH"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_store_that_others_can_read_is_said(machine_with: Machines, real_server: Server) -> None:
    machine = machine_with()
    session = Session(machine.cwd / ".compression", "mine")
    session.record({"role": "user", "content": "hello"})
    session.store.folder.chmod(0o755)
    install(CODEX, machine, real_server)

    [finding] = wrong(examine(CODEX, machine, real_server))

    assert "mode 755" in finding.says
    assert finding.mend == f"chmod 700 {session.store.folder}"
    session.store.folder.chmod(0o700)
    assert of(examine(CODEX, machine, real_server), "store").says.endswith("1 conversation")


def test_damage_in_the_store_is_said(machine_with: Machines, real_server: Server) -> None:
    machine = machine_with()
    store = machine.cwd / ".compression"
    made = Store.of_user(store, machine.home)
    Session(made, "mine").record({"role": "user", "content": "hello"})
    (store / "summaries.json").write_text("[", encoding="utf-8")
    install(CODEX, machine, real_server)

    [finding] = wrong(examine(CODEX, machine, real_server))
    (store / "config.json").write_text('{"keep_recnt": 1}', encoding="utf-8")
    refused = of(examine(CODEX, machine, real_server), "status")

    assert "summaries.json is not JSON" in finding.says
    assert "did you mean keep_recent" in refused.says


def test_a_key_is_said_to_be_there_or_not_and_never_shown(
    machine_with: Machines, real_server: Server
) -> None:
    gemini = BY_NAME["gemini-cli"]
    wanting = machine_with(CONTEXT_COMPRESSION_SUMMARY_MODEL="claude-x")
    install(gemini, wanting, real_server)

    without = of(examine(gemini, wanting, real_server), "key")
    given = {**wanting.environ, "ANTHROPIC_API_KEY": "sk-secret"}
    having = Machine(wanting.system, given, wanting.home, wanting.cwd)
    found = examine(gemini, having, real_server)

    assert without.ok is False
    assert "no key" in without.says
    assert of(found, "key").says.startswith("present")
    assert "sk-secret" not in str(found)


def test_the_newest_transcript_is_tried(machine_with: Machines, real_server: Server) -> None:
    machine = machine_with()
    pi = BY_NAME["pi"]
    install(pi, machine, real_server)
    path = pi.file(machine).parent / "sessions" / "--p--" / "x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("nonsense\n", encoding="utf-8")

    unreadable = of(examine(pi, machine, real_server), "transcripts")
    path.write_text('{"role": "user", "content": "hi"}\n' * 2, encoding="utf-8")
    readable = of(examine(pi, machine, real_server), "transcripts")

    assert (unreadable.ok, readable.ok) == (False, True)
    assert "has 2 messages" in readable.says


def test_hooks_that_are_missing_or_old_are_said(machine_with: Machines) -> None:
    machine, gone = machine_with(), Server("/gone")
    install(CODEX, machine, gone)
    path = CODEX.file(machine).parent / "hooks.json"

    now = of(examine(CODEX, machine, gone), "hooks")
    path.write_text(path.read_text(encoding="utf-8").replace("20", "21"), encoding="utf-8")
    old = of(examine(CODEX, machine, gone), "hooks")
    path.unlink()
    none = of(examine(CODEX, machine, gone), "hooks")

    assert (now.ok, old.ok, none.ok) == (True, False, None)
    assert old.mend == "context-compression install codex"


def test_an_entry_that_is_switched_off_is_said(machine_with: Machines) -> None:
    machine = machine_with()
    opencode, gone = BY_NAME["opencode"], Server("/gone")
    install(opencode, machine, gone)
    path = opencode.file(machine)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"enabled": true', '"enabled": false'), encoding="utf-8")

    assert "switched off" in wrong(examine(opencode, machine, gone))[0].says
