"""Answers to Claude Code's hooks.

    outputs.py      outputs of Claude Code's tools as text and back, and a view as the rows of its
                    hooks
    compaction.py   compactions of Claude Code: answered with our view, or prepared for the host's
                    own

PostToolUse        a large result becomes its preview
session.compact    function hook: our view replaces the conversation; if there is none, all of it is
                   archived, and the host is told what its summary must keep
PreCompact         the same where the host runs no function hooks
SessionStart       after that: a line for the user, and for the model, after a summary of the host,
                   the ledger and how to restore originals
"""

import json
from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import ToolCall, as_object, is_array, is_object
from context_compression.hosts.claude_code.about import NAME
from context_compression.hosts.claude_code.hooks.compaction import (
    afterwards,
    announced,
    compacted,
    recent_messages,
    where,
)
from context_compression.hosts.claude_code.hooks.outputs import is_content, output_of
from context_compression.session import Session
from context_compression.session.arrivals import AnsweredCall, offload_result
from context_compression.transcripts.lines import string
from context_compression.workspace import Workspace


def after_tool(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """The preview of a large tool result, as the host's answer; `{}` for other results."""
    tool, about = string(event, "tool_name"), where(workspace, event)
    response = _unpacked(tool, event.get("tool_response"))
    output = output_of(tool, response, about.results)
    if output is None:
        return {}
    lately = recent_messages(about.transcript)
    project = string(event, "cwd")
    origin = {"host": NAME, "model": lately.model, "used": lately.used, "project": project}
    settings, _ = workspace.settings_in(origin, workspace.settings())
    session = Session(
        workspace.store, about.id, settings=settings, model=lately.model, summarizer=None
    )
    given = as_object(_unpacked("", event.get("tool_input")))
    call = ToolCall(string(event, "tool_use_id"), tool, given)
    room = None if lately.used is None else max(0, settings.threshold_tokens - lately.used)
    answered = AnsweredCall(call, output.text, output.shown, lately.messages, room=room)
    kept = offload_result(session, answered)
    if kept is None:
        return {}
    output_for_host = {"hookEventName": "PostToolUse", "updatedToolOutput": output.becomes(kept)}
    return {"hookSpecificOutput": output_for_host}


def _unpacked(tool: str, value: Any) -> Any:
    """A value that the host wrote as a string, parsed: `mcp_tool` hooks write objects as JSON.

    The text of an MCP server's answer may itself be JSON; it then stays a text.
    """
    if not isinstance(value, str):
        return value
    try:
        unpacked: Any = json.loads(value)
    except ValueError:
        return value
    if tool.startswith("mcp__"):
        return unpacked if is_content(unpacked) else value
    return unpacked if is_object(unpacked) or is_array(unpacked) else value


ANSWERS = {
    "PostToolUse": after_tool,
    "session.compact": compacted,
    "PreCompact": announced,
    "SessionStart": afterwards,
}
