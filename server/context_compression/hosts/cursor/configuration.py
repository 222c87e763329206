"""Cursor's configuration."""

from context_compression.hosts.setup.host import Host, typed

CURSOR = Host(
    "cursor", "Cursor", "cursor", lambda machine: machine.home / ".cursor" / "mcp.json",
    "mcpServers", typed, project=(".cursor/mcp.json",), environment="desktop",
    then="Check in its settings, under MCP, that it is on.",
)  # fmt: skip
