"""All commands, and what the list of commands says of each. One is imported when it is used."""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from importlib import import_module

import click


@dataclass(frozen=True)
class Listed:
    """A command as it is listed, before it is imported.

    Attributes:
        module: in this package.
        help: the beginning of its help, which the list shortens.
        short: what the list says instead of that.
        hidden: whether the list leaves it out.
    """

    module: str
    help: str | None = None
    short: str | None = None
    hidden: bool = False


COMMANDS = {
    "serve": Listed("serve", help="Serve the six tools to an agent (MCP)."),
    "hook": Listed("hook", short="Answer one event of a host's hook.", hidden=True),
    "sessions": Listed("sessions", short="List the sessions of all hosts, and our own."),
    "statusline": Listed("hook", short="Print the line for Claude Code.", hidden=True),
    "status": Listed("status", short="Show how full a conversation's context is."),
    "report": Listed(
        "report", short="Show what filled and left a session's context, and its cost."
    ),
    "compress": Listed("compress", short="Print a conversation, compacted."),
    "export": Listed(
        "export", short="Write a conversation, compacted, as a new session of a host."
    ),
    "restore": Listed("restore", short="Print an archived original, or search the archive."),
    "summaries": Listed("summaries", help="Show past summaries and digests, newest first."),
    "archive": Listed("archive", short="List archived sessions and their sizes; delete them."),
    "config": Listed("config", short="Show or change settings."),
    "trust": Listed("trust", short="Apply settings and prompts that came with a clone."),
    "install": Listed("setup", short="Add the server to the configuration of a host."),
    "uninstall": Listed("setup", short="Remove the server from the configuration of a host."),
    "doctor": Listed("doctor", short="Check that the server works in a host."),
    "completion": Listed(
        "completion", short="Print the script that completes this command in a shell."
    ),
    "demo": Listed("demo", short="Run a recorded conversation through all six tools."),
}


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
