"""The command as far as a shell completes it, from a description in the user's cache.

To import all commands takes longer than a user waits for a completion. The first completion imports
them and saves the names of commands and options, and the values that never change.
"""

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from context_compression.opening import opened
from context_compression.shell.completing import BY_PARAMETER, Complete

Description = Mapping[str, Any]
CLI = Path(__file__).parent.parent / "cli"


def command_to_complete(whole: Callable[[], click.Command]) -> click.Command:
    """The command for a completion; from the cache, or else the whole one, which is then saved.

    Args:
        whole: imports the whole command.
    """
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        with opened(_file()) as file:
            saved = json.loads(file.read())
        if saved["made_of"] == _made_of():
            return from_description(saved["command"])
    command = whole()
    _save({"made_of": _made_of(), "command": description_of(command)})
    return command


def description_of(command: click.Command) -> dict[str, Any]:
    """A command, its options and the commands in it, as a JSON value."""
    ctx = click.Context(command, resilient_parsing=True)
    commands = command.commands.values() if isinstance(command, click.Group) else ()
    return {
        "name": command.name,
        "help": command.get_short_help_str(),
        "hidden": command.hidden,
        "context_settings": dict(command.context_settings),
        "parameters": [_described(each, ctx) for each in command.params],
        "commands": [description_of(each) for each in commands],
        "is_group": isinstance(command, click.Group),
    }


def _described(parameter: click.Parameter, ctx: click.Context) -> dict[str, Any]:
    values: list[tuple[str, str, str | None]] = []
    if parameter.name not in BY_PARAMETER:
        found = parameter.shell_complete(ctx, "")
        values = [(item.value, item.type, item.help) for item in found]
    of_option: dict[str, Any] = {}
    if isinstance(parameter, click.Option):
        of_option = {
            "is_flag": parameter.is_flag,
            "multiple": parameter.multiple,
            "hidden": parameter.hidden,
            "help": parameter.help,
        }
    return {
        "name": parameter.name,
        "declared": list(parameter.opts),
        "nargs": parameter.nargs,
        "values": values,
        "option": of_option,
    }


def from_description(about: Description) -> click.Command:
    """A command that can be completed, and not run."""
    params = [_parameter(each) for each in about["parameters"]]
    named: dict[str, Any] = {
        "name": about["name"], "short_help": about["help"], "hidden": about["hidden"],
        "params": params, "context_settings": about["context_settings"],
    }  # fmt: skip
    if not about["is_group"]:
        return click.Command(**named)
    commands = [from_description(each) for each in about["commands"]]
    return click.Group(**named, commands=commands, invoke_without_command=True)


def _parameter(about: Description) -> click.Parameter:
    complete = BY_PARAMETER.get(about["name"]) or _among(about["values"])
    if not about["option"]:
        return click.Argument(
            [about["name"]], nargs=about["nargs"], required=False, shell_complete=complete
        )
    nargs = {} if about["option"]["is_flag"] else {"nargs": about["nargs"]}
    return click.Option(
        [about["name"], *about["declared"]], **about["option"], **nargs, shell_complete=complete
    )


def _among(values: Sequence[tuple[str, str, str | None]]) -> Complete:
    """Offers fixed values; files as the shell knows them."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(value if type == "plain" else incomplete, type, help)
            for value, type, help in values
            if type != "plain" or value.startswith(incomplete)
        ]

    return complete


def _file() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("context-compression", appauthor=False) / "completion.json"


def _made_of() -> list[int | str]:
    """The place of the command's modules and the time of their last change."""
    return [str(CLI), max(entry.stat().st_mtime_ns for entry in os.scandir(CLI))]


def _save(document: Description) -> None:
    path = _file()
    with suppress(OSError):  # then the next completion is slow, too
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, new = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.replace(new, path)
