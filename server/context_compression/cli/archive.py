"""`archive`: what is kept and how much room it takes; `archive delete` and `archive prune`."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import click

from context_compression.cli.app import Options, Refused, as_json
from context_compression.cli.arguments import seconds_in
from context_compression.cli.pages import table
from context_compression.cli.records import Record
from context_compression.cli.terminal import agreed, say, show, working, write_json
from context_compression.display.plurals import how_many
from context_compression.doors.conversations import CURRENT, Conversations
from context_compression.errors import ContextCompressionError
from context_compression.session import Session
from context_compression.store import Store
from context_compression.workspace import Workspace
from context_compression.workspace.own_sessions import KEPT_IN

QUIET_DAYS = 90
"""What was not written to for so long is told to be prunable."""
DAY = 86_400
UNITS = ("KB", "MB", "GB")
HEAD = ("session", "host", "last written", "messages", "recorded", "compressions", "size", "index")
NOTHING_DELETED = "Nothing was deleted."
UNASKED = f"add --yes. {NOTHING_DELETED}"

unasked = click.option("--yes", is_flag=True, help="Without being asked.")


@click.group(
    invoke_without_command=True, short_help="What is archived, its size, and how to delete it."
)
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
        show(page(found))


@archive.command(short_help="Delete a session with all its originals, for good.")
@click.argument("session")
@unasked
@as_json
@click.pass_obj
def delete(options: Options, session: str, yes: bool, as_json: bool) -> None:
    """Delete SESSION (its id, or the first characters) with all its originals, for good."""
    from context_compression.store import disk_usage, pruning

    conversations = options.conversations()
    store, id = conversations.workspace.store, conversations.session_named(session)
    if id not in store.sessions():
        raise Refused(f"No session {session!r} is recorded.")
    refs, size = len(store.session(id).refs()), disk_usage.sizes(store, [id])[id]
    with working("looking for what refers to it"):
        others = pruning.referring(store, id)
    say(f"{id}: {in_units(size)}, {how_many(refs, 'ref')} that nothing will bring back.")
    if others:
        say(f"warning: refs of it stand in {', '.join(others)}; they will lead nowhere.")
    if not agreed(f"Delete {id}?", yes, nobody=UNASKED):
        say(NOTHING_DELETED)
        return
    store.delete(id, timeout=0)
    pruning.remove_empty_index(store)
    if as_json:
        write_json({"deleted": [id], "bytes": size, "refs": refs, "referred_to_by": others})
    else:
        show(f"Deleted {id}, {in_units(size)}.")


@archive.command()
@click.option("--older-than", required=True, metavar="90d", help="Not written to for: h, d, w.")
@unasked
@as_json
@click.pass_obj
def prune(options: Options, older_than: str, yes: bool, as_json: bool) -> None:
    """Delete old sessions and what killed work left behind.

    It says first what would go. What a session that stays refers to is never deleted, nor the
    session of the conversation that runs now.
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
    asked = f"Delete {how_many(len(found.sessions), 'session')}, {in_units(found.bytes)}?"
    gone: tuple[str, ...] | None = None
    if not (found.sessions or found.left_over):
        say(f"Nothing is older than {older_than} and unused; nothing was deleted.")
    elif not agreed(asked, yes, nobody=UNASKED):
        say(NOTHING_DELETED)
    else:
        gone = store.prune(seconds, keep=keep).sessions
    if as_json:
        write_json(_pruned(found, gone or ()))
    elif gone is not None:
        show(f"Deleted {how_many(len(gone), 'session')}.")
    if gone is not None and (stayed := sorted({*found.sessions} - {*gone})):
        say(f"warning: somebody works in {', '.join(stayed)}; not deleted. Prune again later.")


def current(workspace: Workspace) -> list[str]:
    """The session of the conversation that runs now, where that is known."""
    with suppress(ContextCompressionError):
        return [Conversations(workspace).open(CURRENT).session.id]
    return []


def record(workspace: Workspace) -> Record:
    """What is kept, for programs; sizes in bytes."""
    from context_compression.store import disk_usage

    store = workspace.store
    old = store.prunable(QUIET_DAYS * DAY, keep=current(workspace))
    ids, shares = store.sessions(), disk_usage.index_shares(store)
    sizes = disk_usage.sizes(store, ids)
    sessions: list[Record] = []
    for id in ids:
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
                "bytes": sizes[id],
                "of_which_index": shares.get(id, 0),
                "prunable": id in old.sessions,
            }
        )
    left = sum(path.lstat().st_size for path in old.left_over if path.exists())
    index = disk_usage.unassigned_index_bytes(store)
    return {
        "store": str(store.folder),
        "sessions": sessions,
        "bytes": sum(sizes.values()) + left + index,
        "index_beside": index,
        "left_over": {"files": len(old.left_over), "bytes": left},
        "prunable": {"older_than_days": QUIET_DAYS, "sessions": [*old.sessions]},
    }


def page(found: Record) -> str:
    """The same for people."""
    beside = _beside(found)
    if not found["sessions"]:
        return "\n".join([f"Nothing is archived in {found['store']}.", *beside])
    index = found["index_beside"] + sum(s["of_which_index"] for s in found["sessions"])
    total = ("total", *[""] * 5, in_units(found["bytes"]), in_units(index))
    rows = [HEAD, *map(_row, found["sessions"]), total]
    return "\n".join([found["store"], "", *table(rows, left=3), *([""] if beside else []), *beside])


def _row(about: Record) -> tuple[str, ...]:
    """A session; of one of ours, which is no conversation, what it keeps."""
    sizes = in_units(about["bytes"]), in_units(about["of_which_index"])
    name, written = about["session"], about["last_written"] or "?"
    if about["keeps"]:
        return f"{name}: {about['keeps']}", "", written, "", "", "", *sizes
    counts = (f"{about[n]:,}" for n in ("messages", "messages_recorded", "compressions"))
    return name, about["host"] or "", written, *counts, *sizes


def _beside(found: Record) -> list[str]:
    """What takes room beside the sessions, and what could go."""
    lines: list[str] = []
    if index := found["index_beside"]:
        lines.append(f"{in_units(index)} of the search index, counted to no session")
    if left := found["left_over"]["files"]:
        size = in_units(found["left_over"]["bytes"])
        lines.append(f"{how_many(left, 'file')} left behind by killed work, {size}")
    if old := found["prunable"]["sessions"]:
        lines.append(
            f"{how_many(len(old), 'session')} not written to for {QUIET_DAYS} days and referred to "
            f"by none: `archive prune --older-than {QUIET_DAYS}d` deletes them"
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
    stamp = store.session(id).stamp
    if stamp is None:
        return None
    time = datetime.fromtimestamp(stamp[1] / 1e9, UTC)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def _listed(store: Store, going: tuple[str, ...], kept: Mapping[str, str]) -> list[str]:
    from context_compression.store import disk_usage

    sizes = disk_usage.sizes(store, going)
    rows = [(id, _written(store, id) or "?", in_units(size)) for id, size in sizes.items()]
    stay = [f"{id} stays: refs of it stand in {by}" for id, by in kept.items()]
    return [*table([("would go", "last written", "size"), *rows] if rows else [], left=2), *stay]


def _pruned(found: Any, gone: Any) -> Record:
    return {
        "would_go": [*found.sessions],
        "deleted": [*gone],
        "kept": dict(found.kept),
        "left_over": [str(path) for path in found.left_over],
        "bytes": found.bytes,
    }
