"""The help: groups of commands, examples, its width, and the nearest name for an unknown one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TextIO

import click

from context_compression.cli.terminal import DEFAULT_SIZE, is_terminal, size

GROUPS: Mapping[str, Sequence[str]] = {
    "Look at a conversation": ("status", "sessions", "report", "summaries"),
    "Compress it": ("compress", "export"),
    "Use the archive": ("restore", "archive"),
    "Set up": ("install", "uninstall", "doctor", "config", "trust", "completion"),
    "Serve agents, or try it": ("serve", "demo"),
}
"""The commands in the help, by heading. Names without a command are skipped."""
OTHERS = "Others"
PROGRAM = "context-compression"


def help_width(stream: TextIO | None) -> int:
    """The columns of the terminal; in a pipe always the same."""
    return size(stream).columns if stream and is_terminal(stream) else DEFAULT_SIZE.columns


def visible(commands: Mapping[str, click.Command]) -> list[str]:
    """The names of the commands that people use."""
    return [name for name, command in commands.items() if not command.hidden]


def in_groups(commands: Iterable[click.Command]) -> Iterator[tuple[str, list[click.Command]]]:
    """The visible commands under their headings, in the order of `GROUPS`."""
    by_name = {command.name: command for command in commands if not command.hidden}
    for heading, names in GROUPS.items():
        if group := [by_name.pop(name) for name in names if name in by_name]:
            yield heading, group
    if by_name:
        yield OTHERS, [*by_name.values()]


def examples(*lines: tuple[str, str]) -> str:
    """The end of a command's help, from its examples and what each does."""
    pairs = ((f"  {PROGRAM} {command}", f"      {does}") for command, does in lines)
    return "\n".join(["\b", "Examples:", *chain.from_iterable(pairs)])


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`" Did you mean 'status'?"`, or nothing if no name is near."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), [*names], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
