"""The command `context-compression`, which is also `python -m context_compression`."""

import os
import sys

from context_compression.cli import main as command

TELEMETRY = "CONTEXT_COMPRESSION_OPENTELEMETRY"
"""Switches spans on; where they go is said by the variables of OpenTelemetry."""


def main() -> None:
    """Run the command; or, for a shell that completes it, print what can be completed."""
    if os.environ.get(TELEMETRY, "").strip().lower() not in ("", "0", "off", "false", "no"):
        _switch_telemetry_on()
    command(prog_name="context-compression")


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


if __name__ == "__main__":
    main()
