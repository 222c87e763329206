"""All commands; the longer ones have their own modules. Heavy modules are imported when used."""

import json
import signal
import sys
from contextlib import suppress
from typing import Any, cast

import click

from context_compression.cli import text_output
from context_compression.cli.app import Options, as_json
from context_compression.cli.archive import archive
from context_compression.cli.arguments import change_in
from context_compression.cli.completion import completion
from context_compression.cli.compress import compress
from context_compression.cli.console import is_coloured, is_terminal, size
from context_compression.cli.doctor import doctor
from context_compression.cli.export import export
from context_compression.cli.help import examples
from context_compression.cli.meter import above_the_bar
from context_compression.cli.report import report
from context_compression.cli.restore import restore
from context_compression.cli.serve import serve
from context_compression.cli.sessions import sessions
from context_compression.cli.setup import install, uninstall
from context_compression.cli.status import status
from context_compression.cli.terminal import (
    alone_on_stdout,
    is_at_terminal,
    say,
    show,
    stdin_is_closed,
    working,
    write,
    write_json,
)
from context_compression.cli.trust import trust
from context_compression.display.strings import one_line
from context_compression.errors import ContextCompressionError
from context_compression.hosts.events import HOSTS as HOOKED
from context_compression.hosts.events import NOTHING, answer, never_failing
from context_compression.progress import SHOWING
from context_compression.setting_names import own_name
from context_compression.settings import (
    NAMES,
    Settings,
    changed_config,
    setting_name,
    variables,
)
from context_compression.shell import completing
from context_compression.workspace import Workspace

SHOWN_ON_SCREEN = 600
"""How many characters of each summary a terminal shows if there are several."""


@click.command(hidden=True, short_help="Answer one event of a host's hook.")
@click.argument("host", type=click.Choice(list(HOOKED)))
@click.option("--serve", is_flag=True, hidden=True, help="Answer events until stdin ends.")
@click.pass_obj
def hook(options: Options, host: str, serve: bool) -> None:
    """Answer one event of a host's hook: read its JSON on stdin, print the answer on stdout."""
    from anyio import run

    if serve:
        from context_compression.hosts.serving import serve_events

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host decides when it ends
        with alone_on_stdout() as answers:
            run(serve_events, host, options.workspace(), sys.stdin.buffer, answers)
        return
    with never_failing(host):
        if stdin_is_closed():
            raise ContextCompressionError("Stdin is closed, but the host writes the event to it.")
        event = _event(sys.stdin.buffer.read(), host)
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


@click.command(
    epilog=examples(
        ("summaries", "the newest five"),
        ("summaries --limit 1 --session 3f9a", "the newest of one session"),
    ),
)
@click.option(
    "--limit",
    default=5,
    show_default=True,
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Summaries to show.",
)
@click.option(
    "--session",
    metavar="ID",
    shell_complete=completing.recorded,
    help="Only summaries of this session.",
)
@as_json
@click.pass_obj
def summaries(options: Options, limit: int, session: str | None, as_json: bool) -> None:
    """Show past summaries and digests, newest first."""
    conversations = options.conversations()
    if session is not None:
        session = conversations.session_named(session)
    entries = conversations.workspace.store.summaries(session=session, limit=limit)
    if as_json:
        write_json({"summaries": entries})
    else:
        most = SHOWN_ON_SCREEN if limit > 1 and is_terminal(sys.stdout) else text_output.SHOWN
        show(*text_output.summaries(entries, most))


@click.command(
    short_help="Show or change settings.",
    epilog=examples(
        ("config", "all settings, with their meaning"),
        ("config token_budget=1m keep_recent=5", "change two"),
        ("config --reset keep_recent", "back to the default"),
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME[=VALUE]]...", shell_complete=completing.settings)
@click.option(
    "--reset",
    multiple=True,
    metavar="NAME",
    shell_complete=completing.settings,
    help="Reset NAME to its default, or `all`. Repeatable.",
)
@as_json
@click.pass_obj
def config(options: Options, names: tuple[str, ...], reset: tuple[str, ...], as_json: bool) -> None:
    """Show settings, or change those that the store keeps: `config keep_recent=5`."""
    from context_compression.doctor.checks import check_variables

    workspace = options.workspace()
    changes = dict(change_in(name) for name in names if "=" in name)
    shown = {setting_name(name) for name in names if "=" not in name}
    if changes or reset:

        def change(config: dict[str, Any]) -> dict[str, Any]:
            return changed_config(config, changes, reset)

        # an invalid value or environment is reported before anything is written
        change(workspace.store.read_config())
        Settings.layered(environ=workspace.environ)
        kept = Settings.checked(workspace.store.update_config(change))
        changed = {*changes, *(name for name in map(own_name, reset) if name in NAMES)}
        _warn_of_overrides(changed, kept, workspace)
        shown |= changed
    settings = workspace.settings()  # an invalid variable ends the command here
    for finding in check_variables(workspace.environ):
        if finding.ok is False:
            say(f"warning: {finding.says}. {finding.mend}")
    for doubt in workspace.doubts():
        say(doubt)
    if as_json:
        write_json(settings.model_dump(mode="json"))
    else:
        origins = dict.fromkeys(workspace.store.read_config(), workspace.settings_origin)
        origins |= variables(workspace.environ)
        origins |= dict.fromkeys(workspace.overrides, "command line")
        show(*text_output.config(settings, origins, shown or NAMES))


def _warn_of_overrides(changed: set[str], kept: Settings, workspace: Workspace) -> None:
    """Warns about changed settings that the environment overrides."""
    values, kept_in = kept.model_dump(mode="json"), workspace.settings_origin
    for name, variable in variables(workspace.environ).items():
        if name in changed:
            value = one_line(json.dumps(values[name], ensure_ascii=False))
            say(f"warning: {name} is {value} in {kept_in} now, but {variable} overrides it")


@click.command(
    short_help="Run a recorded conversation through all six tools.",
    epilog=examples(
        ("demo", "about ten seconds; everything is deleted"),
    ),
)
def demo() -> None:
    """Run a recorded conversation through all six tools of a real server; check every result."""
    from context_compression import demo
    from context_compression.demo.board import Board

    screen = size(sys.stdout).columns if is_terminal(sys.stdout) else None
    with working("starting the server", SHOWING):
        code = demo.run(Board(above_the_bar, width=screen, coloured=is_coloured(sys.stdout)))
    raise SystemExit(code)


COMMANDS = (
    serve,
    hook,
    sessions,
    statusline,
    status,
    report,
    compress,
    export,
    restore,
    summaries,
    archive,
    config,
    trust,
    install,
    uninstall,
    doctor,
    completion,
    demo,
)
