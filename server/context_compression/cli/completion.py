"""`completion`: prints the script with which a shell completes this command."""

import os
from pathlib import PurePath

import click
from click.shell_completion import get_completion_class

from context_compression.cli.app import Refused, main
from context_compression.cli.help import PROGRAM, examples
from context_compression.cli.terminal import write

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_CONTEXT_COMPRESSION_COMPLETE"
"""Set by the script; with it, the command prints what can be completed."""

WHERE = """
\b
Put this line into the file with which your shell starts:
  bash: ~/.bashrc                   eval "$(context-compression completion bash)"
  zsh:  ~/.zshrc, behind compinit   eval "$(context-compression completion zsh)"
  fish: ~/.config/fish/config.fish  context-compression completion fish | source
"""


@click.command(
    short_help="Print the script that completes this command in a shell.",
    epilog=examples(("completion bash", "the script for bash")) + "\n" + WHERE,
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def completion(shell: str | None) -> None:
    """Print the script with which SHELL completes commands, options, hosts, settings and sessions.

    SHELL is by default the one that $SHELL names.
    """
    name = shell or PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise Refused(
            f"$SHELL names no shell that can be completed: {', '.join(SHELLS)}. Name one: "
            f"`{PROGRAM} completion bash`."
        )
    made = get_completion_class(name)
    assert made
    write(made(main, {}, PROGRAM, VARIABLE).source().encode())
