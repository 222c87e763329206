"""`context_config`: shows and changes the settings of a store."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.mcp_server.arguments import ConfigArguments
from context_compression.mcp_server.calls import (
    Call,
    answer,
    refuse_guarded,
    refuse_model_of_operator,
)
from context_compression.plurals import MOST, how_many
from context_compression.report.facts import inline
from context_compression.setting_names import own_name
from context_compression.settings import NAMES, Settings, changed_config, setting_name, variables
from context_compression.threads import about_to_write
from context_compression.workspace import Workspace
from context_compression.workspace.doubts import unknown_variables

Config = dict[str, Any]
DECIDE_WHEN = {"token_budget", "trigger_threshold", "target_usage", "reserve_tokens"}
LONGEST = 300  # characters of a value


async def context_config(call: Call, arguments: ConfigArguments) -> CallToolResult:
    """What `context_config` answers."""
    values, named = arguments.values, arguments.named
    if arguments.value is not None and not named:
        raise ToolError("value needs key, the name of a setting. Pass the setting by its name.")
    refuse_guarded(values)
    refuse_model_of_operator(call.workspace, values)

    def work() -> CallToolResult:
        if values or arguments.reset:
            return _changed(call, values, arguments.reset)
        return _shown(call.workspace, [named] if named else NAMES)

    return await call.in_thread("reading the settings", work)


def _shown(workspace: Workspace, names: Collection[str]) -> CallToolResult:
    config = workspace.store.read_config()
    settings = workspace.settings()
    values = {n: _shortened(v) for n, v in settings.model_dump(mode="json").items() if n in names}
    origins = _origins(workspace, config)
    meanings = {name: field.description for name, field in Settings.model_fields.items()}
    changed = [name for name in values if origins[name] != "default"]
    are = "differs from its default" if len(changed) == 1 else "differ from their defaults"
    lines = [
        f"{how_many(len(values), 'setting')}; {len(changed)} {are}",
        *(f"{n}: {inline(v)} ({origins[n]}; {meanings[n]})" for n, v in values.items()),
    ]
    shown = {
        name: {"value": value, "from": origins[name], "meaning": meanings[name]}
        for name, value in values.items()
    }
    file = workspace.store.place_of_settings
    unknown = unknown_variables(workspace.environ).items()
    told = [*workspace.doubts(), *(f"{name} sets nothing here. {meant}" for name, meant in unknown)]
    facts = {**_due(settings), "config_file": file, "warnings": told}
    return answer("\n".join(lines), {"settings": shown}, facts)


def _changed(call: Call, values: Mapping[str, Any], reset: Collection[str]) -> CallToolResult:
    """Changes settings; before that, checks all of them and the environment."""
    workspace = call.workspace
    Settings.layered(environ=workspace.environ)
    before: Config = {}

    def change(config: Config) -> Config:
        about_to_write()
        before.update(config)
        return changed_config(config, values, reset)

    after = workspace.store.update_config(change)
    defaults = Settings().model_dump(mode="json")
    steps = {
        name: {
            "from": _shortened(before.get(name, default)),
            "to": _shortened(after.get(name, default)),
        }
        for name, default in defaults.items()
        if before.get(name, default) != after.get(name, default)
    }
    overriding, kept_in = _overriding(workspace), workspace.settings_origin
    changed = {name: step for name, step in steps.items() if name not in overriding}
    asked = {*steps, *values, *map(own_name, reset)}
    said = [f"{n}: {inline(step['from'])} → {inline(step['to'])}" for n, step in changed.items()]
    said += [
        f"{name} is {inline(_shortened(after.get(name, defaults[name])))} in {kept_in} now, but "
        f"{what} overrides it"
        for name, what in overriding.items()
        if name in asked
    ]
    facts = {
        "config_file": workspace.store.place_of_settings,
        "warnings": [*workspace.doubts()],
        **(_due(workspace.settings()) if asked & DECIDE_WHEN else {}),
        "note": _without_hooks(call, changed),
    }
    headline = "; ".join(said) or "nothing was changed: the settings had these values already"
    return answer(headline, {"changed": changed}, facts)


def _overriding(workspace: Workspace) -> dict[str, str]:
    """For each setting that the store does not decide, what decides it."""
    on_command_line = dict.fromkeys(map(setting_name, workspace.overrides), "the command line")
    return {**variables(workspace.environ), **on_command_line}


def _due(settings: Settings) -> dict[str, str]:
    """What the settings amount to: when compression is due, and the target."""
    tokens, reason = settings.threshold
    unknown = (
        ""
        if "token_budget" in settings.model_fields_set
        else f"; where the model's window is known, it counts instead of {settings.token_budget:,}"
    )
    due = f"from {tokens:,} tokens on ({reason}), down to {settings.target_tokens:,}{unknown}"
    return {"compression_is_due": due}


def _without_hooks(call: Call, changed: Collection[str]) -> str | None:
    """What a change of automatic compression means where no hooks ask for one."""
    if call.hooks or not {*changed} & {"auto_compress", "trigger_threshold"}:
        return None
    return (
        "This server compresses only when a tool is called: trigger_threshold decides here from "
        "when on context_status calls a compression due, and auto_compress changes nothing. The "
        "hooks of a host (context-compression install) and programs with a Session read both."
    )


def _shortened(value: Any) -> Any:
    """A value; a very long value is replaced by the beginning of its text."""
    text = inline(value, MOST)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _origins(workspace: Workspace, config: Mapping[str, Any]) -> dict[str, str]:
    """Where each setting's value comes from."""
    layers: tuple[tuple[str, Iterable[str]], ...] = (
        (workspace.settings_origin, map(setting_name, config)),
        ("environment", Settings.layered(environ=workspace.environ).model_fields_set),
        ("command line", map(setting_name, workspace.overrides)),
    )
    origins = dict.fromkeys(Settings.model_fields, "default")
    for origin, names in layers:
        origins |= dict.fromkeys(names, origin)
    return origins
