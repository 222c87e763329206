"""`export`: writes a conversation, compacted, as a new session that a host can resume."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import click

from context_compression.cli.app import Options, as_json
from context_compression.cli.compress import RequestedCompression, compression_options
from context_compression.cli.help import examples
from context_compression.cli.output import page_of
from context_compression.cli.page import StyledLine
from context_compression.cli.sessions import CONVERSATION
from context_compression.cli.terminal import say, show, write_json
from context_compression.conversation.system_prompt import summary_in
from context_compression.hosts.exporting import EXPORTERS, NewSession
from context_compression.hosts.exporting import export as write_session
from context_compression.plurals import how_many


@click.command(
    short_help="Write a conversation, compacted, as a new session of a host.",
    epilog=examples(
        ("export chat.jsonl --host claude-code", "a session that the host resumes"),
        ("export a1b2 --host codex --target-tokens 50k", "a recorded session, compressed further"),
    ),
)
@click.argument("conversation", type=CONVERSATION)
@click.option(
    "--host", required=True, type=click.Choice([*EXPORTERS]), help="The host that resumes it."
)
@compression_options
@as_json
@click.pass_obj
def export(
    options: Options, conversation: str, host: str, as_json: bool, **compression: Any
) -> None:
    """Write CONVERSATION, compacted, as a new session of a host; print the command to resume it.

    CONVERSATION is a transcript or a file of messages, which is never changed, the id of a session,
    or its number from `sessions`. A session is compressed only if --target-tokens is given. The new
    session belongs to this folder, whose store keeps the originals for context_restore.
    """
    requested = RequestedCompression.of(options, conversation, **compression)
    session, transcript = requested.opened.session, requested.opened.transcript
    if transcript or compression["target_tokens"] is not None:
        result, _ = requested.run()
        facts = requested.told(result).facts
        view, report, page = result.messages, facts.record, page_of(facts, requested.said)
    else:
        view, report = session.view(), {}
        page = [f"{session.id}: {how_many(len(view), 'message')}, not compressed further."]
    if summary := summary_in(session.system):  # the host has a system prompt of its own
        view = [{"role": "user", "content": summary}, *view]
    exported = write_session(
        view,
        host,
        NewSession(
            session_id=str(uuid4()),
            project=requested.workspace.cwd.resolve(),
            created=datetime.now(UTC),
            model=transcript.model if transcript else None,
        ),
        written_by=transcript.host if transcript else None,
        home=requested.workspace.home,
        environ=requested.workspace.environ,
    )
    if as_json:
        write_json(
            {
                "host": host,
                "session": exported.session_id,
                "path": str(exported.path),
                "command": exported.command,
                "left_out": list(exported.notes),
                "account": report,
            }
        )
        return
    say(*page, *exported.notes, "", "Written to:", StyledLine(str(exported.path), "command"))
    say("", "To resume it, run:")
    show(StyledLine(exported.command, "command"))
