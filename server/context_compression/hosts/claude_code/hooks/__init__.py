"""Answers to Claude Code's hooks.

    outputs.py      outputs of Claude Code's tools as text and back, and a view as the rows of its
                    hooks

PostToolUse        a large result becomes its preview
session.compact    function hook: our view replaces the conversation; if there is none, all of it is
                   archived, and the host is told what its summary must keep
PreCompact         the same where the host runs no function hooks
SessionStart       after that: a line for the user, and for the model, after a summary of the host,
                   the ledger and how to restore originals
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from context_compression.compression.prepared import within
from context_compression.compression.result import Result
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    Message,
    Text,
    ToolCall,
    as_object,
    is_array,
    is_object,
)
from context_compression.errors import ContextCompressionError, TranscriptError
from context_compression.evidence.files import cut_by_host
from context_compression.hooks.host_compaction import (
    NamedSize,
    answer_after_compaction,
    archive_all,
    instructions,
    named_size,
)
from context_compression.hosts.claude_code.about import NAME, TITLE, projects_folder
from context_compression.hosts.claude_code.hooks.outputs import (
    is_content,
    output_of,
    rows_of_view,
    saved_text,
)
from context_compression.hosts.claude_code.sessions import subagent
from context_compression.hosts.claude_code.transcript.reader import reading_of
from context_compression.hosts.claude_code.transcript.rows import prompt_tokens
from context_compression.plurals import short_number
from context_compression.session import Session
from context_compression.session.arrivals import AnsweredCall, offload_result
from context_compression.settings import Settings
from context_compression.summaries.summarizer import Summarizer
from context_compression.threads import in_thread
from context_compression.tokens.usage import count_tokens
from context_compression.transcripts.lines import rows_of, string
from context_compression.transcripts.opening import opened_once
from context_compression.transcripts.reading import contexts_of
from context_compression.transcripts.transcript import Transcript, folder_name
from context_compression.workspace import Workspace
from context_compression.workspace.opened import Opened

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


PATIENCE = 0.3  # seconds to wait until the host has written its last rows; it takes 0.1
STEP = 0.03
USEFUL = 6_000
"""The least tokens of a conversation where the host itself leaves no room in the size asked for."""


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
        path = subagent(path, agent)
    transcript = await in_thread(partial(_written, path, handles[-1]))
    by_user, words = event.get("trigger") == "manual", string(event, "instructions")
    if isinstance(window := event.get("window"), int) and window > 0:
        transcript = replace(transcript, window=window)
    settings = _settings(workspace, by_user=by_user)
    opened = workspace.of(transcript, settings=settings)
    await in_thread(opened.archive_cleared)
    answer = None
    if event.get("trigger") != "auto" or settings.auto_compress:
        asked = named_size(words) if by_user else NamedSize(focus=words)
        summarizer = workspace.summarizer(settings)
        answer = await _Compaction(opened, transcript, asked, by_user).answer(handles, summarizer)
    if answer is not None:
        return answer
    missing = await in_thread(partial(_archived, workspace, path))
    return {"instructions": instructions(missing)}


class _Compaction:
    """A compaction that our view may answer, in the host's own window.

    Sizes that the user names, and the window itself, include the host's share of each request.
    """

    def __init__(
        self, opened: Opened, transcript: Transcript, asked: NamedSize, by_user: bool
    ) -> None:
        self.session = opened.session
        self._transcript, self._asked, self._by_user = transcript, asked, by_user
        # what a host charged may have been for content that leaves with the messages
        self._beside = opened.recorded_share or opened.tokens_beside

    async def answer(
        self, handles: Sequence[str], summarizer: Summarizer | None
    ) -> dict[str, Any] | None:
        """The rows of our view, or why nothing changes; `None` if the host must compact."""
        session, messages = self.session, self._transcript.messages
        session.summarizer = summarizer
        before = int(count_tokens(messages, model=session.model))
        asked = self._asked.of(before + self._beside)
        origin = {**session.origin(), "beside": self._beside, **({"asked": asked} if asked else {})}
        session.origin = lambda: origin
        result = await self._compress(self._target(before, asked))
        if self._by_user and asked is None and not result.changed:  # all messages are recent
            result = await self._compress(int(before * session.settings.target_usage))
        if not result.changed:
            return {"skip": _unchanged(before + self._beside, asked)} if self._by_user else None
        rows = rows_of_view(result, self._transcript, handles)
        full = result.tokens_after + self._beside >= session.settings.threshold_tokens
        if not rows or full:  # the host refuses an empty list, or would compact again at once
            await in_thread(session.undo)
            return None
        return {"messages": rows}

    def _target(self, before: int, asked: int | None) -> int | None:
        """The tokens that are left for the conversation; `None` if it is below its share."""
        if asked is None:
            asked = self.session.settings.target_tokens
            if before + self._beside <= asked:
                return None
        room = within(asked, self._beside)
        if room > asked - self._beside:  # it cannot be reached, so what is left is useful at least
            room = max(room, min(USEFUL, before // 2))
        return room

    async def _compress(self, target: int | None) -> Result:
        """The result of compressing to a target or near to it, or as the settings say."""
        compress = partial(
            self.session.acompress,
            messages=self._transcript.messages,
            focus=self._asked.focus or None,
        )
        if target is None:
            return await compress(force=True)
        return await compress(target_tokens=target, must_answer=True)


def _unchanged(before: int, asked: int | None) -> str:
    """Why a compaction that the user asked for changes nothing."""
    has = f"the context has {short_number(before)} tokens"
    if asked is not None and asked >= before:
        return f"{has}, and {short_number(asked)} were asked for"
    return f"{has}, and none of them can be freed"


def _settings(workspace: Workspace, *, by_user: bool) -> Settings:
    """The settings for a compaction that the user asked for, or that the host began."""
    settings = workspace.settings()
    changed: dict[str, Any] = {"summary_role": "user"}  # we cannot add to the host's system prompt
    if by_user:
        changed["target_usage"] = settings.manual_target_usage
    return settings.changed(changed)


def announced(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a compaction that the host will do itself: what its summary must keep.

    All of the conversation is archived before. `{}` if its transcript is not known.
    """
    path = where(workspace, event).transcript
    if path is None:
        return {}
    if (agent := string(event, "agent_id")) and (own := subagent(path, agent)).exists():
        path = own
    missing = _archived(workspace, path)
    # the host adds it to its prompt (seen in 2.1.332)
    return {"systemMessage": instructions(missing)}


def afterwards(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """What user and model are told after a compaction; `{}` if there is nothing to say.

    A host that runs no function hooks did not announce its compaction. What it replaced is archived
    now: the host writes the compaction to the transcript after this (seen in version 2.1.329).
    """
    if event.get("source") != "compact":
        return {}
    about = where(workspace, event)
    if about.transcript and not Session(workspace.store, about.id).state().compressions:
        _archived(workspace, about.transcript)
    path = about.transcript
    return answer_after_compaction(
        workspace, about.id, TITLE, lambda: reading_of(path).look().missing if path else ()
    )


def _archived(workspace: Workspace, path: Path) -> Sequence[str]:
    """Archive all of a conversation: before each compaction, now, and outputs saved to files.

    Returns:
        What of it is in no file, as in `Transcript.missing`.
    """
    contexts = contexts_of(reading_of(path, whole=True))
    session = workspace.of(contexts[-1]).session
    archive_all(session, contexts)
    folder = path.with_suffix("") / "tool-results"
    results = (r for c in contexts for m in parse(c.messages).messages for r in m.results)
    cuts = {cut.path for result in results if (cut := cut_by_host(result.text)) and cut.path}
    for saved in sorted(cuts):
        if (text := saved_text(saved, folder)) is not None:
            session.offload(text, what=f"output in {Path(saved).name}, which the host cut")
    return contexts[-1].missing


def _written(path: Path, newest: str) -> Transcript:
    """The conversation, as soon as the newest row is in the transcript, or after `PATIENCE`."""
    for _ in range(round(PATIENCE / STEP)):
        transcript = reading_of(path).look()
        if any(newest in uuids for uuids in transcript.rows):
            return transcript
        time.sleep(STEP)
    return reading_of(path).look()


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
    except (ValueError, RecursionError):
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
