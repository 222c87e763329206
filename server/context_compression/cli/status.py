"""`status`: how full a conversation's context is; `summaries`: what was summarized in the past."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import Any

import click

from context_compression.cli import completion
from context_compression.cli.app import Options, as_json, examples
from context_compression.cli.output import page_of, when
from context_compression.cli.page import Block, Gauge, Page, Style, StyledLine, Table
from context_compression.cli.sessions import CONVERSATION
from context_compression.cli.terminal import is_terminal, say, show, working, write_json
from context_compression.errors import ContextCompressionError
from context_compression.hosts.conversations import CURRENT, Conversations
from context_compression.hosts.listing import is_side_call
from context_compression.listening import COUNTING, READING
from context_compression.plurals import how_many
from context_compression.report.facts import Facts, Record, status_facts
from context_compression.session import Session, Status
from context_compression.session.pages import beginning
from context_compression.store import Store
from context_compression.strings import fenced, one_line
from context_compression.tokens import Counter
from context_compression.workspace import Opened, Workspace
from context_compression.workspace.opened import KEPT_IN

LISTED = 8  # refs
MAKES_ROOM = "This makes room; the archive keeps the originals:"
WOULD_REMOVE = "This says what a compaction would remove:"
UNSENT = "not sent yet"
SHOWN = 2_000  # characters of a summary
SHOWN_ON_SCREEN = 600
"""How many characters of each summary a terminal shows if there are several."""


@click.command(
    short_help="Show how full a conversation's context is.",
    epilog=examples(
        ("status chat.jsonl", "how full its context is, and what fills it"),
        ("status 3", "the third session that `sessions` listed"),
        ("status", "the current conversation, or else the recorded sessions"),
        ("status current --json", "the running conversation, for programs"),
    ),
)
@click.argument("conversation", required=False, type=CONVERSATION)
@click.option(
    "--model", metavar="MODEL", help="The conversation's model, for token counts and window size."
)
@click.option("--detailed", is_flag=True, help="Name more blocks and refs, and all settings.")
@as_json
@click.pass_obj
def status(
    options: Options, conversation: str | None, model: str | None, detailed: bool, as_json: bool
) -> None:
    """Show how full the context of CONVERSATION is, and what fills it.

    CONVERSATION is a transcript, a file of messages, the id of a session, or its number from
    `sessions`. Without it, show the conversation in which an agent's host runs this command; if
    none does, list the recorded sessions.
    """
    conversations = options.conversations(*filter(None, [conversation]))
    with working(READING, READING):
        opened = _opened(conversations, conversation, model)
    if opened is None:
        _list_recorded(conversations.workspace, as_json)
        return
    if opened.session.id in KEPT_IN:
        _show_own_session(opened, as_json)
        return
    with working(COUNTING, COUNTING):
        status = opened.session.status(opened.shown, opened.anchor)
    workspace = conversations.workspace
    call = next_command(workspace, opened, status)
    facts = status_facts(workspace, opened, status, detailed=detailed, next_call=call)
    if as_json:
        write_json(facts.record)
    else:
        show(*status_page(facts, status))


def next_command(workspace: Workspace, opened: Opened, status: Status) -> str:
    """The command that makes room, or says what it would make; it names the file, if there is one.

    So it is the same however the conversation was named.
    """
    name = opened.session.id
    if opened.transcript is not None:
        path = opened.transcript.path
        inside = path.is_relative_to(workspace.cwd)
        name = str(path.relative_to(workspace.cwd) if inside else path)
    command = f"context-compression compress {quote(name)}"
    return command if status.due.now else f"{command} --dry-run"


def _show_own_session(opened: Opened, as_json: bool) -> None:
    """Shows what is kept in a session of this package, which is no conversation."""
    refs = {ref: about["what"] for ref, about in opened.session.state().refs.items()}
    if as_json:
        write_json({"session": opened.session.id, "refs_total": len(refs), "newest_refs": refs})
    else:
        show(*own_session_page(opened.session.id, refs))


def _opened(
    conversations: Conversations, conversation: str | None, model: str | None
) -> Opened | None:
    """The conversation; without a name the current one, or `None` if it is not certain."""
    if conversation is not None:
        return conversations.open(conversation, model=model, of_host=True)
    with suppress(ContextCompressionError):
        opened = conversations.open(CURRENT, model=model)
        say("The current conversation. `context-compression sessions` lists all.")
        return opened
    return None


def _list_recorded(workspace: Workspace, as_json: bool) -> None:
    for doubt in workspace.doubts():
        say(f"warning: {one_line(doubt)}")
    store = workspace.store
    records = recorded(store, [id for id in store.sessions() if not is_side_call(id, store)])
    if as_json:
        write_json({"store": store.name, "sessions": records})
    else:
        show(*sessions_page(store.name, records))


def status_page(facts: Facts, status: Status) -> Page:
    """How full the context of a conversation is, what fills it, and the next command."""
    named = [name for name in facts.told or () if name != "next_call"]
    head, _, *rest = page_of(facts._replace(told=named))
    does = MAKES_ROOM if status.due.now else WOULD_REMOVE
    command = StyledLine(str(facts.more["next_call"]), "command")
    gauge = Gauge(status.usage.usage_percent, _fullness(status))
    return [head, gauge, *rest, "", does, command]


def _fullness(status: Status) -> Style:
    """The colour of the gauge: red if a compression is due, yellow if half of the way is gone."""
    usage = status.usage
    if status.due.now:
        return "bad"
    return "warning" if usage.used_tokens * 2 > usage.threshold_tokens else "good"


def own_session_page(id: str, refs: Mapping[str, str]) -> Page:
    """What is kept in a session of this package, which is no conversation."""
    return [f"{id} is no conversation: {KEPT_IN[id]} are kept in it", "", _newest(refs)]


def _newest(refs: Mapping[str, str]) -> Table:
    head = ("newest refs", f"of {len(refs)}")
    return Table([head, *list(refs.items())[-LISTED:]], left=2)


def recorded(store: Store, ids: Sequence[str]) -> list[Record]:
    """An overview of each session."""
    records: list[Record] = []
    for id in ids:
        events = store.session(id).events().items
        state = Session(store, id).state()
        savings = state.tally.savings(state.freed, Counter().text)
        records.append(
            {
                "session": id,
                "last_written": events[-1].get("created_at") if events else None,
                "messages": len(state.view),
                "messages_recorded": len(state.recorded),
                "compressions": len(state.compressions),
                "tokens_saved_net": savings.net,
                "unsent": savings.unsent,
            }
        )
    return records


def sessions_page(store: str, records: Sequence[Record]) -> Page:
    """The recorded sessions, as a table."""
    if not records:
        return [
            f"Nothing is recorded in {store} yet.",
            "`context-compression status FILE` shows how full a transcript is; "
            "`context-compression compress FILE` compacts it.",
        ]
    rows = [
        (
            str(about["session"]),
            when(about["last_written"]),
            f"{about['messages']:,} of {about['messages_recorded']:,}",
            f"{about['compressions']:,}",
            UNSENT if about["unsent"] else f"{about['tokens_saved_net']:,}",
        )
        for about in records
    ]
    head = ("session", "last written", "messages", "compressions", "tokens saved")
    table = Table([head, *rows], left=2, flexible=(0,), long=True)
    return [store, "", table, "`context-compression status SESSION` shows how full one is"]


@click.command(
    epilog=examples(
        ("summaries", "the newest five"),
        ("summaries --limit 1 --session 3f9a", "the newest of one session"),
    )
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
    shell_complete=completion.recorded,
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
        most = SHOWN_ON_SCREEN if limit > 1 and is_terminal(sys.stdout) else SHOWN
        show(*summaries_page(entries, most))


def summaries_page(entries: Iterable[Mapping[str, Any]], most: int = SHOWN) -> Page:
    """Past summaries, each quoted under its time, session and strategy; cut at a line."""
    parts: list[Block] = []
    for entry in entries:
        text = str(entry.get("content", ""))
        shown = beginning(text, most).text
        more = len(text) - len(shown)
        rest = f"\n… {how_many(more, 'more character')}; --json shows them" if more > 0 else ""
        about = (("created_at", "?"), ("session", "?"), ("strategy", "summary"))
        heading = "  ".join(one_line(entry.get(name, unknown)) for name, unknown in about)
        tokens = entry.get("tokens")
        size = how_many(tokens if isinstance(tokens, int) else 0, "token")
        parts += [*([""] if parts else []), StyledLine(f"── {heading}  {size}", "strong")]
        parts.append(f"{fenced(shown)}{rest}")
    return parts or ["There are no summaries yet."]
