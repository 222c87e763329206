"""`config` shows or changes settings; `trust` applies those of a store that came with a clone."""

import json
import os
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, cast

import click

from context_compression.cli import completion
from context_compression.cli.app import Options, Refused, as_json, examples
from context_compression.cli.arguments import change_in
from context_compression.cli.page import Page, Table
from context_compression.cli.terminal import confirmed, say, show, write_json
from context_compression.plurals import how_many
from context_compression.setting_names import own_name
from context_compression.settings import (
    NAMES,
    Settings,
    changed_config,
    listed,
    setting_name,
    variables,
)
from context_compression.store import Store
from context_compression.store.files import read_text
from context_compression.store.location import NAME
from context_compression.strings import one_line
from context_compression.workspace import Workspace


@click.command(
    short_help="Show or change settings.",
    epilog=examples(
        ("config", "what people change, and what is set here"),
        ("config --all", "all settings, with their meaning"),
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
@click.option("--all", "everything", is_flag=True, help="Show all settings.")
@as_json
@click.pass_obj
def config(
    options: Options,
    names: tuple[str, ...],
    reset: tuple[str, ...],
    everything: bool,
    as_json: bool,
) -> None:
    """Show settings, or change those that the store keeps: `config keep_recent=5`.

    Without NAME, show those that people change and all that are set here; --json has all.
    """
    from context_compression.hosts.doctor.checks import doubts_about

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
    for doubt in doubts_about(workspace.environ):
        say(f"warning: {doubt}")
    for doubt in workspace.doubts():
        say(doubt)
    if as_json:
        write_json(settings.model_dump(mode="json"))
    else:
        names = NAMES if everything else (*shown,) or listed(settings)
        show(*_page(settings, workspace.origins(), names))
        if not (everything or shown) and (more := len(NAMES) - len(names)):
            show(f"{how_many(more, 'more setting')}: `context-compression config --all`")


def _warn_of_overrides(changed: set[str], kept: Settings, workspace: Workspace) -> None:
    """Warns about changed settings that the environment overrides."""
    values, kept_in = kept.model_dump(mode="json"), workspace.settings_origin
    for name, variable in variables(workspace.environ).items():
        if name in changed:
            value = one_line(json.dumps(values[name], ensure_ascii=False))
            say(f"warning: {name} is {value} in {kept_in} now, but {variable} overrides it")


def _page(settings: Settings, origins: Mapping[str, str], shown: Container[str]) -> Page:
    """Settings as a table, and for those of the budget the threshold that they amount to."""
    rows = [
        (name, _value(getattr(settings, name)), origins.get(name, ""), field.description or "")
        for name, field in Settings.model_fields.items()
        if name in shown
    ]
    tokens, reason = settings.threshold
    due = f"compression is due from {tokens:,} tokens on: {reason}"
    table = Table([("setting", "value", "from", "meaning"), *rows], left=4, prose=True)
    return [table, *(["", due] if "token_budget" in shown else [])]


def _value(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, tuple):
        words = ", ".join(map(str, cast(tuple[object, ...], value))) or "none"
        return words if len(words) <= 24 else f"{words[:23]}…"
    return str(value).lower() if isinstance(value, bool) else str(value)


NOT_TRUSTED = 1
"""The exit code if the user answers no."""
READ_FIRST = "Read the above, then add --yes."


@click.command(
    short_help="Apply settings and prompts that came with a clone.",
    epilog=examples(
        ("trust", "show them and ask"), ("trust ../project --yes", "those of another folder")
    ),
)
@click.argument("folder", required=False)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_obj
def trust(options: Options, folder: str | None, yes: bool) -> None:
    """Apply the settings and prompts in a .compression FOLDER that you did not make.

    They came with a clone or an archive file, or an older version wrote them. Read them first: a
    prompt tells your agent what to write, and a setting tells it what to keep. After a change, you
    have to trust them again. FOLDER may also be the folder that contains .compression. Without
    FOLDER, the store of this project is meant.
    """
    workspace = options.workspace()
    store = workspace.store
    if folder is not None:
        store = Store.of_user(_store_in(workspace.place(folder), store.folder), workspace.home)
    if not os.path.isdir(store.folder):
        show(f"Nothing to trust: there is no folder {store.folder}.")
        return
    if store.is_ours() and not store.not_applied():
        show(f"Nothing to trust: {store.folder} is yours, and its settings apply.")
        return
    for path in store.files.speaking():
        show(f"{path}:")
        for line in (read_text(path) or "").split("\n"):
            show(f"    {line}")
    if not store.files.speaking():
        show(f"{store.folder} holds no settings or prompts.")
    if not confirmed("Apply these from now on?", yes, otherwise=READ_FIRST):
        raise SystemExit(NOT_TRUSTED)
    store.files.trust()
    show(f"{store.folder} is trusted until its settings or prompts change.")


def _store_in(place: Path, current: Path) -> Path:
    """The folder of a store: `place` itself, or the `.compression` in it.

    Args:
        place: the folder that the user named.
        current: the store of this run, which may have any name.

    Raises:
        Refused: the folder does not exist, or is not a store and contains none.
    """
    if not os.path.isdir(place):
        raise Refused(f"There is no folder {place}. Nothing was changed.")
    inner = place / NAME
    if os.path.isdir(inner) and not os.path.islink(inner):
        return inner
    if place.name == NAME or os.path.realpath(place) == os.path.realpath(current):
        return place
    raise Refused(
        f"{place} is not a store and contains no {NAME}. Name the folder that the settings are in. "
        f"For a store of another name, run `context-compression --store {place} trust`."
    )
