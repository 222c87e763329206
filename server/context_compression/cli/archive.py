"""`archive`: lists the sessions and their sizes; `archive delete`, `prune` and `expire`."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import click

from context_compression.cli import completion
from context_compression.cli.app import Options, Refused, as_json, examples
from context_compression.cli.arguments import seconds_in
from context_compression.cli.output import when
from context_compression.cli.page import Block, Page, StyledLine, Table
from context_compression.cli.terminal import confirmed, say, show, working, write_json
from context_compression.errors import (
    ContextCompressionError,
    ConversationNotFound,
    ObjectsLeft,
    StoreError,
)
from context_compression.hosts.conversations import CURRENT, Conversations
from context_compression.hosts.listing import found_sessions
from context_compression.listening import MEASURING, counted
from context_compression.plurals import how_many
from context_compression.report.facts import Record
from context_compression.session import Session
from context_compression.store import Store
from context_compression.store.kept import KeptSession, KeptSessions
from context_compression.store.store import Prunable, referring, remove_empty_index
from context_compression.workspace import Workspace
from context_compression.workspace.kept import kept_in, may_keep
from context_compression.workspace.opened import KEPT_IN

QUIET_DAYS = 90
"""`archive` lists sessions without a write for this many days as prunable."""
DAY = 86_400
UNITS = ("KB", "MB", "GB")
HEAD = ("session", "host", "last written", "messages", "originals", "size")
PROBLEM = 1
NOTHING_DELETED = "Nothing was deleted."
ADD_YES = f"Add --yes. {NOTHING_DELETED}"

unasked = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.group(
    invoke_without_command=True,
    short_help="List archived sessions and their sizes; delete them.",
    epilog=examples(
        ("archive", "what takes how much space"),
        ("archive delete 3f9a", "delete one session"),
        ("archive prune --older-than 90d", "free space: delete old sessions"),
        ("archive expire 30d", "meet a retention rule: delete all that is older"),
    ),
)
@as_json
@click.pass_context
def archive(ctx: click.Context, as_json: bool) -> None:
    """List the archived sessions and the space they take. The commands below delete them."""
    if ctx.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError(
                f"Put --json after the subcommand: archive {ctx.invoked_subcommand} --json"
            )
        return
    workspace: Workspace = ctx.find_object(Options).workspace()  # pyright: ignore[reportOptionalMemberAccess]  # main makes it
    with working(MEASURING, MEASURING):
        record = _as_record(workspace)
    if as_json:
        write_json(record)
    else:
        show(*_as_text(record))


@archive.command(
    short_help="Delete a session and all its originals permanently.",
    epilog=examples(
        ("archive delete 3f9a", "ask, then delete"),
        ("archive delete 3f9a --yes", "delete without a question"),
    ),
)
@click.argument("session", shell_complete=completion.recorded)
@unasked
@as_json
@click.pass_obj
def delete(options: Options, session: str, yes: bool, as_json: bool) -> None:
    """Delete SESSION (its id, or the first four characters) and all its originals permanently."""
    conversations = options.conversations()
    kept = conversations.kept(session)
    try:
        store, id = conversations.workspace.store, conversations.session_named(session)
    except ConversationNotFound:
        if kept is None:
            raise
        _delete_kept(conversations.workspace, kept, yes=yes, as_json=as_json)
        return
    if id not in store.sessions():
        raise Refused(
            f"No session {session!r} is recorded. `context-compression archive` lists all."
        )
    refs, size = len(store.session(id).refs()), store.sizes([id])[id]
    with working("looking for sessions that refer to it"):
        others, unknown = _referring(store, id)
    held = f"{in_units(size)}, {how_many(refs, 'original')}"
    say(f"{id}: {held}. They cannot be restored afterwards.")
    if unknown:
        say(f"warning: which sessions refer to it is not known: {unknown}")
    if others:
        say(f"warning: refs of {id} in {', '.join(others)} will not work any more.")
    if not confirmed(f"Delete {id}?", yes, otherwise=ADD_YES):
        say(NOTHING_DELETED)
        return
    left = _objects_left(lambda: store.delete(id, timeout=0))
    remove_empty_index(store)
    if as_json:
        write_json({"deleted": [id], "bytes": size, "refs": refs, "referred_to_by": others})
    else:
        show(f"Deleted {id}, {in_units(size)}.")
    if kept:
        say(f"note: what is kept of {kept.host}'s session stays; to delete it, run this again.")
    _end(left)


def _delete_kept(workspace: Workspace, session: KeptSession, *, yes: bool, as_json: bool) -> None:
    """Delete all versions that are kept of a host's session."""
    kept = kept_in(workspace)
    versions = [each for each in kept.sessions() if (each.host, each.id) == _key(session)]
    say(f"{session.id}: kept of {session.host}, {in_units(kept.stored(versions))}.")
    found, _ = found_sessions(Conversations(workspace), [session.host])
    if not any(each.kept and each.kept.id == session.id for each in found) and kept.is_on:
        say(f"warning: {session.path} is still there, and the next look keeps it again.")
    if not confirmed(f"Delete what is kept of {session.id}?", yes, otherwise=ADD_YES):
        say(NOTHING_DELETED)
        return
    size = kept.delete(versions)
    if as_json:
        write_json({"deleted": [session.id], "bytes": size, "refs": 0, "referred_to_by": []})
    else:
        show(f"Deleted {session.id}, {in_units(size)}.")


def _key(session: KeptSession) -> tuple[str, str]:
    return session.host, session.id


def _old_kept(workspace: Workspace, seconds: float) -> list[KeptSession]:
    """What is kept of sessions that were last written before, unless this is a tenant's part."""
    if not may_keep(workspace) or workspace.part:
        return []
    before = time.time() - seconds
    return [each for each in kept_in(workspace).sessions() if each.written_at < before]


@archive.command(
    short_help="Free space: delete old sessions that no other one refers to.",
    epilog=examples(("archive prune --older-than 90d", "list what is old, ask, then delete")),
)
@click.option(
    "--older-than", required=True, metavar="90d", help="Time without a write: 12h, 90d, 8w."
)
@unasked
@as_json
@click.pass_obj
def prune(options: Options, older_than: str, yes: bool, as_json: bool) -> None:
    """Free space: delete old sessions, and files that interrupted work left behind.

    First list what would be deleted, then ask. A session that another one refers to is never
    deleted, nor is the session of the current conversation. `archive expire` deletes these, too.
    """
    seconds = seconds_in(older_than, "--older-than")
    workspace = options.workspace()
    store, keep = workspace.store, current(workspace)
    with working("looking for old sessions"):
        prunable, old = store.prunable(seconds, keep=keep), _old_kept(workspace, seconds)
        kept = kept_in(workspace)
        kept_bytes = kept.stored(old) if old else 0
    if listed := _listed(store, prunable):
        say(*listed)
    if old:
        say(*_listed_kept(kept, old))
    if prunable.left_over:
        files = how_many(len(prunable.left_over), "file")
        say(f"and {files} that interrupted work left behind")
    sessions = how_many(len(prunable.sessions), "session")
    deleted: list[str] | None = None
    left: ObjectsLeft | None = None
    size = in_units(prunable.bytes + kept_bytes)
    if old:
        own = f"{sessions} and " * bool(prunable.sessions)
        sessions = f"{own}{how_many(len({*map(_key, old)}), 'kept session')}"
    if not (prunable.sessions or prunable.left_over or old):
        say(f"Nothing is older than {older_than} and unused; nothing was deleted.")
    elif not confirmed(f"Delete {sessions}, {size}?", yes, otherwise=ADD_YES):
        say(NOTHING_DELETED)
    else:
        gone: list[str] = []
        left = _objects_left(lambda: gone.extend(store.prune(seconds, keep=keep).sessions))
        deleted = left.deleted if left else gone
        if old:
            kept.delete(old)
            kept.switch(since=time.time() - seconds)
    if as_json:
        write_json(
            {
                "kept_sessions": {
                    "would_go": [each.id for each in old],
                    "deleted": [each.id for each in old] if deleted is not None else [],
                    "bytes": kept_bytes,
                },
                "would_go": [*prunable.sessions],
                "deleted": deleted or [],
                "kept": dict(prunable.kept),
                "left_over": [str(path) for path in prunable.left_over],
                "bytes": prunable.bytes,
            }
        )
    elif deleted is not None:
        also = f" and {how_many(len({*map(_key, old)}), 'kept session')}" if old else ""
        show(f"Deleted {how_many(len(deleted), 'session')}{also}.")
    if deleted is not None and not left and (in_use := sorted({*prunable.sessions} - {*deleted})):
        say(f"warning: {', '.join(in_use)} in use, not deleted. Run prune again later.")
    _end(left)


@archive.command(
    short_help="Meet a retention rule: delete every session that is too old.",
    epilog=examples(
        ("archive expire 30d", "ask, then delete"),
        ("--tenant acme archive expire 30d --yes", "for one tenant, as a job that runs every day"),
    ),
)
@click.argument("age", metavar="AGE")
@unasked
@as_json
@click.pass_obj
def expire(options: Options, age: str, yes: bool, as_json: bool) -> None:
    """Meet a retention rule: delete each session without a write for AGE.

    AGE is a time such as 12h, 30d or 8w. Unlike `archive prune`, this also deletes sessions that
    others refer to, whose refs then restore nothing, and it does not list them first. It works for
    one tenant, so each can have a rule of its own. A session in which a process works at this
    moment is kept until the next time.
    """
    seconds = seconds_in(age, "AGE")
    store = options.workspace().store
    if not confirmed(
        f"Delete all in {store.name} that is older than {age}?", yes, otherwise=ADD_YES
    ):
        say(NOTHING_DELETED)
        return
    deleted: list[str] = []
    with working("deleting what is too old"):
        left = _objects_left(lambda: deleted.extend(store.expire(seconds)))
    deleted = left.deleted if left else deleted
    if as_json:
        write_json({"deleted": deleted})
    else:
        show(f"Deleted {how_many(len(deleted), 'session')}.")
    _end(left or _objects_left(store.backend.sweep))


def _referring(store: Store, id: str) -> tuple[list[str] | None, str]:
    """The sessions that refer to one; `None` if that is not known, and then why."""
    try:
        return referring(store, id), ""
    except StoreError as error:
        return None, str(error)


def _objects_left(delete: Callable[[], object]) -> ObjectsLeft | None:
    """Why a deletion left objects where they are; `None` if it did not."""
    try:
        delete()
    except ObjectsLeft as error:
        return error
    return None


def _end(left: ObjectsLeft | None) -> None:
    """End with the exit code of a problem if objects are left, and say what to do."""
    if left:
        say(f"warning: {left}")
        raise SystemExit(PROBLEM)


def current(workspace: Workspace) -> list[str]:
    """The id of the current conversation's session, if it is known; else an empty list."""
    with suppress(ContextCompressionError):
        return [Conversations(workspace).open(CURRENT).session.id]
    return []


def _as_record(workspace: Workspace) -> Record:
    """The archive, for programs; sizes in bytes."""
    store = workspace.store
    old = store.prunable(QUIET_DAYS * DAY, keep=current(workspace))
    ids = store.sessions()
    stats = store.backend.stats(ids)
    sessions: list[Record] = []
    for id in counted(MEASURING, ids):
        state = Session(store, id).state()
        sessions.append(
            {
                "session": id,
                "keeps": KEPT_IN.get(id.lower()),
                "host": state.origin.get("host"),
                "last_written": _written(store, id),
                "messages": len(state.view),
                "messages_recorded": len(state.recorded),
                "compressions": len(state.compressions),
                "originals": len(state.refs),
                "bytes": stats.sizes[id],
                "of_which_index": stats.shares.get(id, 0),
                "prunable": id in old.sessions,
            }
        )
    left = sum(path.lstat().st_size for path in old.left_over if path.exists())
    return {
        "store": store.name,
        "sessions": sessions,
        "bytes": sum(stats.sizes.values()) + left + stats.beside,
        "index_beside": stats.beside,
        "left_over": {"files": len(old.left_over), "bytes": left},
        "prunable": {"older_than_days": QUIET_DAYS, "sessions": [*old.sessions]},
    }


def _as_text(record: Record) -> Page:
    """The archive, for people."""
    notes = _notes(record)
    if not record["sessions"]:
        return [f"Nothing is archived in {record['store']}.", *notes]
    index = record["index_beside"] + sum(s["of_which_index"] for s in record["sessions"])
    count = how_many(len(record["sessions"]), "session")
    of_index = f", of which the search index has {in_units(index)}" if index else ""
    table = Table([HEAD, *map(_row, record["sessions"])], left=3, flexible=(0, 1), long=True)
    originals = how_many(sum(each["originals"] for each in record["sessions"]), "original")
    total = StyledLine(f"{count}, {originals}, {in_units(record['bytes'])}{of_index}", "strong")
    return [record["store"], total, "", table, *([""] if notes else []), *notes]


def _row(session: Record) -> tuple[str, ...]:
    """A session; a session of the package itself is described by its content."""
    held = f"{session['originals']:,}", in_units(session["bytes"])
    name, written = session["session"], when(session["last_written"])
    if session["keeps"]:
        return f"{name}: {session['keeps']}", "", written, "", *held
    return name, session["host"] or "", written, f"{session['messages']:,}", *held


def _notes(record: Record) -> list[str]:
    """What takes space besides the sessions, and what can be deleted."""
    lines: list[str] = []
    if index := record["index_beside"]:
        lines.append(f"{in_units(index)} of the search index belong to no single session")
    if left := record["left_over"]["files"]:
        size = in_units(record["left_over"]["bytes"])
        lines.append(f"{how_many(left, 'file')} left behind by interrupted work, {size}")
    if old := record["prunable"]["sessions"]:
        command = f"`context-compression archive prune --older-than {QUIET_DAYS}d`"
        lines.append(
            f"{how_many(len(old), 'session')} without a write for {QUIET_DAYS} days, and no other "
            f"session refers to them: {command} deletes them"
        )
    return lines


def in_units(size: int) -> str:
    """`in_units(2_345_678)` -> `"2.3 MB"`."""
    if size < 1000:
        return how_many(size, "byte")
    value, unit = size / 1000, 0
    while value >= 999.95 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {UNITS[unit]}"


def _written(store: Store, id: str) -> str | None:
    stamp = store.session(id).stamp()
    if stamp is None:
        return None
    return _time(stamp[1] / 1e9)


def _time(seconds: float) -> str:
    written = datetime.fromtimestamp(seconds, UTC)
    return written.isoformat(timespec="seconds").replace("+00:00", "Z")


def _listed_kept(kept: KeptSessions, old: Sequence[KeptSession]) -> list[Block]:
    rows = [
        (f"{each.id} ({each.host})", when(_time(each.written_at)), in_units(kept.stored([each])))
        for each in old
    ]
    return [Table([("kept session, of any project", "last written", "size"), *rows], left=2)]


def _listed(store: Store, prunable: Prunable) -> list[Block]:
    sizes = store.sizes(prunable.sessions)
    rows = [(id, when(_written(store, id)), in_units(size)) for id, size in sizes.items()]
    stay = [
        f"{id} stays, because {by} "
        + ("cannot be read and may contain" if by in prunable.unread else "contains")
        + " refs of it"
        for id, by in prunable.kept.items()
    ]
    head = ("to delete", "last written", "size")
    return [*([Table([head, *rows], left=2, flexible=(0,))] if rows else []), *stay]
