"""`context_config`: shows and changes the settings of a store."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mcp.types import CallToolResult
from pydantic import ConfigDict

from context_compression.mcp_server.answers import answer, inline
from context_compression.mcp_server.arguments import Arguments, compact
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.call_settings import refuse_guarded
from context_compression.settings import GUARDED, MOST, Settings, changed_config, setting_name
from context_compression.workspace import Workspace

Config = dict[str, Any]
LONGEST = 300  # characters of a value


class ConfigArguments(Arguments):
    """The arguments of `context_config`: every setting by its name, and `reset`."""

    model_config = ConfigDict(extra="allow")
    unlisted = frozenset((*GUARDED, "manual_target_usage"))  # that one is for the user's /compact

    reset: tuple[str, ...] = ()
    """names to reset, or all"""

    @classmethod
    def known(cls) -> dict[str, dict[str, Any]]:
        """`reset` and all settings; guarded ones too, so that the refusal gives the reason."""
        settings = Settings.model_json_schema()["properties"]
        return super().known() | {name: compact(about) for name, about in settings.items()}


async def context_config(call: Call, arguments: ConfigArguments) -> CallToolResult:
    """Shows all settings with value, origin and meaning, or changes the given ones permanently.

    For one call only: settings of context_compress.
    """
    values = arguments.model_extra or {}
    refuse_guarded(values)

    def work() -> CallToolResult:
        if values or arguments.reset:
            return _changed(call, values, arguments.reset)
        return _shown(call.workspace)

    return await call.in_thread("reading the settings", work)


def _shown(workspace: Workspace) -> CallToolResult:
    config = workspace.store.read_config()
    settings = workspace.settings()
    values = {n: _shortened(v) for n, v in settings.model_dump(mode="json").items()}
    origins = _origins(workspace, config)
    meanings = {name: field.description for name, field in Settings.model_fields.items()}
    changed = [name for name, origin in origins.items() if origin != "default"]
    are = "differs from its default" if len(changed) == 1 else "differ from their defaults"
    lines = [
        f"{len(values)} settings; {len(changed)} {are}",
        *(f"{n}: {inline(v)} ({origins[n]}; {meanings[n]})" for n, v in values.items()),
    ]
    shown = {
        name: {"value": value, "from": origins[name], "meaning": meanings[name]}
        for name, value in values.items()
    }
    file = str(workspace.store.folder / "config.json")
    warnings = [*workspace.store.doubts, *settings.doubts]
    facts = {"config_file": file, "warnings": warnings}
    return answer("\n".join(lines), {"settings": shown}, facts)


def _changed(call: Call, values: Mapping[str, Any], reset: Collection[str]) -> CallToolResult:
    """Changes settings; before that, checks all of them and the environment."""
    workspace = call.workspace
    Settings.layered(environ=workspace.environ)
    before: Config = {}

    def change(config: Config) -> Config:
        call.before_writing()
        before.update(config)
        return changed_config(config, values, reset)

    after = workspace.store.update_config(change)
    defaults = Settings().model_dump(mode="json")
    changed = {
        name: {
            "from": _shortened(before.get(name, default)),
            "to": _shortened(after.get(name, default)),
        }
        for name, default in defaults.items()
        if before.get(name, default) != after.get(name, default)
    }
    headline = "; ".join(
        f"{name}: {inline(step['from'])} → {inline(step['to'])}" for name, step in changed.items()
    )
    origins = _origins(workspace, after)
    overruled = [
        f"the {origins[name]} sets {name} too, and overrides config.json"
        for name in changed
        if origins[name] not in ("default", "config.json")
    ]
    facts = {
        "config_file": str(workspace.store.folder / "config.json"),
        "warnings": [*overruled, *workspace.settings().doubts],
    }
    headline = headline or "nothing was changed: the settings had these values already"
    return answer(headline, {"changed": changed}, facts)


def _shortened(value: Any) -> Any:
    """A value; a very long value is replaced by the beginning of its text."""
    text = inline(value, MOST)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _origins(workspace: Workspace, config: Mapping[str, Any]) -> dict[str, str]:
    """Where each setting's value comes from."""
    layers: tuple[tuple[str, Iterable[str]], ...] = (
        ("config.json", map(setting_name, config)),
        ("environment", Settings.layered(environ=workspace.environ).model_fields_set),
        ("command line", map(setting_name, workspace.overrides)),
    )
    origins = dict.fromkeys(Settings.model_fields, "default")
    for origin, names in layers:
        origins |= dict.fromkeys(names, origin)
    return origins
