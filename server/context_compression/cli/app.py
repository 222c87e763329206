"""The command itself: global options, and how it ends."""

import gc
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from context_compression.cli.terminal import say, speak_utf8
from context_compression.display.strings import harmless, one_line
from context_compression.doors.conversations import Conversations
from context_compression.errors import ContextCompressionError
from context_compression.workspace import Opened, Workspace
from context_compression.workspace.guard import in_our_words

INTERRUPTED = 130
LONGEST_WARNING = 1_000  # characters; it may name a path
SELDOM = (200_000, 20, 100)
"""So seldom Python looks for circles among its objects: a long conversation is millions of them in
no circle, and to look through these takes a sixth of the time."""
CLICKS_OWN = (click.ClickException, click.Abort, click.exceptions.Exit)
"""By these a command ends, or says what was wrong with what was typed."""

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")


class Refused(click.ClickException):
    """One of our errors, on its way to stderr: its message says what to do, so no traceback."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(harmless(message))


class Commands(click.Group):
    """The commands; `serve` when none is named."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whatever goes wrong ends with 2 and words, Ctrl-C with 130."""
        speak_utf8()
        try:
            with in_our_words(*CLICKS_OWN, BrokenPipeError):  # at a broken pipe, click ends quietly
                return super().invoke(ctx)
        except ContextCompressionError as error:
            raise Refused(str(error)) from error
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


@dataclass(frozen=True)
class Options:
    """The global options."""

    store: str | None = None
    allow: tuple[str, ...] = ()

    def workspace(self, *given: str) -> Workspace:
        """The workspace of this run; files the user named may be read, wherever they lie."""
        allow = [*self.allow]
        for name in given:
            with suppress(OSError, ValueError):  # no path at all: reading it will say so
                allow.append(str(_place(name).resolve()))
        workspace = Workspace.here(store=self.store, allow=allow)
        for name in self.allow:
            if not os.path.exists(workspace.place(name)):
                say(f"warning: --allow {name}: there is no such folder")
        return workspace

    def conversations(self, *given: str) -> Conversations:
        """The conversations that can be named in this run."""
        return Conversations(self.workspace(*given))


def _place(name: str) -> Path:
    with suppress(RuntimeError):  # a user nobody knows: then it is the name of a folder
        return Path(name).expanduser()
    return Path(name)


def warn(opened: Opened) -> None:
    """Say what could not be read or was left out, of a transcript and of our record of it."""
    of_file = opened.transcript.warnings if opened.transcript else ()
    for warning in (*of_file, *opened.session.state().warnings):
        say(f"warning: {one_line(warning, LONGEST_WARNING)}")


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--store", metavar="DIR", help="The folder to keep everything in.")
@click.option("--allow", metavar="DIR", multiple=True, help="A folder agents may read; repeatable.")
@click.version_option(package_name="context-compression", message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context, store: str | None, allow: tuple[str, ...]) -> None:
    """Make an agent's conversation fit its context window again, and lose nothing.

    Without a command it serves the tools to an agent over stdio.
    """
    for folder in (store or "", *allow):
        if "\0" in folder:
            raise click.UsageError(f"{folder!r} holds a NUL character, and no folder has it.")
    gc.set_threshold(*SELDOM)
    ctx.obj = Options(store, allow)
    if ctx.invoked_subcommand is None:
        ctx.invoke(main.commands["serve"])
