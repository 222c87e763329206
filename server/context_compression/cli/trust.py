"""`trust`: settings and prompts of somebody else are shown, and applied from then on."""

import os
from pathlib import Path

import click

from context_compression.cli.app import Options, Refused
from context_compression.cli.terminal import agreed, show
from context_compression.store import Store
from context_compression.store.files import read_text
from context_compression.store.location import NAME

NOT_TRUSTED = 1
"""What it ends with where the answer is no."""
UNASKED = "read the above, then pass --yes."


@click.command(short_help="Apply settings and prompts that came with a clone.")
@click.argument("folder", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def trust(options: Options, folder: str | None, yes: bool) -> None:
    """Apply the settings and prompts in a .compression FOLDER that you did not make.

    They came with a clone or an archive file, or an older version kept them. Read them first: a
    prompt tells your agent what to write, a setting what to keep. When they change, they are asked
    for again. FOLDER may be the one that .compression is in. Without it, those of this project.
    """
    workspace = options.workspace()
    store = workspace.store
    if folder is not None:
        store = Store.of_user(_store_in(workspace.place(folder), store.folder), workspace.home)
    if not os.path.isdir(store.folder):
        show(f"Nothing to trust: there is no {store.folder}.")
        return
    if store.is_ours and not store.not_applied:
        show(f"Nothing to trust: {store.folder} is yours, and what is set in it is applied.")
        return
    for path in store.speaking():
        show(f"{path}:")
        for line in (read_text(path) or "").split("\n"):
            show(f"    {line}")
    if not store.speaking():
        show(f"{store.folder} holds no settings or prompts.")
    if not agreed("Take it as your own from now on?", yes, nobody=UNASKED):
        raise SystemExit(NOT_TRUSTED)
    store.trust()
    show(f"Trusted: {store.folder}, until its settings or prompts change.")


def _store_in(place: Path, ours: Path) -> Path:
    """The folder of the store that a folder is, or has as its `.compression`.

    Args:
        place: as it was named.
        ours: the store that all work here is kept in, whatever it is called.

    Raises:
        Refused: there is no such folder, or no store is there.
    """
    if not os.path.isdir(place):
        raise Refused(f"There is no folder {place}. Nothing was changed.")
    inner = place / NAME
    if os.path.isdir(inner) and not os.path.islink(inner):
        return inner
    if place.name == NAME or os.path.realpath(place) == os.path.realpath(ours):
        return place
    raise Refused(
        f"{place} is no store, and has no {NAME} in it. Name the folder that the settings are in; "
        f"a store of another name is taken with `context-compression --store {place} trust`."
    )
