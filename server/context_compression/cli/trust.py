"""`trust`: settings and prompts of somebody else are shown, and applied from then on."""

import sys

import click

from context_compression.cli.app import Options
from context_compression.showing import harmless
from context_compression.store import Store
from context_compression.store.files import read_text

NOT_TRUSTED = 1
"""What it ends with where the answer is no."""


@click.command()
@click.argument("folder", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def trust(options: Options, folder: str | None, yes: bool) -> None:
    """Apply the settings and prompts in a .compression FOLDER that you did not make.

    They came with a clone or an archive file, or an older version kept them. Read them first: a
    prompt tells your agent what to write, a setting what to keep. When they change, they are asked
    for again. Without FOLDER, those of this project.
    """
    workspace = options.workspace()
    store = workspace.store
    if folder is not None:
        store = Store.of_user(workspace.place(folder), workspace.home)
    if not store.not_applied:
        click.echo(f"Nothing to trust: what is in {store.folder} is applied, or nothing is there.")
        return
    for path in store.speaking():
        click.echo(f"{path}:")
        for line in harmless(read_text(path) or "").split("\n"):
            click.echo(f"    {line}")
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("Nobody is there to ask: read the above, then pass --yes.")
    if not yes and not click.confirm("Apply this from now on?"):
        raise SystemExit(NOT_TRUSTED)
    store.trust()
    click.echo(f"Trusted: the settings and prompts in {store.folder}, until they change.")
