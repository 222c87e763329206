"""The next steps of an agent with a compacted context; they depend on who keeps the history."""

from context_compression.compression.result import Result
from context_compression.workspace import Opened


def next_steps(opened: Opened, result: Result, *, messages_passed: bool) -> str:
    """Whether the history itself changed, and how the agent or the user continues.

    Args:
        opened: the conversation.
        result: the result of its compression.
        messages_passed: whether the caller passed the messages.
    """
    session = opened.session
    if messages_passed:
        return (
            "The compacted context is in the structured content, under messages (and system, where "
            "present)."
        )
    if opened.transcript is None:
        return "The session continues with the compacted context; undo takes the compression back."
    kept = f"The compacted context is kept in session {session.id} of {session.store.folder}."
    export = f"`context-compression export {session.id} --host HOST`"
    if opened.transcript.host == "messages":
        return (
            f"The file is unchanged. {kept} The command {export} writes it as a session for Claude "
            "Code, Codex or Pi; `context-compression compress FILE --output NEW_FILE`, with the "
            "same options, writes it as messages."
        )
    way = (
        "start a new chat, in which context_summary and context_restore bring back what is needed"
        if result.summary
        else f"run the command {export}, which writes it as a session for Claude Code, Codex or Pi "
        "to resume, in which context_restore brings back the rest"
    )
    return (
        f"The host's own history is unchanged, because a tool cannot change it. {kept} To use it, "
        f"{way}; or use the host's own /compact or /clear, after which every ref here can still be "
        "restored."
    )
