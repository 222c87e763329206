"""Codex: where it keeps its configuration, our entry in it, and what switches it off."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from context_compression.conversation.messages import is_array
from context_compression.hosts.codex.about import HOME_VARIABLE, NAME, SEEN, TITLE, home_folder
from context_compression.setup import toml
from context_compression.setup.additions import Value, is_ours
from context_compression.setup.config_values import json_in, object_of, toml_in
from context_compression.setup.finding import Finding
from context_compression.setup.host import HookFile, Host, below, plain
from context_compression.setup.machine import Machine

PLUGIN = Path(__file__).parent / "plugin"


def entry(command: str, args: Sequence[str]) -> Value:
    """Codex passes few variables on; without CODEX_HOME its transcripts cannot be found."""
    limits = {"startup_timeout_sec": 30, "tool_timeout_sec": 120}
    return {**plain(command, args), "env_vars": [HOME_VARIABLE], **limits}


def settings(machine: Machine) -> Path:
    """`~/.codex/config.toml`."""
    return home_folder(machine.folder_variables, machine.home) / "config.toml"


def hindrances(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    """What keeps Codex from starting our server or asking our hooks."""
    user = toml_in(host.file(machine))
    if in_project:
        project = object_of(object_of(user.get("projects")).get(str(machine.cwd)))
        if project.get("trust_level") != "trusted":
            says = f"Codex does not trust {machine.cwd}, and so reads no configuration in it"
            yield Finding("configuration", False, says, "Start codex here, and trust the folder.")
    features = object_of(user.get("features"))
    if features.get("hooks", features.get("codex_hooks")) is False:
        says = f"hooks are switched off in {host.file(machine)}"
        yield Finding("hooks", False, says, "Take hooks = false out of [features].")
        return
    file = (machine.cwd / ".codex" if in_project else host.file(machine).parent) / "hooks.json"
    states = object_of(object_of(user.get("hooks")).get("state"))
    found = [object_of(states.get(key)) for key in _keys_of_hooks(file)]
    if any(state.get("enabled") is False for state in found):
        says = f"some of those in {file} are switched off in Codex"
        yield Finding("hooks", False, says, "Start codex, type /hooks, and switch them on.")
    elif not all(state.get("trusted_hash") for state in found):  # as it is after an install
        says = f"Codex was not told yet to trust those in {file}, and so does not ask them"
        yield Finding("hooks", None, says, "Start codex, type /hooks, and trust them.")


def _keys_of_hooks(file: Path) -> Iterator[str]:
    """By which Codex knows our hooks: `/…/hooks.json:post_tool_use:0:0`."""
    for event, groups in object_of(json_in(file).get("hooks")).items():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups if is_array(groups) else ()):
            if is_ours(group):
                yield from (f"{file}:{name}:{number}:{at}" for at in range(len(group["hooks"])))


HOOKS = HookFile(
    PLUGIN / "hooks.json",
    lambda machine: settings(machine).parent / "hooks.json",
    ".codex/hooks.json",
    merged=True,
)
CODEX = Host(
    NAME, TITLE, "codex", settings, "mcp_servers", entry,
    project=(".codex/config.toml",), format=toml, environment="listed",
    hooks=(HOOKS,), serves_hooks=True, then="Start it anew and trust the hooks: /hooks.",
    transcripts=below(settings, "sessions/*/*/*/*.jsonl"), seen=SEEN, hindrances=hindrances,
)  # fmt: skip
