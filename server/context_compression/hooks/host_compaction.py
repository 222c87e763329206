"""Our work before and after a compaction that a host does itself."""

from typing import Any

from context_compression.compression.request import SMALLEST_TARGET
from context_compression.display.fences import fenced
from context_compression.display.plurals import exact_number, how_many, short_number
from context_compression.display.strings import one_line
from context_compression.evidence.ledger import render
from context_compression.session import Session
from context_compression.session.log_events import origin_of
from context_compression.session.receipts import archive_of
from context_compression.session.state import State
from context_compression.tokens import Counter
from context_compression.transcripts.transcript import Transcript
from context_compression.workspace import Workspace

LEDGER_TOKENS = 1_500  # tokens of the ledger in the message after a compaction
REFS = 12  # how many refs that message lists, the newest ones

INSTRUCTIONS = """\
Keep word for word: what the user asked for and ruled out, names of files and of what was changed \
in them, commands with their results, errors that are still open, decisions with their reasons.
Keep refs: a line like [Bash: 9,034 tokens, …; ref 0123456789ab; …] stands for an output that is \
archived, and context_restore brings it back by its ref. Name each ref that later work may need, \
with what is behind it.
The conversation up to here is archived, so leave whole files and outputs out."""
"""Instructions for the model that writes the host's summary."""


def archive_all(session: Session, transcript: Transcript) -> None:
    """Archive a complete conversation before the host shortens its history.

    The conversation is compressed as far as possible, and the compression is undone at once. The
    archived originals stay.
    """
    state = session.state()
    was_archived = state.numbers > {0} and not state.compressions
    if not transcript.messages or (was_archived and state.recorded == transcript.messages):
        return  # the host announces some compactions twice
    given = transcript.messages
    result = session.compress(messages=given, strategy="extract", target_tokens=SMALLEST_TARGET)
    if result.changed:
        session.undo()


def answer_after_compaction(workspace: Workspace, id: str, host: str) -> dict[str, Any]:
    """The answer to a `SessionStart` event after a compaction, with a line that the user sees.

    `message_after_compaction` is for the model. `{}` if nothing is archived. Claude Code, Codex and
    Gemini CLI take the same answer.

    Args:
        workspace: the workspace with the store.
        id: the id of our session for this conversation.
        host: what people call the host.
    """
    line, text = line_after_compaction(workspace, id, host), message_after_compaction(workspace, id)
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return ({"systemMessage": line} if line else {}) | (
        {"hookSpecificOutput": output} if text else {}
    )


def line_after_compaction(workspace: Workspace, id: str, host: str) -> str | None:
    """`156K -> 38K tokens, 184 items restorable`; `None` if nothing is archived.

    There are no sizes if the host wrote its own summary. A size that the user named and that was
    not reached is told, with the reason.
    """
    state = Session(workspace.store, id).state()
    restorable = f"{how_many(len(state.refs), 'item')} restorable"
    if not state.refs:
        return None
    if not _is_ours(state):
        return f"what this summary replaces is archived, {restorable}"
    newest, origin = state.compressions[-1], origin_of(state.compressions[-1])
    beside = origin.get("beside", 0)
    before, after = (newest[f"tokens_{at}"] + beside for at in ("before", "after"))
    line = f"{short_number(before)} -> {short_number(after)} tokens, {restorable}"
    asked = origin.get("asked")
    return f"{line}; {_why_not(asked, after, beside, host)}" if asked and after > asked else line


def _why_not(asked: int, after: int, beside: int, host: str) -> str:
    """Why a size that the user named was not reached: `30K could not be reached: …`."""
    why = f"{host} itself adds {exact_number(beside)}"
    if after - beside > beside:
        why = f"goal, rules and newest results take {exact_number(after - beside)}"
    return f"{exact_number(asked)} could not be reached: {why}"


def message_after_compaction(workspace: Workspace, id: str) -> str | None:
    """The message to add to a history that the host has compacted, with the ledger and refs.

    `None` if our own compression is in effect, or if nothing is archived.

    Args:
        workspace: the workspace with the store.
        id: the id of our session for this conversation.
    """
    session = Session(workspace.store, id)
    log, state = workspace.store.session(id), session.state()
    if _is_ours(state) or not state.refs:
        return None
    known = archive_of(session.store, log, state).ledger
    ledger = render(known, LEDGER_TOKENS, measure=Counter().text)
    texts = [ref for ref, about in state.refs.items() if about.get("text") or about["block"]]
    return "\n".join(
        [
            f"All that this compaction removed is archived ({how_many(len(state.refs), 'ref')}). "
            "context_restore(ref=…) brings an original back; context_restore(query=…) searches.",
            *([fenced(ledger)] if ledger else []),
            "The newest texts:",
            *(f"- {ref}: {one_line(state.refs[ref]['what'])}" for ref in texts[: -REFS - 1 : -1]),
        ]
    )


def _is_ours(state: State) -> bool:
    """Whether our view answered the newest compaction; `archive_all` undoes its compression."""
    return bool(state.compressions) and state.compressions[-1]["n"] == max(state.numbers)
