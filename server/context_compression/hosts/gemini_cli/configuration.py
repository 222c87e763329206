"""Gemini CLI's configuration, and settings that keep it from using our server or hooks."""

import re
from collections.abc import Iterator
from pathlib import Path

from context_compression.conversation.messages import as_object, is_array
from context_compression.hosts.gemini_cli.about import NAME, SEEN, TITLE, settings_folder
from context_compression.setup.config_values import json_in, names_of
from context_compression.setup.finding import Finding
from context_compression.setup.host import HookFile, Host, below, plain
from context_compression.setup.machine import PROGRAM, Machine

PLUGIN = Path(__file__).parent / "plugin"
SHELL = re.compile(r'sh \\"\$\{extensionPath\}/hook\.sh\\" \d+')
"""A command of a hook: a shell passes large events on, because starting Python takes time."""


def settings(machine: Machine) -> Path:
    """`~/.gemini/settings.json`."""
    return settings_folder(machine.folder_variables, machine.home) / "settings.json"


def hindrances(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    """Findings on settings that keep Gemini CLI from starting our server or calling our hooks."""
    user = host.file(machine)
    merged = {
        **json_in(user),
        **(json_in(host.file(machine, in_project=True)) if in_project else {}),
    }
    servers = as_object(merged.get("mcp"))
    allowed = servers.get("allowed")
    if PROGRAM in names_of(servers.get("excluded")) or (
        is_array(allowed) and PROGRAM not in names_of(allowed)
    ):
        state = f"the server is excluded by mcp in {user}"
        yield Finding("configuration", False, state, f"Allow {PROGRAM} there.")
    trust = as_object(as_object(json_in(user).get("security")).get("folderTrust"))
    if trust.get("enabled") is True and not _is_trusted(user, machine):
        state = f"Gemini CLI does not trust {machine.cwd}, and so starts no servers in it"
        mend = "Start gemini here, and trust the folder: /permissions."
        yield Finding("configuration", False, state, mend)
        yield Finding("hooks", False, "not called in a folder that is not trusted", mend)
    elif as_object(merged.get("hooksConfig")).get("enabled") is False:
        state = f"hooks are switched off in {user}"
        yield Finding("hooks", False, state, "Remove enabled: false from hooksConfig.")


def _is_trusted(user: Path, machine: Machine) -> bool:
    """Whether the user trusts the folder; without a decision on it, the nearest parent's counts."""
    if machine.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True
    file = machine.folder("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or user.parent / "trustedFolders.json"
    decided = json_in(file)
    parents = {Path(name).parent for name, how in decided.items() if how == "TRUST_PARENT"}
    for folder in (machine.cwd, *machine.cwd.parents):
        how = decided.get(str(folder))
        if how == "DO_NOT_TRUST":
            return False
        if how in ("TRUST_FOLDER", "TRUST_PARENT") or folder in parents:
            return True
    return False


HOOKS = tuple(
    HookFile(
        PLUGIN / name,
        lambda machine, name=name: settings(machine).parent / "extensions" / PROGRAM / name,
        shell=SHELL,
        arguments=("hook", NAME),
    )
    for name in ("gemini-extension.json", "hook.sh", "hooks/hooks.json")
)
GEMINI_CLI = Host(
    NAME, TITLE, "gemini", settings, "mcpServers", plain,
    project=(".gemini/settings.json",), hooks=HOOKS,
    transcripts=below(settings, "tmp/*/chats/*.jsonl"), seen=SEEN, hindrances=hindrances,
)  # fmt: skip
