"""The hosts whose configuration is all we know: Claude Desktop, Cursor, VS Code, Zed, Goose."""

from collections.abc import Sequence
from pathlib import Path

from context_compression.hosts.host import Host, Value, plain, typed
from context_compression.hosts.setup import yaml
from context_compression.hosts.setup.machine import PROGRAM, Machine


def claude_desktop(machine: Machine) -> Path:
    """Its configuration file. On Windows, the packaged application has its own AppData folder."""
    name = "claude_desktop_config.json"
    if machine.system == "win32":
        local = machine.folder("LOCALAPPDATA") or machine.home / "AppData" / "Local"
        for package in sorted((local / "Packages").glob("Claude_*")):
            return package / "LocalCache" / "Roaming" / "Claude" / name
    return machine.applications / "Claude" / name


def zed(machine: Machine) -> Path:
    """Its configuration file. macOS also has it in `~/.config`, but ignores XDG_CONFIG_HOME."""
    if machine.system == "win32":
        return machine.applications / "Zed" / "settings.json"
    home = machine.config_home if machine.system == "linux" else machine.home / ".config"
    return home / "zed" / "settings.json"


def goose(machine: Machine) -> Path:
    """Its configuration file; on Windows in a folder named after its first publisher."""
    if root := machine.folder("GOOSE_PATH_ROOT"):
        return root / "config" / "config.yaml"
    if machine.system == "win32":
        return machine.applications / "Block" / "goose" / "config" / "config.yaml"
    return machine.config_home / "goose" / "config.yaml"


def entry_of_goose(command: str, args: Sequence[str]) -> Value:
    """Our entry. Goose calls servers extensions, and requires all of these keys."""
    return {
        "enabled": True,
        "type": "stdio",
        "name": PROGRAM,
        "description": "Context window management: usage, compression, offloading, restoring",
        "cmd": command,
        "args": [*args],
        "envs": {},
        "timeout": 300,
    }


CLAUDE_DESKTOP = Host(
    "claude-desktop", "Claude Desktop",
    user=claude_desktop, under="mcpServers", entry=plain, strict=True,
    environment="desktop", has_no_folder=True,
    then="Quit it, not only its window, and start it again.",
)  # fmt: skip
CURSOR = Host(
    "cursor", "Cursor",
    program="cursor", user=lambda machine: machine.home / ".cursor" / "mcp.json",
    under="mcpServers", entry=typed, project=(".cursor/mcp.json",), environment="desktop",
    then="Check in its settings, under MCP, that it is on.",
)  # fmt: skip
VSCODE = Host(
    "vscode", "VS Code",
    program="code", user=lambda machine: machine.applications / "Code" / "User" / "mcp.json",
    under="servers", entry=typed, project=(".vscode/mcp.json",), environment="desktop",
    then="Start it in the list of MCP servers (command MCP: List Servers).",
)  # fmt: skip
ZED = Host(
    "zed", "Zed",
    program="zed", user=zed, under="context_servers", entry=plain,
    project=(".zed/settings.json",), environment="desktop", then="It reads the change by itself.",
)  # fmt: skip
GOOSE = Host(
    "goose", "Goose",
    program="goose", user=goose, under="extensions", entry=entry_of_goose,
    format=yaml, environment="desktop",
)  # fmt: skip
