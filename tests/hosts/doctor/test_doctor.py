"""The doctor starts a real server as the host would, and says what is wrong."""

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import context_compression
from context_compression import Session
from context_compression.errors import SetupError
from context_compression.hosts import BY_NAME, Host, Machine, Server, doctor, examine
from context_compression.hosts.claude_code.install_plugin import (
    FOLDER,
    HOOK_FILES,
    MANIFEST,
    MARKET,
    PLUGIN,
)
from context_compression.hosts.doctor import check_server, passed_environment
from context_compression.hosts.doctor.checks import VARIABLES, Finding
from context_compression.hosts.setup import installing
from context_compression.store import Store

pytestmark = pytest.mark.slow

Machines = Callable[..., Machine]
CODEX = BY_NAME["codex"]
CURSOR = BY_NAME["cursor"]


def of(findings: Sequence[Finding], name: str) -> Finding:
    return next(finding for finding in findings if finding.check == name)


def wrong(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.ok is False]


def install(host: Host, machine: Machine, server: Server) -> None:
    additions = [host.server_entry(machine, server), *host.hook_additions(machine, server)]
    installing.install(additions, machine.home)


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
    [finding] = examine(CODEX, machine_with(PATH="/nowhere"), real_server)

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

    [finding] = wrong(check_server([sys.executable, "-c", code], machine.environ, machine))

    assert finding.says == "does not start: out of patience"


def test_a_command_with_the_address_of_a_database_is_told_without_its_password(
    machine_with: Machines,
) -> None:
    machine = machine_with()
    database = "postgresql://worker:a-password@db/archive"
    started = Server(sys.executable, ("-c", "raise SystemExit('no')", "--store", database))
    install(CODEX, machine, started)

    found = examine(CODEX, machine, Server("/gone"))

    assert "a-password" not in str(found)
    assert "--store postgresql://db/archive serve" in of(found, "command").says
    assert "--store postgresql://db/archive serve" in of(found, "server").mend


@pytest.mark.parametrize(
    ("variable", "value", "says", "mend"),
    [
        ("CONTEXT_COMPRESSION_KEEP_RECNT", "5", "is no setting of ours", "KEEP_RECENT?"),
        ("CONTEXT_COMPRESSION_XYZZY", "5", "is no setting of ours", "Remove it."),
        (
            "CONTEXT_COMPRESSION_MODEL",
            "claude-haiku-4-5",
            "is no setting of ours",
            "Did you mean CONTEXT_COMPRESSION_SUMMARY_MODEL?",
        ),
        ("CONTEXT_COMPRESSION_KEEP_RECENT", "many", "keep_recent", "Correct"),
        ("CONTEXT_COMPRESSION_KEY", "short", "is not 32 bytes in base64url", "Correct"),
    ],
)
def test_a_variable_that_is_misspelt_or_impossible_is_said(
    machine_with: Machines, variable: str, value: str, says: str, mend: str
) -> None:
    machine = machine_with(**{variable: value})

    finding = of(wrong(check_server(["/gone"], machine.environ, machine)), "environment")

    assert says in finding.says
    assert mend in finding.mend


@pytest.mark.parametrize(
    ("variable", "mend"),
    [("COMPACT_THRESHOLD", "COMPACT_THRESHOLD_RATIO"), ("COMPACT_OUTPUT_DIR", "_DIR names")],
)
@pytest.mark.parametrize("reaches_the_server", [True, False])
def test_a_variable_of_another_tool_that_sets_nothing_is_said_and_is_no_fault(
    machine_with: Machines, variable: str, mend: str, reaches_the_server: bool
) -> None:
    machine = machine_with(**{variable: "1"})
    none: dict[str, str] = {}

    found = check_server(["/gone"], machine.environ if reaches_the_server else none, machine)

    finding = of(found, "environment")

    assert finding.ok is None
    assert finding.says == f"{variable} is not understood"
    assert mend in finding.mend


@pytest.mark.parametrize(
    ("variable", "value"),
    [("CONTEXT_COMPRESSION_KEY", "A" * 43), ("CONTEXT_COMPRESSION_OBJECTS", "/a/folder")],
)
def test_a_variable_that_a_folder_would_ignore_is_said(
    machine_with: Machines, real_server: Server, variable: str, value: str
) -> None:
    machine = machine_with(**{variable: value})
    command = [real_server.command, *real_server.options]
    database = ["--store", "postgresql://127.0.0.1:1/none"]

    finding = of(check_server([*command, "serve"], machine.environ, machine), "store")
    started = check_server([*command, *database, "serve"], machine.environ, machine)

    assert "this store is a folder" in finding.says
    assert "name a database in CONTEXT_COMPRESSION_STORE" in finding.mend
    [away] = [each for each in started if each.check == "store"]
    assert away.ok is False
    assert away.says.startswith("The database postgresql://127.0.0.1:1/none does not answer")


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

    assert passed_environment("whole", machine)["SECRET"] == "s"
    listed = passed_environment("listed", machine, ["CODEX_HOME"])
    assert (listed["CODEX_HOME"], listed["LANG"]) == ("/c", "C")
    assert "SECRET" not in listed
    if sys.platform != "win32":
        assert passed_environment("desktop", machine).keys() == {"HOME", "PATH", "LANG"}
        assert passed_environment("desktop", machine)["PATH"] != machine.environ["PATH"]


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


def test_the_key_and_the_package_of_the_api_in_use_are_looked_for(
    machine_with: Machines, real_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_package(name: str) -> None:
        return None

    gemini = BY_NAME["gemini-cli"]
    named = {"CONTEXT_COMPRESSION_SUMMARY_MODEL": "m", "CONTEXT_COMPRESSION_SUMMARIZER": "openai"}
    wanting = machine_with(**named, ANTHROPIC_API_KEY="sk-secret")
    having = machine_with(**named, OPENAI_BASE_URL="http://localhost:11434/v1")
    install(gemini, wanting, real_server)

    without = of(examine(gemini, wanting, real_server), "key")
    found = of(examine(gemini, having, real_server), "key")
    monkeypatch.setattr("context_compression.hosts.doctor.checks.find_spec", no_package)
    missing = of(examine(gemini, having, real_server), "key")

    assert without.ok is False
    assert "OPENAI_API_KEY" in without.mend
    assert found.says.startswith("present")
    assert missing.ok is False
    assert missing.mend == "pip install '.[openai]'"


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


def trust_in_codex(machine: Machine, **more: Any) -> None:
    """As its user does with /hooks."""
    config = CODEX.file(machine)
    hooks = config.parent / "hooks.json"
    text = config.read_text(encoding="utf-8")
    for event in ("post_tool_use:0", "pre_compact:0", "session_start:0", "session_start:1"):
        state = {"trusted_hash": "sha256:0", **more}
        shown = "".join(f"{name} = {json.dumps(value)}\n" for name, value in state.items())
        text += f'[hooks.state."{hooks}:{event}:0"]\n{shown}'
    config.write_text(text, encoding="utf-8")


def test_hooks_of_codex_are_fine_only_where_it_trusts_them(machine_with: Machines) -> None:
    machine, gone = machine_with(), Server("/gone")
    install(CODEX, machine, gone)
    config = CODEX.file(machine)
    untouched = config.read_text(encoding="utf-8")

    asked_never = of(examine(CODEX, machine, gone), "hooks")
    trust_in_codex(machine)
    trusted = of(examine(CODEX, machine, gone), "hooks")
    config.write_text(untouched, encoding="utf-8")
    trust_in_codex(machine, enabled=False)
    disabled = of(examine(CODEX, machine, gone), "hooks")
    config.write_text(untouched + "[features]\nhooks = false\n", encoding="utf-8")
    off = of(examine(CODEX, machine, gone), "hooks")

    assert (asked_never.ok, trusted.ok, disabled.ok, off.ok) == (None, True, False, False)
    assert "/hooks" in asked_never.mend
    assert "switched off" in off.says


GEMINI = BY_NAME["gemini-cli"]
HINDERED: list[tuple[dict[str, Any], dict[str, str], bool, bool]] = [
    ({}, {}, True, True),
    ({"hooksConfig": {"enabled": False}}, {}, True, False),
    ({"mcp": {"excluded": ["context-compression"]}}, {}, False, True),
    ({"mcp": {"allowed": ["another"]}}, {}, False, True),
    ({"mcp": {"allowed": ["context-compression"]}}, {}, True, True),
    ({"security": {"folderTrust": {"enabled": True}}}, {}, False, False),
    ({"security": {"folderTrust": {"enabled": True}}}, {".": "TRUST_FOLDER"}, True, True),
    ({"security": {"folderTrust": {"enabled": True}}}, {"..": "TRUST_FOLDER"}, True, True),
    ({"security": {"folderTrust": {"enabled": True}}}, {"../x": "TRUST_PARENT"}, True, True),
    (
        {"security": {"folderTrust": {"enabled": True}}},
        {"..": "TRUST_FOLDER", ".": "DO_NOT_TRUST"}, False, False,
    ),
    ({"security": {"folderTrust": {"enabled": False}}}, {}, True, True),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "folders", "serves", "asks"), HINDERED)
def test_gemini_is_fine_only_where_it_starts_the_server_and_asks_the_hooks(
    machine_with: Machines,
    settings: dict[str, Any],
    folders: dict[str, str],
    serves: bool,
    asks: bool,
) -> None:
    machine, gone = machine_with(), Server("/gone")
    path = GEMINI.file(machine)
    path.parent.mkdir()
    path.write_text(json.dumps(settings), encoding="utf-8")
    decided = {os.path.normpath(machine.cwd / name): how for name, how in folders.items()}
    (path.parent / "trustedFolders.json").write_text(json.dumps(decided), encoding="utf-8")
    install(GEMINI, machine, gone)

    found = examine(GEMINI, machine, gone)

    assert of(found, "configuration").ok is serves
    assert of(found, "hooks").ok is asks
    assert all(finding.mend for finding in wrong(found))


def test_a_project_of_claude_code_is_fine_only_once_its_servers_are_approved(
    machine_with: Machines,
) -> None:
    machine, gone, claude = machine_with(), Server("/gone"), BY_NAME["claude-code"]
    installing.install([claude.server_entry(machine, gone, in_project=True)], machine.home)
    settings = machine.cwd / ".claude" / "settings.local.json"
    settings.parent.mkdir()

    def told(said: dict[str, Any]) -> Finding:
        settings.write_text(json.dumps(said), encoding="utf-8")
        return of(examine(claude, machine, gone, in_project=True), "configuration")

    assert told({}).ok is False
    assert "approve" in told({}).mend
    assert told({"enabledMcpjsonServers": ["context-compression"]}).ok is True
    assert told({"enableAllProjectMcpServers": True}).ok is True
    assert told({"disabledMcpjsonServers": ["context-compression"]}).ok is False


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_a_plugin_of_claude_code_whose_hooks_are_switched_off_is_said(
    machine_with: Machines,
) -> None:
    machine, claude = machine_with(PATH="/usr/bin:/bin"), BY_NAME["claude-code"]
    settings = machine.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    source = {"source": {"source": "directory", "path": str(FOLDER)}}
    said = {
        "enabledPlugins": {PLUGIN: True},
        "extraKnownMarketplaces": {MARKET: source},
        "disableAllHooks": True,
    }
    settings.write_text(json.dumps(said), encoding="utf-8")

    off = of(examine(claude, machine, Server("/gone")), "hooks")

    assert off.ok is False
    assert str(settings) in off.says and "disableAllHooks" in off.mend


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
@pytest.mark.parametrize(
    ("version", "fine"), [("0.73.1", False), ("pi 0.98", False), ("0.99.0", True), ("1.0.0", True)]
)
def test_a_host_that_knows_no_mcp_yet_is_not_fine(
    machine_with: Machines, tmp_path: Path, version: str, fine: bool
) -> None:
    program = tmp_path / "bin" / "pi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
    program.chmod(0o755)
    machine, pi = machine_with(PATH=f"{program.parent}:/usr/bin:/bin"), BY_NAME["pi"]
    install(pi, machine, Server("/gone"))

    host = of(examine(pi, machine, Server("/gone")), "host")

    assert host.ok is fine
    assert fine or "since 0.99" in host.mend


def test_hooks_that_are_missing_or_old_are_said(machine_with: Machines) -> None:
    machine, gone = machine_with(), Server("/gone")
    install(CODEX, machine, gone)
    path = CODEX.file(machine).parent / "hooks.json"
    trust_in_codex(machine)

    now = of(examine(CODEX, machine, gone), "hooks")
    path.write_text(path.read_text(encoding="utf-8").replace("20", "21"), encoding="utf-8")
    old = of(examine(CODEX, machine, gone), "hooks")
    path.unlink()
    none = of(examine(CODEX, machine, gone), "hooks")

    assert (now.ok, old.ok, none.ok) == (True, False, False)
    assert old.mend == "context-compression install codex"


def test_a_server_that_several_hosts_have_is_started_once(
    machine_with: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, here = machine_with(PATH="/usr/bin:/bin"), Server(sys.executable)
    hosts = [BY_NAME[name] for name in ("gemini-cli", "opencode", "pi", "codex")]
    for host in hosts:
        install(host, machine, here)
    started: list[Sequence[str]] = []

    async def fails(command: Sequence[str], *_: object) -> None:
        started.append(command)
        raise SetupError("it is tired")

    monkeypatch.setattr("context_compression.hosts.doctor.trial.try_out", fails)
    found = doctor.examine_all(hosts, machine, here)

    assert ["does not start: it is tired" in str(of(each, "server")) for each in found] == [
        True
    ] * 4
    assert len(started) == 2  # Codex passes on fewer variables


def test_hooks_without_the_server_are_said(machine_with: Machines) -> None:
    machine, gone, pi = machine_with(PATH="/nowhere"), Server("/gone"), BY_NAME["pi"]
    assert not doctor.has_hooks(pi, machine)
    installing.install(pi.hook_additions(machine, gone), machine.home)

    missing, hooks = examine(pi, machine, gone)

    assert doctor.has_hooks(pi, machine)
    assert (missing.check, missing.ok, hooks.ok) == ("configuration", False, True)
    assert missing.mend == "context-compression install pi"


@pytest.mark.parametrize("path", ["/nowhere", "/usr/bin:/bin"])
def test_claude_code_without_the_plugin_is_a_problem_unless_only_the_tools_are_wanted(
    machine_with: Machines, path: str
) -> None:
    machine, claude, gone = machine_with(PATH=path), BY_NAME["claude-code"], Server("/gone")
    install(claude, machine, gone)

    found = examine(claude, machine, gone)
    alone = examine(claude, machine, gone, with_hooks=False)

    assert of(found, "hooks").ok is False
    assert of(found, "hooks").mend == "context-compression install claude-code"
    assert not [finding for finding in alone if finding.check == "hooks"]


def test_a_plugin_of_claude_code_in_another_version_is_said(
    machine_with: Machines, tmp_path: Path
) -> None:
    machine, claude = machine_with(PATH="/usr/bin:/bin"), BY_NAME["claude-code"]
    settings = machine.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    about = json.loads((FOLDER / MANIFEST).read_bytes())
    said = {
        "enabledPlugins": {PLUGIN: True},
        "extraKnownMarketplaces": {MARKET: {"source": {"path": str(tmp_path / "old")}}},
    }
    settings.write_text(json.dumps(said), encoding="utf-8")
    manifest = tmp_path / "old" / MANIFEST
    manifest.parent.mkdir(parents=True)

    def told(number: str) -> Finding:
        manifest.write_text(json.dumps(about | {"version": number}), encoding="utf-8")
        return of(examine(claude, machine, Server("/gone")), "hooks")

    lacking = told(about["version"])
    for name in HOOK_FILES:
        (tmp_path / "old" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "old" / name).write_bytes((FOLDER / name).read_bytes())

    assert (lacking.ok, "lacks hooks/hooks.json" in lacking.says) == (False, True)
    assert told(about["version"]).ok is True
    assert told("0.0.1").ok is False
    assert "version 0.0.1 in" in told("0.0.1").says


def test_an_entry_that_is_switched_off_is_said(machine_with: Machines) -> None:
    machine = machine_with()
    opencode, gone = BY_NAME["opencode"], Server("/gone")
    install(opencode, machine, gone)
    path = opencode.file(machine)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"enabled": true', '"enabled": false'), encoding="utf-8")

    assert "switched off" in wrong(examine(opencode, machine, gone))[0].says


def test_what_agents_may_read_is_listed_and_of_the_home_folder_nothing(
    machine_with: Machines, real_server: Server
) -> None:
    machine = machine_with()
    install(CODEX, machine, real_server)

    in_project = of(examine(CODEX, machine, real_server), "agents read").says
    at_home = replace(machine, cwd=machine.home)
    nowhere = of(examine(CODEX, at_home, real_server), "agents read").says

    assert in_project == f"{machine.cwd}, {machine.cwd}/.compression"
    assert nowhere == f"{machine.home}/.compression"


def test_settings_that_came_with_a_clone_are_said_not_to_be_applied(
    machine_with: Machines, real_server: Server
) -> None:
    machine = machine_with()
    store = machine.cwd / ".compression"
    Session(store, "theirs").record({"role": "user", "content": "hello"})
    (store / "config.json").write_text('{"keep_recent": 1}', encoding="utf-8")
    install(CODEX, machine, real_server)

    says = of(examine(CODEX, machine, real_server), "trust").says

    assert "are not applied: this user did not make that folder" in says
