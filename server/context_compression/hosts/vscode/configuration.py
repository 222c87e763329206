"""VS Code's configuration."""

from pathlib import Path

from context_compression.hosts.setup.host import Host, typed
from context_compression.hosts.setup.machine import Machine


def settings(machine: Machine) -> Path:
    """The configuration file of the default profile."""
    return machine.applications / "Code" / "User" / "mcp.json"


VSCODE = Host(
    "vscode", "VS Code", "code", settings, "servers", typed,
    project=(".vscode/mcp.json",), environment="desktop",
    then="Start it in the list of MCP servers (command MCP: List Servers).",
)  # fmt: skip
