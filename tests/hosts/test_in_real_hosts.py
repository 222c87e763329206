"""Installed into real hosts, used there by a scripted model, and taken out again."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from other_hosts import CODEX, GEMINI, OPENCODE, PI, Codex, GeminiCLI, OpenCode, Pi, on_demand
from real_hosts import CLAUDE_CODE, ClaudeCode, Desk, Package, calling, results_in, tools_in
from scripted_model import ScriptedModel

from context_compression.testing.messages_api import Answer, MessagesAPI

pytestmark = pytest.mark.slow

OURS = (sys.executable, "-m", "context_compression")
SETTINGS = '{\n    "model": "claude-opus-5-5", "env": {"A": "b"}\n}'
COUNT = "seq -f 'line %g of what was counted' 1 500"
CONFIG = '# mine\nmodel_verbosity = "low"\n\n[tui] # the screen\nnotifications = false'


@pytest.fixture
def claude(tmp_path: Path) -> ClaudeCode:
    command = CLAUDE_CODE.installed()
    desk = Desk(tmp_path)
    return ClaudeCode(command, desk)


def beside(claude: ClaudeCode) -> dict[str, str]:
    """An environment in which Claude Code's command is found, and it stays offline."""
    path = f"{claude.command.parent}:{Path(sys.executable).parent}:/usr/bin:/bin"
    return {"PATH": path, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def spoken(api: MessagesAPI) -> str:
    """Everything that the model was sent, with quotation marks as they are."""
    return json.dumps([request.body for request in api.requests]).replace('\\"', '"')


def test_claude_code_has_the_plugin_after_install_and_nothing_after_uninstall(
    claude: ClaudeCode,
) -> None:
    settings = claude.desk.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS, encoding="utf-8")
    around = beside(claude)

    installed = claude.desk.run(*OURS, "install", "claude-code", **around)
    again = claude.desk.run(*OURS, "install", "claude-code", **around)
    doctor = claude.desk.run(*OURS, "doctor", "claude-code", "--json", **around)
    name = "mcp__plugin_context-compression_context__context_status"
    with MessagesAPI([calling(name), "done"]) as api:
        claude.ask(api, "How full is it?", "--allowedTools", name, **around)

    assert installed.code == 0, installed.stderr
    assert "has it already" in again.stderr
    assert doctor.code == 0, doctor.stdout
    assert name in tools_in(api.requests[0])
    assert "tokens used" in results_in(api.requests[-1])[0]
    assert "of this project, the newest" not in spoken(api)
    with MessagesAPI(["done"]) as api:
        claude.ask(api, "And today?", **around)
    assert '1 earlier session of this project, the newest: "How full is it?"' in spoken(api)
    gone = claude.desk.run(*OURS, "uninstall", "claude-code", **around)
    assert gone.code == 0, gone.stderr
    assert settings.read_text(encoding="utf-8") == SETTINGS
    with MessagesAPI(["done"]) as api:
        claude.ask(api, "And now?", **around)
    assert not any("context_status" in tool for tool in tools_in(api.requests[0]))


def test_without_its_command_claude_code_gets_the_server(claude: ClaudeCode) -> None:
    desk = claude.desk
    nowhere = {"PATH": "/usr/bin:/bin"}

    installed = desk.run(*OURS, "install", "claude-code", **nowhere)
    name = "mcp__context-compression__context_status"
    with MessagesAPI([calling(name), "done"]) as api:
        claude.ask(api, "How full is it?", "--allowedTools", name, **beside(claude))

    assert "Only the server is installed" in installed.stderr
    assert "tokens used" in results_in(api.requests[-1])[0]
    desk.run(*OURS, "uninstall", "claude-code", **nowhere)
    left = json.loads((desk.home / ".claude.json").read_bytes())  # Claude Code wrote there, too
    assert "mcpServers" not in left or not left["mcpServers"]
    assert "firstStartTime" in left


def test_codex_has_tools_and_hooks_after_install_and_nothing_after_uninstall(
    tmp_path: Path,
) -> None:
    codex = Codex(CODEX.installed(), Desk(tmp_path), ("--dangerously-bypass-hook-trust",))
    codex.config.parent.mkdir(parents=True)
    codex.config.write_text(CONFIG, encoding="utf-8")

    installed = codex.desk.run(*OURS, "install", "codex")
    doctor = codex.desk.run(*OURS, "doctor", "codex", "--json")
    required = ("-c", "mcp_servers.context-compression.required=true")
    approved = ("-c", 'mcp_servers.context-compression.default_tools_approval_mode="approve"')
    name = "mcp__context_compression__context_summary"
    script = [calling(name), calling("exec_command", cmd=COUNT), "done"]
    with ScriptedModel(script) as model:
        codex.ask(model, "What was summarised?", *required, *approved)

    assert installed.code == 0, installed.stderr
    assert doctor.code == 0, doctor.stdout
    assert name in model.turns[0].tools
    summaries, preview = model.turns[-1].results
    assert "No summaries yet" in summaries
    assert ", cut by the host: " in preview  # as Codex does without our settings
    assert "; ref " in preview
    codex.desk.run(*OURS, "uninstall", "codex")
    assert codex.config.read_text(encoding="utf-8") == CONFIG
    assert not (codex.config.parent / "hooks.json").exists()


@pytest.mark.parametrize(
    ("name", "package", "made", "call"),
    [
        ("gemini-cli", GEMINI, GeminiCLI, calling("run_shell_command", command=COUNT)),
        ("opencode", OPENCODE, OpenCode, calling("bash", command=COUNT, description="count")),
        ("pi", PI, Pi, calling("bash", command=COUNT)),
    ],
    ids=["gemini-cli", "opencode", "pi"],
)
def test_other_hosts_ask_our_hooks_after_install_and_not_after_uninstall(
    name: str, package: Package, made: Any, call: Answer, tmp_path: Path
) -> None:
    host = made(on_demand(package), Desk(tmp_path))
    (host.desk.project / ".git").mkdir()

    installed = host.desk.run(*OURS, "install", name)
    with ScriptedModel([call, "done"]) as model:
        host.ask(model, "count")
    doctor = host.desk.run(*OURS, "doctor", name, "--json")
    gone = host.desk.run(*OURS, "uninstall", name)
    with ScriptedModel([call, "done"]) as bare:
        host.ask(bare, "count again")

    assert installed.code == gone.code == 0, installed.stderr + gone.stderr
    assert doctor.code == 0, doctor.stdout
    assert "lines; ref " in model.turns[-1].results[-1]
    assert "lines; ref " not in bare.turns[-1].results[-1]
    if name != "pi":  # this version has no MCP of its own
        assert any("context_status" in tool for tool in model.turns[0].tools)
    assert not any("context_status" in tool for tool in bare.turns[0].tools)
