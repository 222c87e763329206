"""`hook` and `statusline`, which hosts call."""

import json
import signal
import sys
from contextlib import suppress
from typing import Any, cast

import click

from context_compression.cli.app import Options
from context_compression.cli.terminal import (
    alone_on_stdout,
    is_at_terminal,
    say,
    stdin_is_closed,
    write,
)
from context_compression.errors import ContextCompressionError
from context_compression.hosts.events import HOSTS as HOOKED
from context_compression.hosts.events import NOTHING, answer, may_be_answered, never_failing


@click.command(hidden=True, short_help="Answer one event of a host's hook.")
@click.argument("host", type=click.Choice(list(HOOKED)))
@click.option("--serve", is_flag=True, hidden=True, help="Answer events until stdin ends.")
@click.pass_obj
def hook(options: Options, host: str, serve: bool) -> None:
    """Answer one event of a host's hook: read its JSON on stdin, print the answer on stdout."""
    if serve:
        from anyio import run

        from context_compression.hosts.serving import serve_events
        from context_compression.workspace.kept import look_around

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host decides when it ends
        with alone_on_stdout() as answers:
            workspace = options.workspace()
            look_around(workspace)
            run(serve_events, host, workspace, sys.stdin.buffer, answers)
        return
    with never_failing(host):
        if stdin_is_closed():
            raise ContextCompressionError("Stdin is closed, but the host writes the event to it.")
        event = _event(sys.stdin.buffer.read(), host)
        if not may_be_answered(host, event):
            return  # before anything that takes time is imported
        from anyio import run

        text = run(answer, host, options.workspace(), event)
        if text != NOTHING:
            write(text.encode("utf-8", "replace"))


def _event(written: bytes, host: str) -> dict[str, Any]:
    """The event that a host wrote on stdin.

    Raises:
        ContextCompressionError: it is no JSON object.
    """
    with suppress(ValueError, RecursionError):
        if isinstance(event := json.loads(written), dict):
            return cast("dict[str, Any]", event)
    raise ContextCompressionError(
        f"What stands on stdin is no JSON object, so it is no event of {host}. Nothing was done."
    )


@click.command(hidden=True)
def statusline() -> None:
    """Print the line for Claude Code's statusLine, from its JSON on stdin.

    `install claude-code` makes Claude Code run the module itself, which starts faster.
    """
    from context_compression.hosts.claude_code import status_line

    if is_at_terminal():
        say("Claude Code calls this: it writes JSON on stdin, and shows the line that comes back.")
    else:
        status_line.main()
