"""Zed's configuration."""

from pathlib import Path

from context_compression.hosts.setup.host import Host, plain
from context_compression.hosts.setup.machine import Machine


def settings(machine: Machine) -> Path:
    """Its configuration file. macOS also has it in `~/.config`, but ignores XDG_CONFIG_HOME."""
    if machine.system == "win32":
        return machine.applications / "Zed" / "settings.json"
    home = machine.config_home if machine.system == "linux" else machine.home / ".config"
    return home / "zed" / "settings.json"


ZED = Host(
    "zed", "Zed", "zed", settings, "context_servers", plain,
    project=(".zed/settings.json",), environment="desktop", then="It reads the change by itself.",
)  # fmt: skip
