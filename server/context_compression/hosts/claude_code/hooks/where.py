"""The conversation of a Claude Code event, and its transcript."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, Text, ToolCall, as_object
from context_compression.errors import ContextCompressionError, TranscriptError
from context_compression.hosts.claude_code.about import projects_folder
from context_compression.hosts.claude_code.transcript.row import prompt_tokens
from context_compression.transcripts.access import opened_once
from context_compression.transcripts.damaged_lines import rows_of
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

LATELY = 65_536  # bytes at the end of a transcript: the last few steps


@dataclass(frozen=True)
class Where:
    """The conversation of an event.

    Attributes:
        id: the id of our session for it, which is the host's own id.
        transcript: the host's transcript; `None` if it must not be read.
    """

    id: str
    transcript: Path | None

    @property
    def results(self) -> Path | None:
        """The folder in which the host saves outputs that are too long for it."""
        return self.transcript and self.transcript.with_suffix("") / "tool-results"


def where(workspace: Workspace, event: Mapping[str, Any]) -> Where:
    """The conversation of an event.

    Raises:
        TranscriptError: the event names no conversation.
    """
    named = string(event, "transcript_path")
    id = string(event, "session_id") or Path(named).stem
    if not id:
        raise TranscriptError("The event names no session. Pass the host's JSON as it is.")
    projects = projects_folder(workspace.environ, workspace.home)
    transcript = workspace.access.named_by_hook(named, projects) if named else None
    return Where(folder_name(id), transcript)


@dataclass(frozen=True)
class Lately:
    """The end of a conversation.

    Attributes:
        messages: the last texts and calls, without results.
        model: the model's name, if it is there.
        used: the tokens of the last request, if they are there.
    """

    messages: Sequence[Message] = ()
    model: str | None = None
    used: int | None = None


def recent_messages(transcript: Path | None) -> Lately:
    """The end of a conversation, from the transcript."""
    messages: list[Message] = []
    model = used = None
    for row in _last_rows(transcript) if transcript else ():
        about = as_object(row.get("message"))
        if row.get("type") not in ("user", "assistant") or row.get("isSidechain"):
            continue
        model = string(about, "model") or model
        used = prompt_tokens(row) or used
        try:
            [message] = parse([{"role": row["type"], "content": about.get("content")}]).messages
        except (ContextCompressionError, ValueError):
            continue
        blocks = tuple(block for block in message.blocks if isinstance(block, Text | ToolCall))
        if blocks:
            messages.append(Message(message.role, blocks))
    return Lately(messages, model, used)


def _last_rows(transcript: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with opened_once(transcript) as (file, size):
            file.seek(max(0, size - LATELY))
            lines = file.read().split(b"\n")
    except (OSError, TranscriptError):
        return
    yield from (row for line in lines for row in rows_of(line))  # the first line may be cut
