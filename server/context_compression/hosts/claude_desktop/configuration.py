"""Claude Desktop's configuration."""

from pathlib import Path

from context_compression.hosts.setup.host import Host, plain
from context_compression.hosts.setup.machine import Machine


def settings(machine: Machine) -> Path:
    """Its configuration file. On Windows, the packaged application has its own AppData folder."""
    name = "claude_desktop_config.json"
    if machine.system == "win32":
        local = machine.folder("LOCALAPPDATA") or machine.home / "AppData" / "Local"
        for package in sorted((local / "Packages").glob("Claude_*")):
            return package / "LocalCache" / "Roaming" / "Claude" / name
    return machine.applications / "Claude" / name


CLAUDE_DESKTOP = Host(
    "claude-desktop", "Claude Desktop", None, settings, "mcpServers", plain,
    strict=True, environment="desktop", has_no_folder=True,
    then="Quit it, not only its window, and start it again.",
)  # fmt: skip
