"""Codex's configuration, our entry in it, and settings that keep Codex from using it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from context_compression.conversation.messages import as_object, is_array
from context_compression.hosts.codex.about import HOME_VARIABLE, NAME, SEEN, TITLE, home_folder
from context_compression.setup import toml
from context_compression.setup.additions import Value, is_our_group
from context_compression.setup.config_values import json_in, toml_in
from context_compression.setup.finding import Finding
from context_compression.setup.host import HookFile, Host, below, plain
from context_compression.setup.machine import Machine

PLUGIN = Path(__file__).parent / "plugin"


def entry(command: str, args: Sequence[str]) -> Value:
    """Our entry. Codex passes on few variables; we need CODEX_HOME to find its transcripts."""
    limits = {"startup_timeout_sec": 30, "tool_timeout_sec": 120}
    return {**plain(command, args), "env_vars": [HOME_VARIABLE], **limits}


def settings(machine: Machine) -> Path:
    """`~/.codex/config.toml`."""
    return home_folder(machine.folder_variables, machine.home) / "config.toml"


def hindrances(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    """Findings on settings that keep Codex from starting our server or calling our hooks."""
    user = toml_in(host.file(machine))
    if in_project:
        project = as_object(as_object(user.get("projects")).get(str(machine.cwd)))
        if project.get("trust_level") != "trusted":
            state = f"Codex does not trust {machine.cwd}, and so reads no configuration in it"
            yield Finding("configuration", False, state, "Start codex here, and trust the folder.")
    features = as_object(user.get("features"))
    if features.get("hooks", features.get("codex_hooks")) is False:
        state = f"hooks are switched off in {host.file(machine)}"
        yield Finding("hooks", False, state, "Take hooks = false out of [features].")
        return
    file = (machine.cwd / ".codex" if in_project else host.file(machine).parent) / "hooks.json"
    states = as_object(as_object(user.get("hooks")).get("state"))
    hook_states = [as_object(states.get(key)) for key in _keys_of_hooks(file)]
    if any(hook.get("enabled") is False for hook in hook_states):
        state = f"Codex has some of our hooks in {file} switched off"
        yield Finding("hooks", False, state, "Start codex, type /hooks, and switch them on.")
    elif not all(hook.get("trusted_hash") for hook in hook_states):  # so after an install
        state = f"Codex does not trust our hooks in {file} yet, and so does not call them"
        yield Finding("hooks", None, state, "Start codex, type /hooks, and trust them.")


def _keys_of_hooks(file: Path) -> Iterator[str]:
    """The keys of our hooks in Codex's `hooks.state`: `/…/hooks.json:post_tool_use:0:0`."""
    for event, groups in as_object(json_in(file).get("hooks")).items():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups if is_array(groups) else ()):
            if is_our_group(group):
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
    hooks=(HOOKS,), serves_hooks=True, then="Restart it, and trust the hooks: /hooks.",
    transcripts=below(settings, "sessions/*/*/*/*.jsonl"), seen=SEEN, hindrances=hindrances,
)  # fmt: skip
