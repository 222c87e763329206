"""The command itself: its list of commands and their help, global options, errors, exit codes."""

import gc
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from context_compression.cli.terminal import (
    DEFAULT_SIZE,
    is_at_terminal,
    is_terminal,
    say,
    size,
    speak_utf8,
)
from context_compression.errors import ContextCompressionError
from context_compression.guard import in_our_words
from context_compression.strings import harmless, one_line

if TYPE_CHECKING:
    from context_compression.hosts.conversations import Conversations
    from context_compression.workspace import Opened, Workspace

INTERRUPTED = 130
LONGEST_WARNING = 1_000  # characters; it may name a path
SELDOM = (200_000, 20, 100)
"""Thresholds for Python's garbage collection of cycles. A long conversation has millions of objects
and no cycle; with the default thresholds, collecting took a sixth of the time.
"""
CLICK_EXCEPTIONS = (click.ClickException, click.Abort, click.exceptions.Exit)
"""Click handles these itself: they end a command or explain a usage error."""

as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, for programs."
)


PROGRAM = "context-compression"
LOOK, COMPRESS, ARCHIVE, SET_UP, SERVE, OTHERS = (
    "Look at a conversation",
    "Compress it",
    "Use the archive",
    "Set up",
    "Serve agents, or try it",
    "Others",
)
"""The headings of the help, in their order."""


@dataclass(frozen=True)
class Listed:
    """A command as it is listed, before it is imported.

    Attributes:
        heading: in the help.
        module: in this package.
        help: the beginning of its help, which the list shortens.
        short: what the list says instead of that.
        hidden: whether the list leaves it out.
    """

    heading: str
    module: str
    help: str | None = None
    short: str | None = None
    hidden: bool = False


COMMANDS = {
    "status": Listed(LOOK, "status", short="Show how full a conversation's context is."),
    "sessions": Listed(LOOK, "sessions", short="List the sessions of all hosts, and our own."),
    "report": Listed(
        LOOK, "report", short="Show what filled and left a session's context, and its cost."
    ),
    "summaries": Listed(LOOK, "status", help="Show past summaries and digests, newest first."),
    "compress": Listed(COMPRESS, "compress", short="Print a conversation, compacted."),
    "export": Listed(
        COMPRESS, "compress", short="Write a conversation, compacted, as a new session of a host."
    ),
    "restore": Listed(
        ARCHIVE, "restore", short="Print an archived original, or search the archive."
    ),
    "archive": Listed(
        ARCHIVE, "archive", short="List archived sessions and their sizes; delete them."
    ),
    "keep": Listed(ARCHIVE, "keep", short="Keep the sessions of hosts past their deletion."),
    "install": Listed(SET_UP, "setup", short="Add the server to the configuration of a host."),
    "uninstall": Listed(
        SET_UP, "setup", short="Remove the server from the configuration of a host."
    ),
    "doctor": Listed(SET_UP, "setup", short="Check that the server works in a host."),
    "config": Listed(SET_UP, "config", short="Show or change settings."),
    "trust": Listed(SET_UP, "config", short="Apply settings and prompts that came with a clone."),
    "completion": Listed(
        SET_UP, "completion", short="Print the script that completes this command in a shell."
    ),
    "serve": Listed(SERVE, "serve", help="Serve the six tools to an agent (MCP)."),
    "proxy": Listed(SERVE, "proxy", help="Compact what any client sends to its provider."),
    "demo": Listed(SERVE, "demo", short="Run a recorded conversation through all six tools."),
    "hook": Listed(OTHERS, "hook", short="Answer one event of a host's hook.", hidden=True),
    "statusline": Listed(OTHERS, "hook", short="Print the line for Claude Code.", hidden=True),
}


OTHER_NAMES = {
    "compress": "compact compaction condense fit reduce shrink summarise summarize trim",
    "compress CONVERSATION --undo": "revert rollback undo",
    "install": "add enable init setup",
    "uninstall": "disable remove",
    "status": "context info stats tokens usage",
    "sessions": "conversations history list ls",
    "restore REF": "cat expand get show",
    "restore --query WORDS": "find grep query search",
    "archive": "gc storage",
    "archive prune": "clean cleanup prune",
    "archive delete": "delete rm",
    "config": "configure set settings",
    "doctor": "check diagnose verify",
    "serve": "mcp run server start stdio",
    "proxy": "gateway",
    "report": "analyse analyze cost",
    "--help": "help",
    "--version": "version",
}
"""What is named for a command that other tools have."""


class OnDemand(MutableMapping[str, click.Command]):
    """Commands by name; each is imported when it is taken out."""

    def __init__(self) -> None:
        self._listed = {
            name: click.Command(name, help=each.help, short_help=each.short, hidden=each.hidden)
            for name, each in COMMANDS.items()
        }
        self._imported: dict[str, click.Command] = {}

    @property
    def listed(self) -> list[click.Command]:
        """The commands as they are listed; they cannot be run."""
        return [*self._listed.values()]

    def __getitem__(self, name: str) -> click.Command:
        """The command itself."""
        if name not in self._imported:
            place = f"context_compression.cli.{COMMANDS[name].module}"
            self._imported[name] = getattr(import_module(place), name)
        return self._imported[name]

    def __iter__(self) -> Iterator[str]:
        """The names of all commands."""
        return iter(self._listed)

    def __len__(self) -> int:
        """How many commands there are."""
        return len(self._listed)

    def __setitem__(self, name: str, command: click.Command) -> None:
        """Add a command that is there already."""
        self._listed[name] = self._imported[name] = command

    def __delitem__(self, name: str) -> None:
        """Remove a command."""
        del self._listed[name]


def in_groups(commands: Iterable[click.Command]) -> dict[str, list[click.Command]]:
    """The visible commands under their headings."""
    groups: dict[str, list[click.Command]] = {}
    for command in commands:
        if not command.hidden:
            listed = COMMANDS.get(command.name or "")
            groups.setdefault(listed.heading if listed else OTHERS, []).append(command)
    return groups


def examples(*lines: tuple[str, str]) -> str:
    """The end of a command's help, from its examples and what each does."""
    pairs = ((f"  {PROGRAM} {command}", f"      {does}") for command, does in lines)
    return "\n".join(["\b", "Examples:", *chain.from_iterable(pairs)])


def did_you_mean(
    name: str, names: Iterable[str], others: Mapping[str, str] = MappingProxyType({})
) -> str:
    """`" Did you mean 'status'?"`, or nothing if no name is near.

    `others` are the names that other tools give to a command, by what is named instead.
    """
    from difflib import get_close_matches

    meant = {other: own for own, each in others.items() for other in each.split()}
    long = (other for other in meant if len(other) > 4)  # a short name is near to too many
    typed = name.lower()
    near = [typed] if typed in meant else get_close_matches(typed, [*names, *long], n=1)
    return f" Did you mean {meant.get(near[0], near[0])!r}?" if near else ""


class Refused(click.ClickException):
    """An error that click prints on stderr without a traceback; its message says what to do."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(harmless(message))

    def show(self, file: Any = None) -> None:
        """Prints the error on stderr, as wide as the terminal."""
        say(f"Error: {self.message}")


class Commands(click.Group):
    """All commands, listed in groups; without a command, `serve` runs."""

    @property
    def listed(self) -> list[click.Command]:
        """The commands as they are listed, so that none is imported."""
        return self.commands.listed if isinstance(self.commands, OnDemand) else []

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """A context whose help, and that of its commands, is as wide as the terminal."""
        columns = size(sys.stdout).columns if is_terminal(sys.stdout) else DEFAULT_SIZE.columns
        return super().make_context(
            info_name, args, parent, terminal_width=columns, max_content_width=columns, **extra
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, each group under its heading."""
        for heading, commands in in_groups(self.listed).items():
            with formatter.section(heading):
                width = formatter.width - 6 - max(len(command.name or "") for command in commands)
                formatter.write_dl(
                    [(each.name or "", each.get_short_help_str(width)) for each in commands]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands and the global options."""
        named = [
            CompletionItem(each.name, help=each.get_short_help_str())
            for each in sorted(self.listed, key=lambda each: each.name or "")
            if not each.hidden and (each.name or "").startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of this name; the error for an unknown one names the nearest."""
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            visible = [each.name or "" for each in self.listed if not each.hidden]
            raise click.UsageError(
                f"No such command {name!r}.{did_you_mean(name, visible, OTHER_NAMES)} "
                "`context-compression --help` lists all.",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; every error ends with a message and exit code 2, Ctrl-C with 130."""
        speak_utf8()
        try:
            with in_our_words(*CLICK_EXCEPTIONS, BrokenPipeError):  # click ends quietly
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
    tenant: str | None = None

    def workspace(self, *given: str) -> "Workspace":
        """The workspace of this run; files that the user named may be read, wherever they are."""
        from context_compression.workspace import Workspace

        allow = [*self.allow]
        for name in given:
            with suppress(OSError, ValueError):  # not a path: reading it reports that
                allow.append(str(place(name).resolve()))
        workspace = Workspace.here(store=self.store, tenant=self.tenant, allow=allow)
        for name in self.allow:
            if not os.path.exists(workspace.place(name)):
                say(f"warning: there is no folder {name}, which --allow names")
        return workspace

    def conversations(self, *given: str) -> "Conversations":
        """The conversations that this run can open."""
        from context_compression.hosts.conversations import Conversations

        return Conversations(self.workspace(*given))


def place(name: str) -> Path:
    """The path that the user typed; `~` is the home folder."""
    with suppress(RuntimeError):  # `~name` of an unknown user is the name of a folder
        return Path(name).expanduser()
    return Path(name)


def warn(opened: "Opened") -> None:
    """Prints the warnings about a transcript, and about the session that records it."""
    of_file = opened.transcript.warnings if opened.transcript else ()
    for warning in (*of_file, *opened.session.state().warnings):
        say(f"warning: {one_line(warning, LONGEST_WARNING)}")


@click.group(
    cls=Commands,
    commands=OnDemand(),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--store",
    metavar="PLACE",
    help="The folder that keeps everything, or postgresql://… Default: .compression/ of the "
    "project.",
)
@click.option(
    "--allow", metavar="DIR", multiple=True, help="A folder that agents may read. Repeatable."
)
@click.option(
    "--tenant",
    metavar="NAME",
    help="The team whose part of the store is used. CONTEXT_COMPRESSION_TENANT sets it, too.",
)
@click.version_option(package_name="context-compression", message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context, store: str | None, allow: tuple[str, ...], tenant: str | None) -> None:
    """Compact an agent's conversation until it fits its context window, and lose nothing.

    Without a command, serve the tools to an agent over stdio; on a terminal, print this help.
    """
    if store:
        from context_compression.store.store import backend_at

        backend_at(store)
    for folder in allow:
        if "\0" in folder:
            raise click.UsageError(
                f"{folder!r} contains a NUL character, which no folder name can. Remove it."
            )
    gc.set_threshold(*SELDOM)
    ctx.obj = Options(store, allow, tenant)
    if ctx.invoked_subcommand is None and is_at_terminal():
        click.echo(ctx.get_help())
    elif ctx.invoked_subcommand is None:
        ctx.invoke(main.commands["serve"])
