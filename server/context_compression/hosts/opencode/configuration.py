"""opencode's configuration, and our entry in it."""

from collections.abc import Sequence
from pathlib import Path

from context_compression.hosts.opencode.about import (
    CONFIG_VARIABLE,
    DATABASE,
    NAME,
    SEEN,
    TITLE,
    data_folder,
)
from context_compression.setup.additions import Value
from context_compression.setup.host import HookFile, Host, first_of
from context_compression.setup.machine import PROGRAM, Machine

PLUGIN = Path(__file__).parent / "plugin"
NAMES = ("opencode.json", "opencode.jsonc")


def entry(command: str, args: Sequence[str]) -> Value:
    """Our entry. The timeout in ms applies to the start and to each call; the default is 5,000."""
    return {"type": "local", "command": [command, *args], "enabled": True, "timeout": 120_000}


def folder(machine: Machine) -> Path:
    """`~/.config/opencode`; opencode follows the XDG specification on every system."""
    return machine.folder(CONFIG_VARIABLE) or machine.config_home / "opencode"


def settings(machine: Machine) -> Path:
    """Its configuration file, which has one of three names."""
    return first_of([folder(machine) / name for name in (*NAMES, "config.json")])


HOOKS = HookFile(
    PLUGIN / f"{PROGRAM}.js",
    lambda machine: folder(machine) / "plugin" / f"{PROGRAM}.js",
    f".opencode/plugin/{PROGRAM}.js",
)
OPENCODE = Host(
    NAME, TITLE, "opencode", settings, "mcp", entry,
    project=NAMES, hooks=(HOOKS,),
    transcripts=lambda machine: (data_folder(machine.folder_variables, machine.home), DATABASE),
    seen=SEEN,
)  # fmt: skip
