"""Answers to Codex's hooks, in its own JSON. Seen in version 0.169.0.

PostToolUse    a large result becomes its preview, as the reason of a block, which the model sees
PreCompact     the complete conversation is archived before Codex summarises it
SessionStart   after a compaction: the ledger, and how to restore originals
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from context_compression.conversation.messages import ToolCall, as_object, objects
from context_compression.hooks.host_compaction import answer_after_compaction, archive_all
from context_compression.hooks.requests import session_of
from context_compression.hosts.codex import transcript as rollouts
from context_compression.hosts.codex.about import NAME, TITLE, sessions_folder
from context_compression.session.arrivals import AnsweredCall, offload_result
from context_compression.threads import in_thread
from context_compression.transcripts.lines import string
from context_compression.transcripts.reading import FileReading, Writers
from context_compression.transcripts.stages import contexts_of
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace


async def answer(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """The answer to an event; `{}` changes nothing."""
    match string(event, "hook_event_name"):
        case "PostToolUse":
            return await in_thread(partial(_after_tool, workspace, event))
        case "PreCompact":
            return await in_thread(partial(_archived, workspace, event))
        case "SessionStart" if event.get("source") == "compact":
            return await in_thread(partial(_after_compaction, workspace, event))
        case _:
            return {}


def _after_tool(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    text = _shown(event.get("tool_response"))
    if text is None:
        return {}
    given = event.get("tool_input")
    call = ToolCall(string(event, "tool_use_id"), string(event, "tool_name"), given)
    kept = offload_result(
        session_of(workspace, event, NAME), AnsweredCall(call, text, is_final=True)
    )
    return {} if kept is None else {"decision": "block", "reason": kept}


def _after_compaction(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    id = folder_name(string(event, "session_id"))

    def elsewhere() -> Sequence[str]:
        reading = _reading(workspace, event)
        return reading.look().missing if reading else ()

    return answer_after_compaction(workspace, id, TITLE, elsewhere)


def _reading(workspace: Workspace, event: Mapping[str, Any]) -> FileReading | None:
    """The reading of the transcript that an event names, if it is Codex's own."""
    sessions = sessions_folder(workspace.environ, workspace.home)
    path = workspace.access.named_by_hook(string(event, "transcript_path"), sessions)
    return FileReading(path, Writers((rollouts,)), whole=True) if path else None


def _archived(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Archive the conversation while the transcript still has it. Codex takes no instructions.

    The user sees what of it is in no file, and so is not archived.
    """
    reading = _reading(workspace, event)
    if reading is None:
        return {}
    contexts = contexts_of(reading)
    archive_all(workspace.of(contexts[-1]).session, contexts)
    missing = " ".join(contexts[-1].missing)
    return {"systemMessage": f"archived, but not all of it: {missing}"} if missing else {}


def _shown(response: Any) -> str | None:
    """The text of a tool's answer that the model would see; `None` if it is not only text."""
    if isinstance(response, str):
        return response
    parts = objects(as_object(response).get("content"))
    if any(part.get("type") != "text" for part in parts):
        return None
    structure = as_object(response).get("structuredContent")
    if structure is not None:
        return json.dumps(structure, ensure_ascii=False)
    return "\n".join(string(part, "text") for part in parts) or None
