"""`trust`: shows the settings and prompts of a store that came with a clone, and applies them."""

import os
from pathlib import Path

import click

from context_compression.cli.app import Options, Refused
from context_compression.cli.help import examples
from context_compression.cli.terminal import confirmed, show
from context_compression.store import Store
from context_compression.store.files import read_text
from context_compression.store.location import NAME

NOT_TRUSTED = 1
"""The exit code if the user answers no."""
READ_FIRST = "Read the above, then add --yes."


@click.command(
    short_help="Apply settings and prompts that came with a clone.",
    epilog=examples(
        ("trust", "show them and ask"),
        ("trust ../project --yes", "those of another folder"),
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
