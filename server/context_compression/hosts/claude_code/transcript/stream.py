"""The log of `claude -p --output-format stream-json`: the messages of one run, in order.

{"type": "system", "subtype": "init", "session_id": …, "model": …}      at the start of each turn
{"type": "assistant", "message": …, "parent_tool_use_id": null, "session_id": …, "uuid": …}
{"type": "user", …}        results; the prompts only with --replay-user-messages
{"type": "system", "subtype": "compact_boundary", "compact_metadata": …}      then the summary
{"type": "stream_event", "event": …}      pieces of a message that follows complete
{"type": "result", "result": the last answer again, "modelUsage": {model: {"contextWindow": …}}}

Rows of a transcript name their parent; rows of a log do not, and follow the row above. Rows with a
`parent_tool_use_id` are a subagent's. With `--output-format json --verbose` the same rows are one
JSON list. Seen in version 2.1.329, and as the Agent SDK documents them.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.errors import TranscriptError
from context_compression.hosts.claude_code.transcript.reader import ClaudeCodeReader
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.transcript import (
    Load,
    Row,
    Transcript,
    folder_name,
    id_from_name,
)

NOT_SPOKEN = {  # known, but not part of the conversation
    "auth_status", "control_cancel_request", "control_request", "control_response", "keep_alive",
    "prompt_suggestion", "rate_limit_event", "result", "stream_event", "system", "tool_progress",
    "tool_use_summary",
}  # fmt: skip
SPOKEN = {"user", "assistant"}
OF_TRANSCRIPTS = {"parentUuid", "sessionId", "leafUuid"}
CONTINUED = "This session is being continued"  # how the host begins a summary


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is from such a log."""
    if string(row, "type") not in SPOKEN | NOT_SPOKEN or "role" in row:
        return False
    has_session = "session_id" in row and OF_TRANSCRIPTS.isdisjoint(row)
    return has_session or "parent_tool_use_id" in row


def is_log(document: Any) -> bool:
    """Whether a JSON value is a list of such rows."""
    return is_array(document) and bool(document) and recognises(as_object(document[0]))


def read_document(path: Path, document: Any) -> Transcript:
    """A log that is one JSON value."""
    return _read(path, document, {})


def before_compactions(path: Path, document: Any) -> Mapping[int | None, Transcript]:
    """The conversation before each compaction in such a log, by the compaction's place."""
    before: dict[int | None, Transcript] = {}
    _read(path, document, before)
    return before


def _read(path: Path, document: Any, before: dict[int | None, Transcript]) -> Transcript:
    rows = [dict(as_object(row)) for row in document]
    stream = StreamReader()

    def load(at: At) -> Row:
        return rows[at.offset]

    for index, row in enumerate(rows):
        if known := stream.before(row, path, load):
            before[index] = known
        stream.add(row, At(index, 0))
    return stream.transcript(path, load)


class StreamReader:
    """Passes the rows on to a `ClaudeCodeReader`, in the form of a transcript's rows."""

    def __init__(self) -> None:
        self._reader = ClaudeCodeReader()
        self._newest: dict[str, str] = {}  # uuids, by the call that started the subagent
        self._parents: dict[str, str] = {}
        self._boundary: Row = {}  # of a compaction whose summary has not come yet
        self._without_summary = 0
        self._init: Row = {}
        self._result: Row = {}
        self._sessions: dict[str, None] = {}  # ids, in order
        self._is_answering = False

    def add(self, row: dict[str, Any], at: At) -> None:
        """Add the next row of the log."""
        kind = string(row, "type")
        if session := _session_id(row):
            self._sessions[session] = None
        if kind in SPOKEN:
            self._add_spoken(row, at)
        elif kind == "system":
            self._add_system(row, at)
        elif kind == "stream_event" and not row.get("parent_tool_use_id"):
            event = string(as_object(row.get("event")), "type")
            self._is_answering = event != "message_stop"
        elif kind == "result":
            self._result, self._is_answering = row, False
        elif kind not in NOT_SPOKEN:
            self._reader.add({"type": kind}, at)  # counted there

    def before(self, row: dict[str, Any], path: Path, load: Load) -> Transcript | None:
        """The conversation before a compaction."""
        is_compaction = row.get("subtype") == "compact_boundary"
        return self.transcript(path, load) if is_compaction else None

    def _add_system(self, row: dict[str, Any], at: At) -> None:
        match string(row, "subtype"):
            case "init":
                self._init = row
            case "compact_boundary":
                self._give_up_boundary()
                about = _camel(row.get("compact_metadata"))
                self._boundary = {**_as_row(row, at), "compactMetadata": about, "at": at}
            case _:
                pass

    def _add_spoken(self, row: dict[str, Any], at: At) -> None:
        own = _as_row(row, at)
        thread = string(row, "parent_tool_use_id")
        if self._boundary and not thread:
            if self._is_summary(row):
                boundary, self._boundary = {**self._boundary}, {}
                self._reader.add({**boundary, "subtype": "compact_boundary"}, boundary["at"])
                self._newest[thread] = boundary["uuid"]
                own["isCompactSummary"] = True
            self._give_up_boundary()
        uuid: str = own["uuid"]
        if uuid not in self._parents:
            self._parents[uuid] = self._newest.get(thread, "")
            self._newest[thread] = uuid
        self._reader.add({**own, "parentUuid": self._parents[uuid]}, at)

    def _is_summary(self, row: Mapping[str, Any]) -> bool:
        """Whether the first message after a boundary is the compaction's summary."""
        segment = as_object(as_object(self._boundary["compactMetadata"]).get("preservedSegment"))
        is_anchor = bool(row.get("uuid")) and row.get("uuid") == segment.get("anchorUuid")
        content = as_object(row.get("message")).get("content")
        first = content[0] if is_array(content) and content else {"text": content}
        begins = string(as_object(first), "text").startswith(CONTINUED)
        return row["type"] == "user" and (is_anchor or begins or bool(row.get("isSynthetic")))

    def _give_up_boundary(self) -> None:
        """Ignore a compaction whose summary is not in the log; the messages before it stay."""
        self._without_summary += bool(self._boundary)
        self._boundary = {}

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The conversation so far.

        Raises:
            TranscriptError: the log holds a result, and no messages.
        """
        transcript = self._reader.transcript(path, lambda at: _as_row(load(at), at))
        if self._result and not transcript.messages:
            raise TranscriptError(
                f"{path} holds the result of a run of Claude Code, and none of its messages. Pass "
                "a log of `claude -p --output-format stream-json --verbose`, or the transcript."
            )
        session = next(reversed(self._sessions), "")
        model = transcript.model or string(self._init, "model") or None
        return replace(
            transcript,
            # not the session's own id: the log is only a part of it, and the session may go on
            session_id=folder_name(f"{session}-log") if session else id_from_name(path),
            model=model,
            project=string(self._init, "cwd"),
            window=self._window(model),
            warnings=[*self._warnings(transcript), *transcript.warnings],
        )

    def _window(self, model: str | None) -> int | None:
        about = as_object(as_object(self._result.get("modelUsage")).get(model or ""))
        window = about.get("contextWindow")
        return window if isinstance(window, int) and window > 0 else None

    def _warnings(self, transcript: Transcript) -> list[str]:
        warnings: list[str] = []
        if transcript.messages and transcript.messages[0]["role"] == "assistant":
            warnings.append("The log does not hold the prompt that it begins with.")
        if self._is_answering:
            warnings.append(
                "The log ends in the middle of an answer, of which only whole blocks were read."
            )
        if (count := len(self._sessions)) > 1:
            warnings.append(f"The log holds {count} sessions, one behind the other.")
        if count := self._without_summary:
            warnings.append(
                f"Compactions whose summary is not in the log were passed over: {count}."
            )
        return warnings


def _as_row(row: Mapping[str, Any], at: At) -> dict[str, Any]:
    """The row as a transcript has it, without its parent."""
    is_local = "local_command_source" in row  # by the host, about a command; not by the model
    return {
        "type": "system" if is_local else string(row, "type"),
        "uuid": string(row, "uuid") or f"byte-{at.offset}",
        "isSidechain": bool(string(row, "parent_tool_use_id")),
        "isApiErrorMessage": bool(row.get("error")),
        "message": row.get("message"),
        "timestamp": row.get("timestamp"),
    }


def _session_id(row: Mapping[str, Any]) -> str:
    return string(row, "session_id") or string(row, "sessionId")


def _camel(value: Any) -> Any:
    """`{"head_uuid": "a"}` -> `{"headUuid": "a"}`, at any depth."""
    if is_object(value):
        return {re.sub("_(.)", lambda m: m[1].upper(), key): _camel(v) for key, v in value.items()}
    return value
