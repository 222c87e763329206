"""`summaries`: shows past summaries and digests."""

import sys

import click

from context_compression.cli import completion, output
from context_compression.cli.app import Options, as_json
from context_compression.cli.help import examples
from context_compression.cli.terminal import is_terminal, show, write_json

SHOWN_ON_SCREEN = 600
"""How many characters of each summary a terminal shows if there are several."""


@click.command(
    epilog=examples(
        ("summaries", "the newest five"),
        ("summaries --limit 1 --session 3f9a", "the newest of one session"),
    ),
)
@click.option(
    "--limit",
    default=5,
    show_default=True,
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Summaries to show.",
)
@click.option(
    "--session",
    metavar="ID",
    shell_complete=completion.recorded,
    help="Only summaries of this session.",
)
@as_json
@click.pass_obj
def summaries(options: Options, limit: int, session: str | None, as_json: bool) -> None:
    """Show past summaries and digests, newest first."""
    conversations = options.conversations()
    if session is not None:
        session = conversations.session_named(session)
    entries = conversations.workspace.store.summaries(session=session, limit=limit)
    if as_json:
        write_json({"summaries": entries})
    else:
        most = SHOWN_ON_SCREEN if limit > 1 and is_terminal(sys.stdout) else output.SHOWN
        show(*output.summaries(entries, most))
