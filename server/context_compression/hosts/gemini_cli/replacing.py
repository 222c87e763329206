"""How a preview replaces a tool result in Gemini CLI. Seen in version 0.61.0.

A denial replaces a result, but marks it as an error: the model gets `{"error": …}`, and the user is
shown an error, or nothing. So the hook requests another call in its place, a `tailToolCallRequest`:
`read_file` reads the preview. Then the model gets `{"output": …}`, as an answer to its own call.

If that call fails, the model gets its error and no preview. So it is requested only where nothing
suggests that `read_file` is missing or refused; elsewhere the preview is the reason of a denial.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object
from context_compression.hosts.gemini_cli.about import settings_folder
from context_compression.setup.config_values import json_in, names_of
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

READER = "read_file"
WITH_READER = (
    "glob", "google_web_search", "grep_search", "list_directory", "mcp_*", "read_file",
    "read_many_files", "run_shell_command", "search_file_content", "web_fetch",
)  # fmt: skip
"""Tools of agents that have `read_file` too. The host's own agents with other tools may lack it."""
MAX_LINES = 2_000
MAX_LINE = 2_000  # characters; `read_file` cuts a longer text or line
DEPTH = 3  # folders above a transcript, at least: …/<project>/chats/session-….json
TITLE = re.compile(r"\[([^\n]{1,300}?); ref ")


def answer_with(preview: str, workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to an `AfterTool` event that shows the model a preview instead of the result."""
    denial = {"decision": "deny", "reason": preview}
    if not _has_reader(workspace, event) or not _is_read_whole(preview):
        return denial
    path = _path(preview, event)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(preview, encoding="utf-8", errors="replace", newline="")
    except OSError:
        return denial
    request = {"name": READER, "args": {"file_path": str(path)}}
    output = {"hookEventName": "AfterTool", "tailToolCallRequest": request}
    title = TITLE.search(preview)
    archived = f"Archived {title[1]}." if title else "Archived a tool result."
    return {
        "systemMessage": f"{archived} The model sees a preview.",
        "hookSpecificOutput": output,
    }


def _path(preview: str, event: Mapping[str, Any]) -> Path:
    """A file in the host's own folder for results, which it removes together with the session."""
    folder = Path(string(event, "transcript_path")).parent.parent / "tool-outputs"
    session = folder_name(string(event, "session_id"))
    digest = sha256(preview.encode("utf-8", "replace")).hexdigest()[:12]
    name = folder_name(f"{string(event, 'tool_name')}-{digest}")
    return folder / f"session-{session}" / f"{name}.txt"


def _is_read_whole(preview: str) -> bool:
    lines = preview.split("\n")
    return len(lines) <= MAX_LINES and max(map(len, lines)) <= MAX_LINE


def _has_reader(workspace: Workspace, event: Mapping[str, Any]) -> bool:
    """Whether the agent has `read_file`, and nobody is asked before it is called."""
    if not any(fnmatchcase(string(event, "tool_name"), name) for name in WITH_READER):
        return False
    transcript = Path(string(event, "transcript_path"))
    if not transcript.is_absolute() or len(transcript.parents) < DEPTH:
        return False
    user = settings_folder(workspace.environ, workspace.home)
    project = Path(string(event, "cwd") or ".") / ".gemini"
    for folder in (user, project):
        settings = json_in(folder / "settings.json")
        tools = as_object(settings.get("tools"))
        if tools.get("core") or READER in names_of(tools.get("exclude")):
            return False
    places = ("agents/*.md", "extensions/*/agents/*.md", "policies/*.toml")
    return not any(any(folder.glob(place)) for folder in (user, project) for place in places)
