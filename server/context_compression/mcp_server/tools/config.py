"""`context_config`: shows and changes the settings of a store."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

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
from context_compression.settings import (
    GUARDED,
    NAMES,
    Settings,
    changed_config,
    listed,
    setting_name,
    variables,
)
from context_compression.threads import about_to_write
from context_compression.workspace import Workspace

Config = dict[str, Any]
CHAT, HOOKS = "chat", "hooks"
"""What a client may have: a chat that is shared with this server, and hooks that use it."""


class SettingKind(NamedTuple):
    """Settings of one kind, what they need, and what is so where that is missing."""

    names: Collection[str]
    needs: str
    text: str
    """with `{names}`, and `{s}` after a verb and `{them}` for one setting or several"""


OUTSIDE = {*GUARDED, "offload_preview_tokens"}
"""Settings that act without a conversation, on files."""
KINDS = (
    SettingKind(
        ("auto_compress", "manual_target_usage", "offload_at_source"),
        HOOKS,
        "{names} change{s} nothing in this client, because a compression runs here only when a "
        "tool is called. A host's hooks (context-compression install) and programs with a Session "
        "read {them}.",
    ),
    SettingKind(
        [name for name in NAMES if name not in OUTSIDE],
        CHAT,
        "{names} change{s} nothing in this chat: this client does not share it, and no tool can "
        "change it. Messages, files and sessions that a call names use {them}.",
    ),
    SettingKind(
        ("trigger_threshold", "reserve_tokens"),
        HOOKS,
        "{names} decide{s} here from when on context_status calls a compression due.",
    ),
    SettingKind(
        ("keep_recent", "max_turns", "summary_max_chars", "importance_threshold"),
        "window",
        "Only the strategy window reads {names}, and the strategy is another one.",
    ),
)
"""In this order: a setting is told of once, by the first kind that misses something."""
NAMED = 3
"""So many settings of a kind are named."""
OTHERS = 'context_config(response_format="detailed")'
THOSE = "settings of a compression"
DECIDE_WHEN = {"token_budget", "trigger_threshold", "target_usage", "reserve_tokens"}
DEFAULT = "default"
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
        return _shown(call, named, detailed=arguments.response_format == "detailed")

    return await call.in_thread("reading the settings", work)


def _shown(call: Call, named: str | None, *, detailed: bool) -> CallToolResult:
    """One setting, all of them, or those that people change with all that were set."""
    from context_compression.hosts.doctor.checks import doubts_about

    workspace = call.workspace
    settings = workspace.settings()
    all_of_them = [named] if named else NAMES
    names = all_of_them if named or detailed else listed(settings)
    every = settings.model_dump(mode="json")
    values = {name: _shortened(every[name]) for name in all_of_them}
    set_by = workspace.origins().items()
    origins = {n: "environment" if by in workspace.environ else by for n, by in set_by}
    meanings = {name: field.description for name, field in Settings.model_fields.items()}
    changed = [name for name in values if name in origins]
    are = "differs from its default" if len(changed) == 1 else "differ from their defaults"
    lines = [
        f"{how_many(len(values), 'setting')}; {len(changed) or 'none'} {are}",
        *(f"{n}: {inline(values[n])} ({origins.get(n, DEFAULT)}; {meanings[n]})" for n in names),
    ]
    if len(names) < len(values):
        lines.append(f"{len(values) - len(names)} more: {OTHERS}")
    shown = {
        name: {"value": value, "from": origins.get(name, DEFAULT), "meaning": meanings[name]}
        for name, value in values.items()
    }
    told_of = [name for name in names if name in changed or name not in KINDS[-1].names]
    file = workspace.store.place_of_settings
    facts = {
        **_due(settings),
        "config_file": file,
        "note": _acting_on_nothing(call, settings, told_of),
        "warnings": [*workspace.doubts(), *doubts_about(workspace.environ)],
    }
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
        "note": _acting_on_nothing(call, workspace.settings(), changed),
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


def _acting_on_nothing(call: Call, settings: Settings, names: Collection[str]) -> str | None:
    """Which settings change nothing in this client or with this strategy, a sentence a kind."""
    chat = call.hooks or call.conversations.shares_current(call.request)
    has = {CHAT: chat, HOOKS: call.hooks, settings.strategy: True}
    said: list[str] = []
    left = {*names}
    for kind in KINDS:
        missing = [name for name in NAMES if name in left and name in kind.names]
        if has.get(kind.needs) or not missing:
            continue
        left.difference_update(missing)
        told = " and ".join(missing) if len(missing) <= NAMED else THOSE
        s, them = ("s", "it") if len(missing) == 1 else ("", "them")
        said.append(kind.text.format(names=told, s=s, them=them))
    return " ".join(said) or None


def _shortened(value: Any) -> Any:
    """A value; a very long value is replaced by the beginning of its text."""
    text = inline(value, MOST)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"
