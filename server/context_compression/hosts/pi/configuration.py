"""Pi's configuration, and our entry in it."""

from collections.abc import Sequence
from pathlib import Path

from context_compression.hosts.pi.about import MCP_SINCE, NAME, TITLE, agent_folder
from context_compression.setup.additions import Value
from context_compression.setup.host import HookFile, Host, below, plain
from context_compression.setup.machine import PROGRAM, Machine

PLUGIN = Path(__file__).parent / "plugin"


def entry(command: str, args: Sequence[str]) -> Value:
    """Our entry. The model sees only `direct` tools; other tools are for scripts."""
    return {**plain(command, args), "exposure": "direct"}


def settings(machine: Machine) -> Path:
    """`~/.pi/agent/mcp.json`."""
    return agent_folder(machine.folder_variables, machine.home) / "mcp.json"


HOOKS = HookFile(
    PLUGIN / f"{PROGRAM}.ts",
    lambda machine: settings(machine).parent / "extensions" / f"{PROGRAM}.ts",
    f".pi/extensions/{PROGRAM}.ts",
)
PI = Host(
    NAME, TITLE, "pi", settings, "mcpServers", entry, project=(".pi/mcp.json",), strict=True,
    hooks=(HOOKS,), transcripts=below(settings, "sessions/*/*.jsonl"),
    then="Restart it. Pi before 0.99 starts no MCP servers, and ignores this file.",
    mcp_since=MCP_SINCE,
)  # fmt: skip
