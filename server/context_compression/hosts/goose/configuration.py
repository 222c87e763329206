"""Goose's configuration, and our entry in it."""

from collections.abc import Sequence
from pathlib import Path

from context_compression.hosts.setup import yaml
from context_compression.hosts.setup.host import Host, Value
from context_compression.hosts.setup.machine import PROGRAM, Machine


def entry(command: str, args: Sequence[str]) -> Value:
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


def settings(machine: Machine) -> Path:
    """Its configuration file; on Windows in a folder named after its first publisher."""
    if root := machine.folder("GOOSE_PATH_ROOT"):
        return root / "config" / "config.yaml"
    if machine.system == "win32":
        return machine.applications / "Block" / "goose" / "config" / "config.yaml"
    return machine.config_home / "goose" / "config.yaml"


GOOSE = Host(
    "goose", "Goose", "goose", settings, "extensions", entry,
    format=yaml, environment="desktop",
)  # fmt: skip
