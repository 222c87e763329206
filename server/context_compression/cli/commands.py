"""What the command can do. Heavy modules are imported where they are used."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import click

from context_compression.cli import pages, records
from context_compression.cli.app import Options, Refused
from context_compression.cli.terminal import say, working, write, write_json
from context_compression.errors import NothingToUndo, UnknownRef
from context_compression.result import Result
from context_compression.session import Session
from context_compression.settings import NAMES, Settings, setting_name
from context_compression.store.files import to_json
from context_compression.workspace import Opened

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")


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
@click.pass_obj
def serve(
    options: Options,
    http: bool,
    host: str,
    port: int,
    token: str | None,
    protocol: Literal["auto", "legacy"],
) -> None:
    """Serve the six tools to an agent (MCP)."""
    from context_compression import mcp_server

    workspace = options.workspace()
    if http:
        mcp_server.serve_http(workspace, host=host, port=port, token=token)
        return
    if sys.stdin.isatty():
        say("Waiting for an MCP client on stdin; Ctrl-C ends. See context-compression --help.")
    mcp_server.serve_stdio(workspace, protocol=protocol)


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
            click.echo(pages.sessions(store.folder, sessions))
        return
    opened = options.workspace(conversation).open(conversation, model=model)
    with working("counting"):
        shown = opened.transcript.messages if opened.transcript else None
        found = opened.session.status(shown, opened.anchor)
    if as_json:
        write_json(records.status(opened.session.id, found))
    else:
        click.echo(pages.status(opened.session.id, found))


def _in_a_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuses a file that could not be written, before anything is done."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"{path.parent} is no folder that can be written.")
    return path


@click.command()
@click.argument("conversation")
@click.option("--target-tokens", type=int, metavar="N", help="What to come down to.")
@click.option("--strategy", default="auto", show_default=True)
@click.option("--pin", "pins", multiple=True, metavar="INDEX|TEXT", help="Keep whole; repeatable.")
@click.option("--focus", help="What the remaining work is about.")
@click.option("--model", help="Whose tokens and window count.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="For this run only.")
@click.option("--dry-run", is_flag=True, help="Only tell; keep nothing.")
@click.option("--undo", is_flag=True, help="Take the last compression of this conversation back.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    callback=_in_a_folder,
    metavar="FILE",
    help="The messages go there, instead of to stdout.",
)
@as_json
@click.pass_obj
def compress(
    options: Options,
    conversation: str,
    target_tokens: int | None,
    strategy: str,
    pins: tuple[str, ...],
    focus: str | None,
    model: str | None,
    changes: tuple[str, ...],
    dry_run: bool,
    undo: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print CONVERSATION (a transcript, or a session's id), shorter and valid; the account follows.

    The originals are kept in the store; the transcript itself is never changed.
    """
    workspace = options.workspace(conversation)
    settings = workspace.settings(dict(map(_change, changes)))
    opened = workspace.open(conversation, settings=settings, model=model)
    session = opened.session
    if undo:
        messages = session.undo()
        account: Mapping[str, Any] = {"session": session.id, "undone": True}
        page = f"The last compression of {session.id} was taken back: {len(messages)} messages."
    else:
        with working("compressing"):
            result = _compress(
                opened,
                dry_run,
                target_tokens=target_tokens,
                strategy=strategy,
                pins=[int(pin) if pin.lstrip("-").isdecimal() else pin for pin in pins],
                focus=focus,
                force=True,
            )
            messages = result.messages
            account = {"session": session.id, **records.account(result)}
            page = pages.account(result, restorable=not dry_run)
    _deliver(messages, account, output, as_json)
    if not as_json:
        say(page)


def _compress(opened: Opened, dry_run: bool, **asked: Any) -> Result:
    """Compress a session's view; or a transcript, as its file has it now."""
    session, transcript = opened.session, opened.transcript
    messages = transcript.messages if transcript else None
    if dry_run:
        return session.preview(messages, **asked)
    if messages is not None and session.view(messages) != messages:
        # An earlier compression that the transcript's own program never took over. Without it the
        # same file gives the same result; what is impossible is refused before it is taken back.
        session.preview(messages, **asked)
        with suppress(NothingToUndo):
            while session.view(messages) != messages:
                session.undo()
    return session.compress(messages=messages, **asked)


def _deliver(
    messages: list[dict[str, Any]], account: Mapping[str, Any], output: Path | None, as_json: bool
) -> None:
    """The messages to a file or to stdout; the account to stdout where it is for programs."""
    if output:
        try:
            output.write_bytes(to_json(messages, indent=2) + b"\n")
        except OSError as error:
            reason = error.strerror or error
            raise Refused(f"{output} cannot be written: {reason}. Name another file.") from error
    if as_json:
        write_json({**account, **({} if output else {"messages": messages})})
    elif not output:
        write(to_json(messages, indent=2) + b"\n")


@click.command()
@click.argument("ref")
@click.option("--lines", metavar="10-40", help="Only these lines, from 1, both included.")
@click.option("--pattern", metavar="RE", help="Only lines in which this is found, numbered.")
@click.option("--session", metavar="ID", help="Where to look; without it, everywhere.")
@as_json
@click.pass_obj
def restore(
    options: Options,
    ref: str,
    lines: str | None,
    pattern: str | None,
    session: str | None,
    as_json: bool,
) -> None:
    """Print what was archived under REF (its first four digits are enough), byte for byte."""
    store = options.workspace().store
    log = store.session(session) if session else store.locate(ref)
    if log is None:
        raise UnknownRef(
            f"Nothing is archived under {ref!r} in {store.folder}. The refs of a conversation: "
            "`context-compression status ID`; the conversations: `context-compression status`."
        )
    # To look at something is not to bring it back into a view: no note of it.
    text = Session(store, log.id).restore(ref, lines=_lines(lines), pattern=pattern, note=False)
    if as_json:
        write_json({"ref": ref, "session": log.id, "text": text})
        return
    write(text.encode("utf-8", "surrogatepass"))
    if sys.stdout.isatty() and not text.endswith("\n"):
        click.echo()


@click.command()
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1))
@click.option("--session", metavar="ID", help="Of this conversation only.")
@as_json
@click.pass_obj
def summaries(options: Options, limit: int, session: str | None, as_json: bool) -> None:
    """Past summaries and digests, newest first."""
    found = options.workspace().store.summaries(session=session, limit=limit)
    if as_json:
        write_json({"summaries": found})
    else:
        click.echo(pages.summaries(found))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME[=VALUE]]...")
@click.option("--reset", multiple=True, metavar="NAME", help="Back to its default; or `all`.")
@as_json
@click.pass_obj
def config(options: Options, names: tuple[str, ...], reset: tuple[str, ...], as_json: bool) -> None:
    """Show settings, or change them in config.json of the store: `config keep_recent=5`."""
    workspace = options.workspace()
    changes = dict(_change(name) for name in names if "=" in name)
    shown = {setting_name(name) for name in names if "=" not in name}
    if changes or reset:
        gone = set(NAMES if "all" in reset else map(setting_name, reset))

        def change(config: dict[str, Any]) -> dict[str, Any]:
            kept = {name: value for name, value in config.items() if setting_name(name) not in gone}
            merged = kept | changes
            Settings.layered(merged)  # refuses what is impossible
            return merged

        change(workspace.store.read_config())  # refused before anything is written
        workspace.store.update_config(change)
        shown |= {*changes, *(() if "all" in reset else gone)}
    settings = workspace.settings()
    if as_json:
        write_json(settings.model_dump(mode="json"))
    else:
        origins = pages.origins(workspace.store.read_config(), workspace.environ)
        click.echo(pages.config(settings, origins, shown or NAMES))


@click.command()
def demo() -> None:
    """Take a recorded conversation through all six tools of a real server, and check it all."""
    from context_compression import demo

    raise SystemExit(demo.run())


COMMANDS = (serve, status, compress, restore, summaries, config, demo)


def _change(text: str) -> tuple[str, Any]:
    """`"keepRecent=5"` -> `("keep_recent", 5)`; lists are JSON, or words between commas."""
    name, equals, value = text.partition("=")
    name = setting_name(name.strip())
    if not equals:
        raise click.UsageError(f"{text!r} sets nothing; write {name}=VALUE.")
    try:
        return name, json.loads(value)
    except ValueError:
        listed = isinstance(getattr(Settings(), name), tuple)
        return name, [part.strip() for part in value.split(",")] if listed else value


def _lines(text: str | None) -> tuple[int, int] | None:
    """`"10-40"` -> `(10, 40)`; `"7"` -> `(7, 7)`."""
    if text is None:
        return None
    first, _, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise click.BadParameter(
            f"{text!r} is no range of lines; write 10-40.", param_hint="--lines"
        )
    return int(first), int(last or first)
