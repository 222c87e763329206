"""What the command can do, the longer words aside. Heavy modules are imported where used."""

import json
import sys
from collections.abc import Mapping
from typing import Any, Literal

import click

from context_compression.cli import pages, records
from context_compression.cli.app import Options, Refused, as_json, warn
from context_compression.cli.archive import archive
from context_compression.cli.arguments import change_in
from context_compression.cli.compress import compress
from context_compression.cli.export import export
from context_compression.cli.restore import restore
from context_compression.cli.setup import doctor, install, uninstall
from context_compression.cli.terminal import (
    is_at_terminal,
    is_deaf,
    say,
    show,
    working,
    write,
    write_json,
)
from context_compression.cli.trust import trust
from context_compression.display.strings import one_line
from context_compression.errors import ContextCompressionError
from context_compression.hosts.events import HOSTS as HOOKED
from context_compression.hosts.events import NOTHING, answer
from context_compression.settings import (
    NAMES,
    Settings,
    changed_config,
    setting_name,
    snake_case,
    variables,
)
from context_compression.workspace.guard import in_our_words


@click.command()
@click.option("--http", is_flag=True, help="Over HTTP, for several clients, instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--token",
    help="What HTTP clients must send as a bearer token; better in CONTEXT_COMPRESSION_TOKEN.",
)
@click.option(
    "--protocol",
    type=click.Choice(["auto", "legacy"]),
    default="auto",
    show_default=True,
    help="legacy: for clients that fail when the server knows the newest protocol.",
)
@click.option(
    "--hooks",
    type=click.Choice(list(HOOKED)),
    help="Answer the hooks of this host as well, by a seventh tool; the host's plugin asks for it.",
)
@click.pass_obj
def serve(
    options: Options,
    http: bool,
    host: str,
    port: int,
    token: str | None,
    protocol: Literal["auto", "legacy"],
    hooks: str | None,
) -> None:
    """Serve the six tools to an agent (MCP)."""
    from context_compression import mcp_server

    if http and hooks:
        raise click.UsageError("--hooks goes with stdio: a host starts its own server for them.")
    workspace = options.workspace()
    if http:
        mcp_server.serve_http(workspace, host=host, port=port, token=token)
        return
    if is_deaf():
        raise Refused("Stdin is closed, and an MCP client speaks there. Leave it open, or --http.")
    if is_at_terminal():
        say("Waiting for an MCP client on stdin; Ctrl-C ends. See context-compression --help.")
    mcp_server.serve_stdio(workspace, protocol=protocol, hooks=hooks)


@click.command()
@click.argument("host", type=click.Choice(list(HOOKED)))
@click.pass_obj
def hook(options: Options, host: str) -> None:
    """Answer one event of a host's hook: its JSON on stdin, the answer on stdout."""
    from anyio import run

    try:
        with in_our_words():
            if is_deaf():
                raise ContextCompressionError("stdin is closed, and the event comes there.")
            event = json.load(sys.stdin.buffer)
            told = run(answer, host, options.workspace(), event)
            if told != NOTHING:
                write(told.encode("utf-8", "replace"))
    except ContextCompressionError as error:  # the host shall go on in any case
        say(f"context-compression: no answer to a hook of {host}: {error}")


@click.command()
@click.argument("conversation", required=False)
@click.option("--model", help="Whose tokens and window count.")
@as_json
@click.pass_obj
def status(options: Options, conversation: str | None, model: str | None, as_json: bool) -> None:
    """How full a conversation is, and what fills it; without one, the recorded sessions."""
    if conversation is None:
        store = options.workspace().store
        sessions = records.sessions(store, store.sessions())
        if as_json:
            write_json({"store": str(store.folder), "sessions": sessions})
        else:
            show(pages.sessions(store.folder, sessions))
        return
    opened = options.conversations(conversation).open(conversation, model=model)
    warn(opened)
    with working("counting"):
        found = opened.session.status(opened.shown, opened.anchor)
    if as_json:
        write_json(records.status(opened.session.id, found))
    else:
        show(pages.status(opened.session.id, found))


@click.command()
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1))
@click.option("--session", metavar="ID", help="Of this conversation only.")
@as_json
@click.pass_obj
def summaries(options: Options, limit: int, session: str | None, as_json: bool) -> None:
    """Past summaries and digests, newest first."""
    conversations = options.conversations()
    if session is not None:
        session = conversations.session_named(session)
    found = conversations.workspace.store.summaries(session=session, limit=limit)
    if as_json:
        write_json({"summaries": found})
    else:
        show(pages.summaries(found))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME[=VALUE]]...")
@click.option("--reset", multiple=True, metavar="NAME", help="Back to its default; or `all`.")
@as_json
@click.pass_obj
def config(options: Options, names: tuple[str, ...], reset: tuple[str, ...], as_json: bool) -> None:
    """Show settings, or change them in config.json of the store: `config keep_recent=5`."""
    from context_compression.doctor.checks import check_variables

    workspace = options.workspace()
    changes = dict(change_in(name) for name in names if "=" in name)
    shown = {setting_name(name) for name in names if "=" not in name}
    if changes or reset:

        def change(config: dict[str, Any]) -> dict[str, Any]:
            return changed_config(config, changes, reset)

        # what is refused, or a broken environment, is told before anything is written
        change(workspace.store.read_config())
        Settings.layered(environ=workspace.environ)
        kept = Settings.checked(workspace.store.update_config(change))
        changed = {*changes, *(name for name in map(snake_case, reset) if name in NAMES)}
        _say_overruled(changed, kept, workspace.environ)
        shown |= changed
    for finding in check_variables(workspace.environ):
        if finding.ok is False:
            say(f"warning: {finding.says}. {finding.mend}")
    settings = workspace.settings()
    for doubt in (*workspace.store.doubts, *settings.doubts):
        say(doubt)
    if as_json:
        write_json(settings.model_dump(mode="json"))
    else:
        origins = pages.origins(workspace.store.read_config(), workspace.environ)
        origins |= dict.fromkeys(workspace.overrides, "command line")
        show(pages.config(settings, origins, shown or NAMES))


def _say_overruled(changed: set[str], kept: Settings, environ: Mapping[str, str]) -> None:
    """Say which of the changed settings the environment sets, whatever is kept."""
    values = kept.model_dump(mode="json")
    for name, variable in variables(environ).items():
        if name in changed:
            value = one_line(json.dumps(values[name], ensure_ascii=False))
            say(f"warning: {name} is {value} in config.json now, but {variable} goes before it")


@click.command()
def demo() -> None:
    """Take a recorded conversation through all six tools of a real server, and check it all."""
    from context_compression import demo

    raise SystemExit(demo.run())


COMMANDS = (
    serve,
    hook,
    status,
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
    demo,
)
