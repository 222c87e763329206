"""The command `context-compression`, which is also `python -m context_compression`."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

PROGRAM = "context-compression"
COMPLETE = "_CONTEXT_COMPRESSION_COMPLETE"
"""Set by the script of a shell that completes the command."""


def main() -> None:
    """Run the command; or, for a shell that completes it, print what can be completed."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        from context_compression.shell.saved_command import command_to_complete

        command = command_to_complete(_whole_command)
        sys.exit(shell_complete(command, {}, PROGRAM, COMPLETE, instruction))
    _whole_command()(prog_name=PROGRAM)


def _whole_command() -> "click.Command":
    from context_compression.cli import main

    return main


if __name__ == "__main__":
    main()
