"""The command `context-compression`, which is also `python -m context_compression`."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

PROGRAM = "context-compression"
COMPLETE = "_CONTEXT_COMPRESSION_COMPLETE"
"""Set by the script of a shell that completes the command."""
TELEMETRY = "CONTEXT_COMPRESSION_OPENTELEMETRY"
"""Switches spans on; where they go is said by the variables of OpenTelemetry."""


def main() -> None:
    """Run the command; or, for a shell that completes it, print what can be completed."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        from context_compression.shell.saved_command import command_to_complete

        command = command_to_complete(_whole_command)
        sys.exit(shell_complete(command, {}, PROGRAM, COMPLETE, instruction))
    if os.environ.get(TELEMETRY, "").strip().lower() not in ("", "0", "off", "false", "no"):
        _switch_telemetry_on()
    _whole_command()(prog_name=PROGRAM)


def _switch_telemetry_on() -> None:
    try:
        from context_compression.integrations.opentelemetry import instrument_process

        instrument_process(os.environ)
    except ImportError as error:
        sys.stderr.write(
            f"{TELEMETRY} is set, but {error.name} is missing, so nothing is traced. Install "
            "'.[opentelemetry]', opentelemetry-sdk and the exporter, for example "
            "opentelemetry-exporter-otlp-proto-http.\n"
        )


def _whole_command() -> "click.Command":
    from context_compression.cli import main

    return main


if __name__ == "__main__":
    main()
