"""Claude Code: where it keeps its configuration, and what switches our server or hooks off."""

from collections.abc import Iterator
from pathlib import Path

from context_compression.hosts.claude_code.about import (
    MANAGED_SETTINGS,
    NAME,
    SEEN,
    TITLE,
    config_folder,
    user_file,
)
from context_compression.setup.config_values import json_in, names_of, object_of
from context_compression.setup.finding import Finding
from context_compression.setup.host import Host, typed
from context_compression.setup.machine import PROGRAM, Machine


def folder(machine: Machine) -> Path:
    """`~/.claude`, or the folder that CLAUDE_CONFIG_DIR names."""
    return config_folder(machine.folder_variables, machine.home)


def settings(machine: Machine) -> Path:
    """The file with the user's MCP servers."""
    return user_file(machine.folder_variables, machine.home)


def hindrances(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    """What keeps Claude Code from starting our server or asking our hooks."""
    managed = json_in(Path(MANAGED_SETTINGS.get(machine.system, MANAGED_SETTINGS["linux"])))
    user = folder(machine) / "settings.json"
    project = machine.cwd / ".claude"
    files = (user, project / "settings.json", project / "settings.local.json")
    settings = {file: json_in(file) for file in files}
    off = [file for file, said in settings.items() if said.get("disableAllHooks") is True]
    if managed.get("disableAllHooks") is True or managed.get("allowManagedHooksOnly") is True:
        says = "the organisation's settings allow no hooks but its own"
        yield Finding("hooks", False, says, "Ask whoever manages this computer.")
    elif off:
        says = f"all hooks are switched off in {off[0]}"
        yield Finding("hooks", False, says, "Take disableAllHooks out of it.")
    if not in_project:
        return
    known = object_of(object_of(json_in(host.file(machine)).get("projects")).get(str(machine.cwd)))
    everything = [*settings.values(), known]
    if any(PROGRAM in names_of(said.get("disabledMcpjsonServers")) for said in everything):
        says = "this project's servers were refused in Claude Code"
        yield Finding("configuration", False, says, "claude mcp reset-project-choices; start it.")
    elif not any(
        said.get("enableAllProjectMcpServers") is True
        or PROGRAM in names_of(said.get("enabledMcpjsonServers"))
        for said in everything
    ):
        says = "Claude Code has not been told yet whether it may start this project's servers"
        yield Finding("configuration", False, says, "Start claude here, and approve it.")


CLAUDE_CODE = Host(
    NAME, TITLE, "claude", settings, "mcpServers", typed,
    project=(".mcp.json",), strict=True, seen=SEEN, hindrances=hindrances,
    transcripts=lambda machine: (folder(machine), "projects/*/*.jsonl"),
)  # fmt: skip
