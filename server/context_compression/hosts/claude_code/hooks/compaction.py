"""Compactions of Claude Code: answered with our view, or prepared for the host's own summary."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from context_compression.hooks.host_compaction import (
    INSTRUCTIONS,
    answer_after_compaction,
    archive_all,
)
from context_compression.hosts.claude_code.hooks.rows import rows_of
from context_compression.hosts.claude_code.hooks.where import where
from context_compression.hosts.claude_code.transcript import read_own
from context_compression.session import Session
from context_compression.session.threads import in_thread
from context_compression.settings import Settings
from context_compression.tokens import Counter
from context_compression.tokens.usage import for_model
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import Transcript
from context_compression.workspace import Workspace

PATIENCE = 0.3  # seconds to wait until the host has written its last rows; it takes 0.1
STEP = 0.03


async def compacted(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """`{"messages": …}` with our view as `rows.Row`s; `{}` if the host must compact by itself.

    A view that would be over the threshold again is undone, and the answer is `{}`.

    Args:
        workspace: the workspace with the settings and the store.
        event: `handles` of the rows to be compacted, in order; `trigger`, `instructions` and
            `window` (tokens), in addition to the fields of all events.
    """
    path = where(workspace, event).transcript
    handles = [str(handle) for handle in event.get("handles") or ()]
    settings = workspace.settings()
    unasked = event.get("trigger") == "auto"
    if path is None or not handles or (unasked and not settings.auto_compress):
        return {}
    if agent := string(event, "agent_id"):
        path = path.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
    transcript = await in_thread(partial(_written, path, handles[-1]))
    session = Session(workspace.store, transcript.session_id, model=transcript.model)
    settings = _for_messages(settings, transcript, event.get("window"))
    session.summarizer = workspace.summarizer(settings)
    result = await session.acompress(
        messages=transcript.messages,
        focus=string(event, "instructions") or None,
        force=True,
        settings=settings,
    )
    if not result.changed:
        return {}
    rows = rows_of(result, transcript, handles)
    if rows is None or result.tokens_after >= settings.threshold_tokens:  # full again at once
        await in_thread(session.undo)
        return {}
    return {"messages": rows}


def _for_messages(settings: Settings, transcript: Transcript, window: Any) -> Settings:
    """The settings with the token budget of the messages alone.

    System prompt and tools take a part of the window, and a compaction cannot change them.
    """
    counter = Counter(transcript.model)
    overhead = counter.system(transcript.system) + counter.tools(transcript.tools)
    budget = for_model(settings, transcript.model).token_budget
    if isinstance(window, int) and window > 0 and "token_budget" not in settings.model_fields_set:
        budget = window
    own = {"summary_role": "user"}  # we cannot add to the host's system prompt
    return settings.changed({**own, "token_budget": max(1, budget - overhead)})


def beforehand(workspace: Workspace, event: Mapping[str, Any]) -> str:
    """Instructions for the host's summary; the complete conversation is archived first."""
    path = where(workspace, event).transcript
    if path is not None:
        transcript = read_own(path)
        archive_all(workspace.of(transcript).session, transcript)
    return INSTRUCTIONS


def afterwards(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """The text that the host adds to a history it has compacted; `{}` if there is none."""
    return answer_after_compaction(workspace, where(workspace, event).id)


def _written(path: Path, newest: str) -> Transcript:
    """The conversation, as soon as the newest row is in the transcript, or after `PATIENCE`."""
    for _ in range(round(PATIENCE / STEP)):
        transcript = read_own(path)
        if any(newest in uuids for uuids in transcript.rows):
            return transcript
        time.sleep(STEP)
    return read_own(path)
