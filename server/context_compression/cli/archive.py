"""`archive`: what is kept and how much room it takes; `archive delete` and `archive prune`."""

import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import click

from context_compression.cli.app import Options, Refused, as_json
from context_compression.cli.arguments import seconds_in
from context_compression.cli.pages import table
from context_compression.cli.records import Record
from context_compression.cli.terminal import say, working, write_json
from context_compression.errors import ContextCompressionError
from context_compression.plurals import how_many
from context_compression.session import Session
from context_compression.store import Store
from context_compression.workspace import CURRENT, Workspace

QUIET_DAYS = 90
"""What was not written to for so long is told to be prunable."""
DAY = 86_400
UNITS = ("KB", "MB", "GB")

agreed = click.option("--yes", is_flag=True, help="Without being asked.")


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def archive(ctx: click.Context, as_json: bool) -> None:
    """What is archived and how much room it takes; `delete` and `prune` make room."""
    if ctx.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError(f"--json goes behind: archive {ctx.invoked_subcommand} --json")
        return
    workspace: Workspace = ctx.find_object(Options).workspace()  # pyright: ignore[reportOptionalMemberAccess]  # main makes it
    with working("measuring"):
        found = record(workspace)
    if as_json:
        write_json(found)
    else:
        click.echo(page(found))


@archive.command()
@click.argument("session")
@agreed
@as_json
@click.pass_obj
def delete(options: Options, session: str, yes: bool, as_json: bool) -> None:
    """Delete SESSION (its id, or the first characters) with all its originals, for good."""
    from context_compression.store import tidying

    workspace = options.workspace()
    store, id = workspace.store, workspace.session_named(session)
    if id not in store.sessions():
        raise Refused(f"No session {session!r} is recorded.")
    refs, size = len(store.session(id).refs()), store.size_of(id)
    with working("looking for what refers to it"):
        others = tidying.referring(store, id)
    say(f"{id}: {in_units(size)}, {how_many(refs, 'ref')} that nothing will bring back.")
    if others:
        say(f"warning: refs of it stand in {', '.join(others)}; they will lead nowhere.")
    if not _agreed(f"Delete {id}?", yes, must=True):
        return
    store.delete(id, timeout=0)
    if as_json:
        write_json({"deleted": [id], "bytes": size, "refs": refs, "referred_to_by": others})
    else:
        click.echo(f"Deleted {id}, {in_units(size)}.")


@archive.command()
@click.option("--older-than", required=True, metavar="90d", help="Not written to for: h, d, w.")
@agreed
@as_json
@click.pass_obj
def prune(options: Options, older_than: str, yes: bool, as_json: bool) -> None:
    """Delete old sessions and what killed work left behind.

    It says first what would go. What a session that stays refers to is never deleted, nor the
    conversation that runs now.
    """
    seconds = seconds_in(older_than, "--older-than")
    workspace = options.workspace()
    store, keep = workspace.store, current(workspace)
    with working("looking"):
        found = store.prunable(seconds, keep=keep)
    for line in _listed(store, found.sessions, found.kept):
        say(line)
    if found.left_over:
        say(f"and {how_many(len(found.left_over), 'file')} that killed work left behind")
    if not (found.sessions or found.left_over):
        say(f"Nothing is older than {older_than} and unused; nothing was deleted.")
    asked = f"Delete {how_many(len(found.sessions), 'session')}, {in_units(found.bytes)}?"
    if not (found.sessions or found.left_over) or not _agreed(asked, yes):
        if as_json:
            write_json(_pruned(found, []))
        return
    done = store.prune(seconds, keep=keep)
    if as_json:
        write_json(_pruned(found, done.sessions))
    else:
        click.echo(f"Deleted {how_many(len(done.sessions), 'session')}.")
    if stayed := sorted({*found.sessions} - {*done.sessions}):
        say(f"warning: somebody works in {', '.join(stayed)}; not deleted. Prune again later.")


def current(workspace: Workspace) -> list[str]:
    """The session of the conversation that runs now, where that is known."""
    with suppress(ContextCompressionError):
        return [workspace.open(CURRENT).session.id]
    return []


def record(workspace: Workspace) -> Record:
    """What is kept, for programs; sizes in bytes."""
    store = workspace.store
    shares = store.index_shares()
    old = store.prunable(QUIET_DAYS * DAY, keep=current(workspace))
    sessions: list[Record] = []
    for id in store.sessions():
        state = Session(store, id).state()
        share = shares.get(id, 0)
        sessions.append(
            {
                "session": id,
                "host": state.origin.get("host"),
                "last_written": _written(store, id),
                "messages": len(state.recorded),
                "compressions": len(state.compressions),
                "bytes": store.size_of(id) + share,
                "of_which_index": share,
                "prunable": id in old.sessions,
            }
        )
    left = sum(path.lstat().st_size for path in old.left_over if path.exists())
    return {
        "store": str(store.folder),
        "sessions": sessions,
        "bytes": sum(each["bytes"] for each in sessions) + left,
        "left_over": {"files": len(old.left_over), "bytes": left},
        "prunable": {"older_than_days": QUIET_DAYS, "sessions": [*old.sessions]},
    }


def page(found: Record) -> str:
    """The same for people."""
    if not found["sessions"]:
        return f"Nothing is archived in {found['store']} yet."
    rows = [
        (
            each["session"],
            each["host"] or "",
            each["last_written"] or "?",
            f"{each['messages']:,}",
            f"{each['compressions']:,}",
            in_units(each["bytes"]),
            in_units(each["of_which_index"]),
        )
        for each in found["sessions"]
    ]
    head = ("session", "host", "last written", "messages", "compressions", "size", "index")
    index = sum(each["of_which_index"] for each in found["sessions"])
    total = ("total", "", "", "", "", in_units(found["bytes"]), in_units(index))
    lines = [found["store"], "", *table([head, *rows, total], left=3), ""]
    if left := found["left_over"]["files"]:
        size = in_units(found["left_over"]["bytes"])
        lines.append(f"{how_many(left, 'file')} left behind by killed work, {size}")
    old = found["prunable"]["sessions"]
    lines.append(
        f"{how_many(len(old), 'session')} not written to for {QUIET_DAYS} days and referred to by "
        f"none{f': `archive prune --older-than {QUIET_DAYS}d` deletes them' if old else ''}"
    )
    return "\n".join(lines)


def in_units(size: int) -> str:
    """`in_units(2_345_678)` -> `"2.3 MB"`."""
    if size < 1000:
        return how_many(size, "byte")
    value, unit = size / 1000, 0
    while value >= 999.95 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {UNITS[unit]}"


def _written(store: Store, id: str) -> str | None:
    stamp = store.session(id).stamp
    if stamp is None:
        return None
    time = datetime.fromtimestamp(stamp[1] / 1e9, UTC)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def _listed(store: Store, going: tuple[str, ...], kept: Any) -> list[str]:
    rows = [(id, _written(store, id) or "?", in_units(store.size_of(id))) for id in going]
    stay = [f"{id} stays: refs of it stand in {by}" for id, by in kept.items()]
    return [*table([("would go", "last written", "size"), *rows] if rows else [], left=2), *stay]


def _agreed(question: str, yes: bool, *, must: bool = False) -> bool:
    """Whether it shall be done; where nobody can be asked, only with `--yes`."""
    if yes:
        return True
    if sys.stdin is not None and sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # closed: <&-
        if click.confirm(question, err=True):
            return True
        say("Nothing was deleted.")
        return False
    if must:
        raise click.UsageError("Nobody can be asked here: add --yes. Nothing was deleted.")
    say("Nothing was deleted: add --yes.")
    return False


def _pruned(found: Any, gone: Any) -> Record:
    return {
        "would_go": [*found.sessions],
        "deleted": [*gone],
        "kept": dict(found.kept),
        "left_over": [str(path) for path in found.left_over],
        "bytes": found.bytes,
    }
