"""What became of the history, and how an agent continues; both depend on who keeps the history."""

from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.compression.result import Result
from context_compression.display.plurals import how_many
from context_compression.session.following import new_events
from context_compression.workspace import Opened


def of_host(opened: Opened) -> bool:
    """Whether a host keeps the conversation, in a history that only the host can change."""
    return opened.transcript is not None and opened.transcript.host != "messages"


def history_kept(opened: Opened) -> str:
    """A sentence for every answer about a transcript: no tool changes it. "" without one."""
    if opened.transcript is None:
        return ""
    if of_host(opened):
        return "The host's own history is unchanged, because a tool cannot change it."
    return "The file is unchanged."


def replaced_compressions(opened: Opened, history: Sequence[Mapping[str, Any]] | None) -> int:
    """How many earlier compressions a new one replaces, because it begins with the full history.

    A caller that passes the compacted context continues with it, and none is replaced.
    """
    state = opened.session.state()
    if history is None or not state.compressions:
        return 0
    return sum(event["type"] == "undo" for event in new_events(state, history, from_start=True))


def next_steps(opened: Opened, result: Result, *, messages_passed: bool, replaced: int) -> str:
    """Whether the history itself changed, and how the agent or the user continues.

    Args:
        opened: the conversation.
        result: the result of its compression, which changed it.
        messages_passed: whether the caller passed the messages.
        replaced: how many earlier compressions it replaces.
    """
    session = opened.session
    earlier = f" It replaces that of {how_many(replaced, 'earlier compression')}." * bool(replaced)
    if messages_passed:
        return (
            "The compacted context is in the structured content, under messages (and system, where "
            f"present).{earlier}"
        )
    if opened.transcript is None:
        return "The session continues with the compacted context; undo takes the compression back."
    kept = (
        f"{history_kept(opened)} The compacted context is kept in session {session.id} of "
        f"{session.store.name}.{earlier}"
    )
    export = f"`context-compression export {session.id} --host HOST`"
    if not of_host(opened):
        return (
            f"{kept} The command {export} writes it as a session for Claude Code, Codex or Pi; "
            "`context-compression compress FILE --output NEW_FILE`, with the same options, writes "
            "it as messages."
        )
    way = (
        "start a new chat, in which context_summary and context_restore bring back what is needed"
        if result.summary
        else f"run the command {export}, which writes it as a session for Claude Code, Codex or Pi "
        "to resume, in which context_restore brings back the rest"
    )
    return (
        f"{kept} To use it, {way}; or use the host's own /compact or /clear, after which every ref "
        "here can still be restored."
    )


def unchanged_note(opened: Opened, *, messages_passed: bool) -> str:
    """What is true where nothing was compressed, or only in a dry run."""
    if messages_passed:
        return "The messages stay as you passed them, so they are not repeated here."
    kept = opened.session.id if opened.transcript and opened.session.state().compressions else ""
    stays = f" The compacted context that an earlier call kept in session {kept} stays." * bool(
        kept
    )
    return f"{history_kept(opened)}{stays}"
