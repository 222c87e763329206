"""`CLAUDE_CODE`: the host, and what keeps it from using our server and our hooks."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from context_compression.conversation.messages import as_object
from context_compression.hosts.claude_code.about import (
    MANAGED_SETTINGS,
    NAME,
    SEEN,
    TITLE,
    config_folder,
    user_file,
)
from context_compression.hosts.claude_code.sessions import EXPORTER, LIVE, STORED
from context_compression.hosts.claude_code.transcript.reader import FORMATS
from context_compression.hosts.host import Finding, Host, typed
from context_compression.hosts.setup.files import json_in, names_of
from context_compression.hosts.setup.machine import PROGRAM, Machine

DELETES_AFTER = 30
"""Days, unless the user's settings say otherwise."""


def folder(machine: Machine) -> Path:
    """`~/.claude`, or the folder that CLAUDE_CONFIG_DIR names."""
    return config_folder(machine.folder_variables, machine.home)


def settings(machine: Machine) -> Path:
    """The file with the user's MCP servers."""
    return user_file(machine.folder_variables, machine.home)


def hindrances(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    """Findings on settings that keep Claude Code from starting our server or calling our hooks."""
    managed = json_in(Path(MANAGED_SETTINGS.get(machine.system, MANAGED_SETTINGS["linux"])))
    user = folder(machine) / "settings.json"
    project = machine.cwd / ".claude"
    files = (user, project / "settings.json", project / "settings.local.json")
    settings = {file: json_in(file) for file in files}
    off = [file for file, values in settings.items() if values.get("disableAllHooks") is True]
    if managed.get("disableAllHooks") is True or managed.get("allowManagedHooksOnly") is True:
        state = "the settings of your organisation allow only its own hooks"
        yield Finding("hooks", False, state, "Ask whoever manages this computer.")
    elif off:
        state = f"all hooks are switched off in {off[0]}"
        yield Finding("hooks", False, state, "Remove disableAllHooks from it.")
    if not in_project:
        return
    known = as_object(as_object(json_in(host.file(machine)).get("projects")).get(str(machine.cwd)))
    everything = [*settings.values(), known]
    if any(PROGRAM in names_of(values.get("disabledMcpjsonServers")) for values in everything):
        state = "the MCP servers of this project were refused in Claude Code"
        yield Finding(
            "configuration",
            False,
            state,
            "Run claude mcp reset-project-choices, then start claude.",
        )
    elif not any(
        values.get("enableAllProjectMcpServers") is True
        or PROGRAM in names_of(values.get("enabledMcpjsonServers"))
        for values in everything
    ):
        state = "the MCP servers of this project are not approved in Claude Code yet"
        yield Finding("configuration", False, state, "Start claude here, and approve the server.")


def deletes(environ: Mapping[str, str], home: Path) -> str:
    """When it deletes sessions; `cleanupPeriodDays` is documented at code.claude.com/docs."""
    settings = json_in(config_folder(environ, home) / "settings.json")
    days = settings.get("cleanupPeriodDays", DELETES_AFTER)
    return f"deletes a session {days} days after its last use (cleanupPeriodDays in settings.json)"


CLAUDE_CODE = Host(
    NAME, TITLE, SEEN,
    program="claude", user=settings, under="mcpServers", entry=typed, project=(".mcp.json",),
    strict=True, hindrances=hindrances,
    formats=FORMATS, transcripts=lambda machine: (folder(machine), "projects/*/*.jsonl"),
    stored=STORED, live=LIVE, exporter=EXPORTER, deletes=deletes,
    resumes=("claude", "--resume", "{id}"),
)  # fmt: skip
