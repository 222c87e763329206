"""`config`: shows settings, or changes them."""

import json
from typing import Any

import click

from context_compression.cli import completion, output
from context_compression.cli.app import Options, as_json
from context_compression.cli.arguments import change_in
from context_compression.cli.help import examples
from context_compression.cli.terminal import say, show, write_json
from context_compression.setting_names import own_name
from context_compression.settings import (
    NAMES,
    Settings,
    changed_config,
    setting_name,
    variables,
)
from context_compression.strings import one_line
from context_compression.workspace import Workspace


@click.command(
    short_help="Show or change settings.",
    epilog=examples(
        ("config", "all settings, with their meaning"),
        ("config token_budget=1m keep_recent=5", "change two"),
        ("config --reset keep_recent", "back to the default"),
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME[=VALUE]]...", shell_complete=completion.settings)
@click.option(
    "--reset",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.settings,
    help="Reset NAME to its default, or `all`. Repeatable.",
)
@as_json
@click.pass_obj
def config(options: Options, names: tuple[str, ...], reset: tuple[str, ...], as_json: bool) -> None:
    """Show settings, or change those that the store keeps: `config keep_recent=5`."""
    from context_compression.hosts.doctor.checks import check_variables

    workspace = options.workspace()
    changes = dict(change_in(name) for name in names if "=" in name)
    shown = {setting_name(name) for name in names if "=" not in name}
    if changes or reset:

        def change(config: dict[str, Any]) -> dict[str, Any]:
            return changed_config(config, changes, reset)

        # an invalid value or environment is reported before anything is written
        change(workspace.store.read_config())
        Settings.layered(environ=workspace.environ)
        kept = Settings.checked(workspace.store.update_config(change))
        changed = {*changes, *(name for name in map(own_name, reset) if name in NAMES)}
        _warn_of_overrides(changed, kept, workspace)
        shown |= changed
    settings = workspace.settings()  # an invalid variable ends the command here
    for finding in check_variables(workspace.environ):
        if finding.ok is False:
            say(f"warning: {finding.says}. {finding.mend}")
    for doubt in workspace.doubts():
        say(doubt)
    if as_json:
        write_json(settings.model_dump(mode="json"))
    else:
        origins = dict.fromkeys(workspace.store.read_config(), workspace.settings_origin)
        origins |= variables(workspace.environ)
        origins |= dict.fromkeys(workspace.overrides, "command line")
        show(*output.config(settings, origins, shown or NAMES))


def _warn_of_overrides(changed: set[str], kept: Settings, workspace: Workspace) -> None:
    """Warns about changed settings that the environment overrides."""
    values, kept_in = kept.model_dump(mode="json"), workspace.settings_origin
    for name, variable in variables(workspace.environ).items():
        if name in changed:
            value = one_line(json.dumps(values[name], ensure_ascii=False))
            say(f"warning: {name} is {value} in {kept_in} now, but {variable} overrides it")
