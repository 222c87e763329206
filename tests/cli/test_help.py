"""The help: groups, examples, hidden commands, and the nearest name for an unknown one."""

import shlex
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from context_compression.cli import main
from context_compression.cli.app import (
    OTHER_NAMES,
    OTHERS,
    PROGRAM,
    Commands,
    OnDemand,
    did_you_mean,
    in_groups,
)


def commands(group: click.Group = main) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


def test_every_command_for_people_is_in_a_group_of_the_help():
    groups = in_groups(main.commands.values())

    assert OTHERS not in groups
    assert sum(map(len, groups.values())) == len(
        [command for command in main.commands.values() if not command.hidden]
    )


@pytest.mark.parametrize("width", [20, 45, 70])
def test_a_command_is_listed_as_its_own_help_says(width: int):
    """The list is made before any command is imported."""
    assert isinstance(main.commands, OnDemand)
    for listed in main.commands.listed:
        command = main.commands[listed.name or ""]

        assert (listed.name, listed.hidden) == (command.name, command.hidden)
        if not listed.hidden:
            assert listed.get_short_help_str(width) == command.get_short_help_str(width)


def test_version_and_help_import_no_command():
    code = (
        "import sys; from context_compression.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "print(*(name for name in sys.modules if name.startswith('context_compression.')))"
    )
    for option in ("--version", "--help"):
        done = subprocess.check_output([sys.executable, "-c", code, option], text=True, timeout=60)
        rooms = {name.split(".")[1] for name in done.splitlines()[-1].split()}

        assert rooms <= {"cli", "errors", "extras", "guard", "listening", "strings"}


def test_a_command_in_no_group_is_listed_nevertheless():
    groups = in_groups([click.Command("new"), click.Command("status")])

    assert [command.name for command in groups[OTHERS]] == ["new"]


def test_commands_for_programs_are_not_listed_and_work():
    text = CliRunner().invoke(main, ["--help"]).output

    assert "hook" not in text
    assert CliRunner().invoke(main, ["hook", "--help"]).exit_code == 0
    assert "--hooks" not in CliRunner().invoke(main, ["serve", "--help"]).output


def test_the_help_of_every_command_ends_with_examples_that_it_understands():
    for command in commands():
        if command.hidden:
            continue
        lines = commands_in(command.epilog or "")
        assert lines, f"{command.name} has no example"
        for arguments in lines:
            understood(main, arguments)


def understood(group: click.Command, arguments: list[str]) -> None:
    """Fails unless these are commands, options and arguments that exist."""
    context = click.Context(group, resilient_parsing=True, **main.context_settings)
    _, rest, _ = group.make_parser(context).parse_args([*arguments])
    if isinstance(group, click.Group) and rest:
        assert rest[0] in group.commands
        understood(group.commands[rest[0]], rest[1:])
    else:
        assert rest == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("stauts", "status"), ("Compress", "compress"), ("instal", "install"), ("zzzzz", None)],
)
def test_an_unknown_command_names_the_nearest(typed: str, meant: str | None):
    done = CliRunner().invoke(main, [typed])

    assert done.exit_code == 2
    assert f"No such command '{typed}'." in done.output
    assert ("Did you mean" in done.output) == bool(meant)
    assert f"Did you mean '{meant}'?" in done.output or meant is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("compact", "compress"), ("Summarise", "compress"), ("sumarize", "compress"),
        ("init", "install"), ("stats", "status"), ("search", "restore --query WORDS"),
        ("undo", "compress CONVERSATION --undo"), ("help", "--help"),
    ],
)  # fmt: skip
def test_a_command_that_other_tools_have_leads_to_ours(typed: str, meant: str):
    done = CliRunner().invoke(main, [typed])

    assert done.exit_code == 2
    assert f"No such command '{typed}'. Did you mean '{meant}'?" in done.output


@pytest.mark.parametrize("own", OTHER_NAMES)
def test_what_is_named_for_a_command_of_another_tool_exists_and_has_no_other_meaning(own: str):
    group: click.Command = main
    for word in own.split():
        if isinstance(group, click.Group) and not word.startswith("-"):
            group = group.commands[word]
        assert not word.startswith("-") or any(
            word in parameter.opts
            for parameter in group.get_params(click.Context(group, **main.context_settings))
        )
    assert not {*OTHER_NAMES[own].split()} & {*main.commands}


def test_an_unknown_command_imports_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_compression.cli.app.import_module", pytest.fail)
    done = CliRunner().invoke(Commands(commands=OnDemand()), ["stauts"])

    assert "Did you mean 'status'?" in done.output


def test_an_unknown_host_names_the_nearest():
    done = CliRunner().invoke(main, ["doctor", "claude-cod"])

    assert "Did you mean 'claude-code'?" in done.output


def test_a_hidden_command_is_never_suggested():
    assert "hook" not in CliRunner().invoke(main, ["hok"]).output
    assert did_you_mean("stat", []) == ""


def commands_in(epilog: str) -> list[list[str]]:
    """The arguments of the examples that `examples` made."""
    rows = [line.strip() for line in epilog.splitlines() if line.startswith(f"  {PROGRAM} ")]
    return [shlex.split(row.partition(" > ")[0])[1:] for row in rows]
