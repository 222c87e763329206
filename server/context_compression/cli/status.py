"""`status`: how full a conversation's context is, and what fills it."""

from contextlib import suppress

import click

from context_compression.cli import output
from context_compression.cli.app import Options, as_json
from context_compression.cli.help import examples
from context_compression.cli.sessions import CONVERSATION
from context_compression.cli.terminal import say, show, working, write_json
from context_compression.errors import ContextCompressionError
from context_compression.hosts.conversations import CURRENT, Conversations
from context_compression.progress import COUNTING, READING
from context_compression.report.facts import status_facts
from context_compression.strings import one_line
from context_compression.workspace import Opened, Workspace
from context_compression.workspace.opened import KEPT_IN


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
    if as_json:
        write_json(status_facts(workspace, opened, status, detailed=detailed).record)
    else:
        show(*output.status(workspace, opened, status, detailed=detailed))


def _show_own_session(opened: Opened, as_json: bool) -> None:
    """Shows what is kept in a session of this package, which is no conversation."""
    refs = {ref: about["what"] for ref, about in opened.session.state().refs.items()}
    if as_json:
        write_json({"session": opened.session.id, "refs_total": len(refs), "newest_refs": refs})
    else:
        show(*output.own_session(opened.session.id, refs))


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
    recorded = output.recorded(store, store.sessions())
    if as_json:
        write_json({"store": store.name, "sessions": recorded})
    else:
        show(*output.sessions(store.name, recorded))
