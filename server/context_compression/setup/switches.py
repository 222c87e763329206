"""What keeps a host from starting our server or asking our hooks, although both are configured.

Hosts have switches of their own, and some ask their user first: whether hooks may run, whether a
folder is trusted. What is known of them is read where the host keeps it; nothing is written there.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from context_compression.errors import SetupError
from context_compression.messages import is_array, is_object
from context_compression.setup import jsonc
from context_compression.setup.files import read
from context_compression.setup.findings import Finding
from context_compression.setup.hosts import Host, folder_of_claude_code
from context_compression.setup.machine import PROGRAM, Machine
from context_compression.setup.pieces import is_ours

Said = Mapping[str, Any]
MANAGED = {
    "linux": "/etc/claude-code/managed-settings.json",
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": "C:/Program Files/ClaudeCode/managed-settings.json",
}
"""Where an organisation decides for Claude Code."""


def hindrances(host: Host, machine: Machine, *, in_project: bool) -> list[Finding]:
    """What is in the way, by what it concerns: `configuration`, the server itself, or `hooks`.

    A file that cannot be read is in nobody's way here: the doctor says so where it needs it.
    """
    look = LOOKS.get(host.name)
    return [] if look is None else list(look(host, machine, in_project))


def _claude_code(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    managed = _json(Path(MANAGED.get(machine.system, MANAGED["linux"])))
    user = folder_of_claude_code(machine) / "settings.json"
    project = machine.cwd / ".claude"
    files = (user, project / "settings.json", project / "settings.local.json")
    settings = {file: _json(file) for file in files}
    off = [file for file, said in settings.items() if said.get("disableAllHooks") is True]
    if managed.get("disableAllHooks") is True or managed.get("allowManagedHooksOnly") is True:
        says = "the organisation's settings allow no hooks but its own"
        yield Finding("hooks", False, says, "Ask whoever manages this computer.")
    elif off:
        says = f"all hooks are switched off in {off[0]}"
        yield Finding("hooks", False, says, "Take disableAllHooks out of it.")
    if not in_project:
        return
    known = _object(_object(_json(host.file(machine)).get("projects")).get(str(machine.cwd)))
    everything = [*settings.values(), known]
    if any(PROGRAM in _names(said.get("disabledMcpjsonServers")) for said in everything):
        says = "this project's servers were refused in Claude Code"
        yield Finding("configuration", False, says, "claude mcp reset-project-choices; start it.")
    elif not any(
        said.get("enableAllProjectMcpServers") is True
        or PROGRAM in _names(said.get("enabledMcpjsonServers"))
        for said in everything
    ):
        says = "Claude Code has not been told yet whether it may start this project's servers"
        yield Finding("configuration", False, says, "Start claude here, and approve it.")


def _codex(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    user = _toml(host.file(machine))
    if in_project:
        project = _object(_object(user.get("projects")).get(str(machine.cwd)))
        if project.get("trust_level") != "trusted":
            says = f"Codex does not trust {machine.cwd}, and so reads no configuration in it"
            yield Finding("configuration", False, says, "Start codex here, and trust the folder.")
    features = _object(user.get("features"))
    if features.get("hooks", features.get("codex_hooks")) is False:
        says = f"hooks are switched off in {host.file(machine)}"
        yield Finding("hooks", False, says, "Take hooks = false out of [features].")
        return
    file = (machine.cwd / ".codex" if in_project else host.file(machine).parent) / "hooks.json"
    states = _object(_object(user.get("hooks")).get("state"))
    found = [_object(states.get(key)) for key in _keys_of_hooks(file)]
    if any(state.get("enabled") is False for state in found):
        says = f"some of those in {file} are switched off in Codex"
        yield Finding("hooks", False, says, "Start codex, type /hooks, and switch them on.")
    elif not all(state.get("trusted_hash") for state in found):  # as it is after an install
        says = f"Codex was not told yet to trust those in {file}, and so does not ask them"
        yield Finding("hooks", None, says, "Start codex, type /hooks, and trust them.")


def _keys_of_hooks(file: Path) -> Iterator[str]:
    """By which Codex knows our hooks: `/…/hooks.json:post_tool_use:0:0`."""
    for event, groups in _object(_json(file).get("hooks")).items():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups if is_array(groups) else ()):
            if is_ours(group):
                yield from (f"{file}:{name}:{number}:{at}" for at in range(len(group["hooks"])))


def _gemini_cli(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    user = host.file(machine)
    merged = {**_json(user), **(_json(host.file(machine, in_project=True)) if in_project else {})}
    servers = _object(merged.get("mcp"))
    allowed = servers.get("allowed")
    if PROGRAM in _names(servers.get("excluded")) or (
        is_array(allowed) and PROGRAM not in _names(allowed)
    ):
        says = f"the server is excluded by mcp in {user}"
        yield Finding("configuration", False, says, f"Let {PROGRAM} in there.")
    trust = _object(_object(_json(user).get("security")).get("folderTrust"))
    if trust.get("enabled") is True and not _is_trusted(user, machine):
        says = f"Gemini CLI does not trust {machine.cwd}, and so starts no servers in it"
        mend = "Start gemini here, and trust the folder: /permissions."
        yield Finding("configuration", False, says, mend)
        yield Finding("hooks", False, "not asked in a folder that is not trusted", mend)
    elif _object(merged.get("hooksConfig")).get("enabled") is False:
        says = f"hooks are switched off in {user}"
        yield Finding("hooks", False, says, "Take enabled: false out of hooksConfig.")


def _is_trusted(user: Path, machine: Machine) -> bool:
    """Whether the folder, or one above it, was trusted; the nearest that was decided counts."""
    if machine.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True
    file = machine.folder("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or user.parent / "trustedFolders.json"
    decided = _json(file)
    parents = {Path(name).parent for name, how in decided.items() if how == "TRUST_PARENT"}
    for folder in (machine.cwd, *machine.cwd.parents):
        how = decided.get(str(folder))
        if how == "DO_NOT_TRUST":
            return False
        if how in ("TRUST_FOLDER", "TRUST_PARENT") or folder in parents:
            return True
    return False


LOOKS: Mapping[str, Callable[[Host, Machine, bool], Iterator[Finding]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
}


def _json(path: Path) -> Said:
    """The object in a file of JSON, comments or not; an empty one where there is none."""
    try:
        data = read(path)
        return _object(jsonc.value_at((data or b"").decode() or "{}", ()))
    except (SetupError, ValueError):
        return {}


def _toml(path: Path) -> Said:
    try:
        return tomllib.loads((read(path) or b"").decode().removeprefix("\ufeff"))
    except (SetupError, ValueError):
        return {}


def _object(value: Any) -> Said:
    return value if is_object(value) else {}


def _names(value: Any) -> list[str]:
    return [str(name) for name in value] if is_array(value) else []
