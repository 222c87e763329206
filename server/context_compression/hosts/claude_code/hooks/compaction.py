"""Compactions of Claude Code: answered with our view, or prepared for the host's own summary."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from context_compression.compression.result import Result
from context_compression.display.plurals import short_number
from context_compression.errors import BudgetTooSmall
from context_compression.hooks.host_compaction import (
    INSTRUCTIONS,
    answer_after_compaction,
    archive_all,
)
from context_compression.hooks.named_size import NamedSize, named_size
from context_compression.hosts.claude_code.hooks.rows import rows_of
from context_compression.hosts.claude_code.hooks.where import where
from context_compression.hosts.claude_code.transcript import read_before_compaction, read_own
from context_compression.session import Session
from context_compression.session.threads import in_thread
from context_compression.settings import Settings
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import Transcript
from context_compression.workspace import Workspace
from context_compression.workspace.opened import Opened

PATIENCE = 0.3  # seconds to wait until the host has written its last rows; it takes 0.1
STEP = 0.03


async def compacted(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a compaction that is about to run; `{}` if the conversation is not known.

        {"messages": rows}       our view, as `rows.Row`s, replaces the conversation
        {"skip": reason}         what the user asked for would change nothing
        {"instructions": text}   the host writes its summary; the conversation is archived

    A view that would be over the threshold again is undone, and the host writes its summary.

    Args:
        workspace: the workspace with the settings and the store.
        event: `handles` of the rows to be compacted, in order; `trigger`, `instructions` and
            `window` (tokens), in addition to the fields of all events.
    """
    path = where(workspace, event).transcript
    handles = [str(handle) for handle in event.get("handles") or ()]
    if path is None or not handles:
        return {}
    if agent := string(event, "agent_id"):
        path = path.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
    transcript = await in_thread(partial(_written, path, handles[-1]))
    trigger, words = event.get("trigger"), string(event, "instructions")
    settings = _settings(workspace, event.get("window"), by_user=trigger == "manual")
    opened = workspace.of(transcript, settings=settings)
    answer = None
    if trigger != "auto" or settings.auto_compress:
        asked = named_size(words) if trigger == "manual" else NamedSize(focus=words)
        compaction = _Compaction(workspace, opened, transcript, asked)
        answer = await compaction.answer(handles, by_user=trigger == "manual")
    if answer is None:
        await in_thread(partial(archive_all, opened.session, transcript))
    return answer or {"instructions": INSTRUCTIONS}


@dataclass(frozen=True)
class _Compaction:
    """A compaction that our view may answer."""

    workspace: Workspace
    opened: Opened
    transcript: Transcript
    asked: NamedSize

    async def answer(self, handles: Sequence[str], *, by_user: bool) -> dict[str, Any] | None:
        """The rows of our view, or why nothing changes; `None` if the host must compact."""
        session = self.opened.session
        session.summarizer = self.workspace.summarizer(session.settings)
        before = await in_thread(partial(session.usage, self.transcript.messages))
        size = self.asked.of(before.used_tokens)
        result = await self._compress(size)
        if by_user and size is None and not result.changed:  # all of it is recent
            result = await self._compress(int(before.used_tokens * session.settings.target_usage))
        if not result.changed:
            return {"skip": _unchanged(result, size)} if by_user else None
        rows = rows_of(result, self.transcript, handles)
        if rows is None or result.tokens_after >= session.settings.threshold_tokens:
            await in_thread(session.undo)  # the context would be full again at once
            return None
        return {"messages": rows}

    async def _compress(self, size: int | None) -> Result:
        """The result of compressing to a size, to the minimum size, or as the settings say."""
        compress = partial(
            self.opened.session.acompress,
            messages=self.transcript.messages,
            focus=self.asked.focus or None,
            not_counted=self.opened.not_counted,
        )
        if size is None:
            return await compress(force=True)
        try:
            return await compress(target_tokens=max(1, size))
        except BudgetTooSmall as error:
            return await compress(target_tokens=error.floor_tokens)


def _unchanged(result: Result, size: int | None) -> str:
    """Why a compaction that the user asked for changes nothing."""
    tokens = short_number(result.tokens_before)
    if size is not None and size >= result.tokens_before:
        return f"the context has {tokens} tokens, and {short_number(size)} were asked for"
    return f"the context has {tokens} tokens, and none of them can be freed"


def _settings(workspace: Workspace, window: Any, *, by_user: bool) -> Settings:
    """The settings, with the host's window, and for a compaction that the user asked for."""
    settings = workspace.settings()
    changed: dict[str, Any] = {"summary_role": "user"}  # we cannot add to the host's system prompt
    if isinstance(window, int) and window > 0 and "token_budget" not in settings.model_fields_set:
        changed["token_budget"] = window
    if by_user:
        changed["target_usage"] = settings.manual_target_usage
    return settings.changed(changed)


def afterwards(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """What user and model are told after a compaction; `{}` if there is nothing to say.

    A host that runs no function hooks did not announce its compaction; its transcript still has
    what it replaced, which is archived now.
    """
    about = where(workspace, event)
    state = Session(workspace.store, about.id).state()
    if about.transcript and not state.compressions:
        replaced = read_before_compaction(about.transcript)
        if replaced is not None:
            archive_all(workspace.of(replaced).session, replaced)
    return answer_after_compaction(workspace, about.id)


def _written(path: Path, newest: str) -> Transcript:
    """The conversation, as soon as the newest row is in the transcript, or after `PATIENCE`."""
    for _ in range(round(PATIENCE / STEP)):
        transcript = read_own(path)
        if any(newest in uuids for uuids in transcript.rows):
            return transcript
        time.sleep(STEP)
    return read_own(path)
