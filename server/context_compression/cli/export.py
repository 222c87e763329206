"""`export`: a conversation, compressed, as a new session that a host itself resumes."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import click

from context_compression.cli import pages, records
from context_compression.cli.app import Options, as_json
from context_compression.cli.asked import Asked, asked_how
from context_compression.cli.terminal import say, show, write_json
from context_compression.conversation.system_prompt import summary_in
from context_compression.display.plurals import how_many
from context_compression.hosts.exporting import EXPORTERS, NewSession
from context_compression.hosts.exporting import export as write_session


@click.command()
@click.argument("conversation")
@click.option("--host", required=True, type=click.Choice([*EXPORTERS]), help="Who shall resume it.")
@asked_how
@as_json
@click.pass_obj
def export(options: Options, conversation: str, host: str, as_json: bool, **how: Any) -> None:
    """Write CONVERSATION, compressed, as a new session that a host resumes; print how.

    CONVERSATION is a transcript or a file of messages, which is never changed, or a session's id:
    that one is written as it stands, unless a target is given. The new session belongs to this
    folder, whose store keeps the originals for context_restore.
    """
    asked = Asked.of(options, conversation, **how)
    session, transcript = asked.opened.session, asked.opened.transcript
    if transcript or how["target_tokens"] is not None:
        result, _ = asked.compress()
        view, account = result.messages, records.account(result)
        page = pages.account(result, restorable=True)
    else:
        view, account = session.view(), {}
        page = f"{session.id} as it stands: {how_many(len(session.view()), 'message')}."
    if summary := summary_in(session.system):  # the host has a system prompt of its own
        view = [{"role": "user", "content": summary}, *view]
    exported = write_session(
        view,
        host,
        NewSession(
            session_id=str(uuid4()),
            project=asked.workspace.cwd.resolve(),
            created=datetime.now(UTC),
            model=transcript.model if transcript else None,
        ),
        written_by=transcript.host if transcript else None,
        home=asked.workspace.home,
        environ=asked.workspace.environ,
    )
    if as_json:
        told = {"host": host, "session": exported.session_id, "path": str(exported.path)}
        notes = list(exported.notes)
        write_json({**told, "command": exported.command, "left_out": notes, "account": account})
        return
    say("\n".join([page, *exported.notes, f"written  {exported.path}", "", "Go on with:"]))
    show(exported.command)
