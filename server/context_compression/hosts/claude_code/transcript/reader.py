"""Reader for one Claude Code transcript: takes row after row, and gives the live conversation.

Also reads the log of `claude -p --output-format stream-json`: the messages of one run, in order.

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
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.errors import TranscriptError
from context_compression.hosts.claude_code.about import NAME, TITLE
from context_compression.hosts.claude_code.transcript.context import (
    Context,
    Outline,
    begins_context,
)
from context_compression.hosts.claude_code.transcript.rows import (
    MESSAGES,
    PROMPT_TOKENS,
    SHAPES,
    SYNTHETIC,
    Row,
    blocks_of,
    folders_moved_to,
)
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.reading import FileReading, Later
from context_compression.transcripts.transcript import (
    DocumentFormat,
    Generations,
    Load,
    RowCache,
    RowFormat,
    Transcript,
    counted,
    folder_name,
    id_from_name,
    major,
)

KNOWN = MESSAGES | {  # the rest are links of the chain, or describe the session
    "agent-color", "agent-name", "agent-setting", "ai-title", "api-request", "api-request-blob",
    "api-request-shape", "atis-latch", "bridge-session", "content-replacement", "continued-in",
    "cost-state", "custom-title", "data-flow-records", "derived-from", "dev-mods",
    "file-history-snapshot", "fork-context-ref", "frame-link", "history-suppression",
    "hybrid-organization", "isolation-latch", "last-prompt", "memory-mode", "mode", "observer-ref",
    "permission-mode", "pr-link", "progress", "queue-operation", "relocated", "repl-mode",
    "resume-head-vouch", "session-owner", "summary", "tag", "tools-used", "worktree-state",
}  # fmt: skip
ELSEWHERE = {
    "fork-context-ref": "The conversation begins in the session it was forked from, which is not "
    "read with it.",
    "continued-in": "The conversation goes on in another session.",
}
"""By the kind of a row: what it says of parts of the conversation that are in other files."""
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""By the kind of a row: where it holds the session's title. The user's own title comes first."""
GENERATIONS = Generations(
    TITLE, "version", frozenset({"0", "1", "2"}), lambda row: major(row.get("version"))
)
REPEATED = "toolUseResult"
"""Holds a result once more."""
UNREAD = frozenset((
    REPEATED, "cwd", "gitBranch", "slug", "userType", "requestId", "entrypoint", "promptId",
    "sourceToolAssistantUUID", "thinkingMetadata", "todos", "permissionMode", "stop_reason",
    "stop_sequence", "stop_details", "context_management", "container",
))  # fmt: skip
CHARGED = (*PROMPT_TOKENS, "output_tokens")
"""The parts of the usage of a request that are read."""
OWN_KEYS = {"uuid", "sessionId", "leafUuid", "snapshot"}


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Claude Code's."""
    return string(row, "type") in KNOWN and "role" not in row and not OWN_KEYS.isdisjoint(row)


class ClaudeCodeReader:
    """Keeps an outline of all rows; `transcript` reads the live ones."""

    def __init__(self) -> None:
        self._outline = Outline()
        self._shapes: dict[str, Mapping[str, Any]] = {}  # system prompt and tools of requests
        self._shape: Mapping[str, Any] = {}
        self._titles: dict[str, str] = {}  # by who gave them: the kind of their row
        self._project = ""
        self._unknown: Counter[str] = Counter()
        self._replaced: dict[str, str] = {}  # by call: what the model saw in place of its result
        self._replacements: Counter[str] = Counter()  # of kinds that are not known
        self._elsewhere: dict[str, str] = {}  # by kind of a row: what it says of other files
        self._cache = RowCache()

    def add(self, row: dict[str, Any], at: At) -> None:
        """Add the next row of the file."""
        kind = string(row, "type") if _is_sound(row) else "damaged"
        moved = folders_moved_to(row) if kind in ("relocated", "worktree-state") else []
        self._project = next(iter(moved), self._project) or string(row, "cwd")
        if string(row, "uuid"):
            self._outline.add(kind, row, at)
            if kind in MESSAGES:
                size = at.length // 2 if REPEATED in row else at.length
                self._cache.put(at, _slim(row), size)
        if kind not in KNOWN:
            self._unknown[kind or "none"] += 1
        elif kind in TITLES:
            self._titles[kind] = string(row, TITLES[kind]) or self._titles.get(kind, "")
        elif kind in ELSEWHERE:
            self._elsewhere[kind] = ELSEWHERE[kind]
        elif kind == "content-replacement":
            self._replace(row)
        elif kind == "api-request-shape":
            self._shapes[string(row, "shapeHash")] = as_object(row.get("shape"))
        elif kind == "api-request":
            self._shape = self._shapes.get(string(row, "shapeHash"), self._shape)

    def _replace(self, row: Row) -> None:
        """Learn what the model saw in place of results that are too large for one message."""
        for about in objects(row.get("replacements")):
            match about:
                case {"kind": "tool-result", "toolUseId": str(call), "replacement": str(shown)}:
                    self._replaced[call] = shown
                case _:
                    self._replacements[string(about, "kind") or "none"] += 1

    def before(self, row: dict[str, Any], path: Path, load: Load) -> Transcript | None:
        """The conversation before a compaction, or before old tool results are removed."""
        compacts = row.get("type") == "system" and begins_context(row)
        return self.transcript(path, load) if compacts else None

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation, as of the last row added."""
        outline = self._outline.branch()
        rows = [self._cache.row(row["at"], lambda at: _slim(load(at))) for row in outline.rows]
        # a row is empty if it is no longer there: the host rewrote the file while we read it
        branch = replace(outline, rows=[row for row in rows if row])
        self._cache.only(row["at"] for row in outline.rows)
        context = Context(branch, self._replaced)
        shape, model = self._shape, _model(branch.rows) or self._outline.model
        return Transcript(
            path=path,
            host=NAME,
            session_id=_session_id(branch.rows) or id_from_name(path),
            messages=context.messages,
            usage=context.usage,
            model=model,
            largest=self._outline.largest(model),
            system=[*blocks_of(shape.get("system")), *context.extra_system] or None,
            tools=shape.get("tools"),
            rows=context.rows,
            project=self._project,
            title=next(filter(None, map(self._titles.get, TITLES)), ""),
            compactions=self._outline.compactions(outline),
            carried=context.carried,
            cleared=context.cleared,
            times=Later(lambda: context.times),
            requests=Later(lambda: context.requests),
            missing=[*self._elsewhere.values()],
            warnings=[
                *self._elsewhere.values(),
                *counted("Rows of types we do not know were skipped", self._unknown),
                *counted(
                    "Attachments whose text is not in the file were left out", context.textless
                ),
                *counted(
                    "Contents that the host replaced in ways we do not know are given as they were",
                    self._replacements,
                ),
                *counted("Rows of subagents were left out", {"rows": self._outline.subagents}),
                *counted(
                    "Rows whose parent is missing follow the row before", {"rows": branch.gaps}
                ),
                *counted(
                    "Rows that name a parent from before the last compaction were put behind it",
                    {"rows": branch.misplaced},
                ),
                *(
                    ["The conversation goes on from before its last compaction, which is left out."]
                    * branch.is_rewound
                ),
                *(
                    ["The file begins in the middle of a conversation."]
                    * branch.begins_in_the_middle
                ),
            ],
        )


def _is_sound(row: Row) -> bool:
    """Whether a message has content: a string or blocks."""
    if row.get("type") not in ("user", "assistant"):
        return True
    content = as_object(row.get("message")).get("content")
    return isinstance(content, str) or (is_array(content) and all(map(is_object, content)))


def _slim(row: dict[str, Any]) -> dict[str, Any]:
    """The row without what nobody asks for, which takes more memory than short texts do."""
    made = {key: value for key, value in row.items() if key not in UNREAD}
    if is_object(message := row.get("message")):
        kept = {key: value for key, value in message.items() if key not in UNREAD}
        if is_object(usage := message.get("usage")):
            kept["usage"] = {key: usage[key] for key in CHARGED if key in usage}
        made["message"] = kept
    return made


def _session_id(rows: list[Row]) -> str:
    """The session id of the newest row; for a subagent, followed by the agent's id."""
    if not rows or not string(rows[-1], "sessionId"):
        return ""
    session, agent = string(rows[-1], "sessionId"), string(rows[-1], "agentId")
    return folder_name(f"{session}-agent-{agent}" if rows[-1].get("isSidechain") else session)


def _model(rows: list[Row]) -> str | None:
    models = (string(r["message"], "model") for r in reversed(rows) if r["type"] == "assistant")
    return next((model for model in models if model and model != SYNTHETIC), None)


NOT_SPOKEN = {  # known, but not part of the conversation
    "auth_status", "control_cancel_request", "control_request", "control_response", "keep_alive",
    "prompt_suggestion", "rate_limit_event", "result", "stream_event", "system", "tool_progress",
    "tool_use_summary",
}  # fmt: skip
SPOKEN = {"user", "assistant"}
OF_TRANSCRIPTS = {"parentUuid", "sessionId", "leafUuid"}
CONTINUED = "This session is being continued"  # how the host begins a summary


def recognises_log(row: Mapping[str, Any]) -> bool:
    """Whether the row is from such a log."""
    if string(row, "type") not in SPOKEN | NOT_SPOKEN or "role" in row:
        return False
    has_session = "session_id" in row and OF_TRANSCRIPTS.isdisjoint(row)
    return has_session or "parent_tool_use_id" in row


def is_log(document: Any) -> bool:
    """Whether a JSON value is a list of such rows."""
    return is_array(document) and bool(document) and recognises_log(as_object(document[0]))


def _read_log(path: Path, document: Any) -> Transcript:
    """A log that is one JSON value."""
    return _read(path, document, {})


def _before_compactions(path: Path, document: Any) -> Mapping[int | None, Transcript]:
    """The conversation before each compaction in such a log, by the compaction's place."""
    before: dict[int | None, Transcript] = {}
    _read(path, document, before)
    return before


def _read(path: Path, document: Any, before: dict[int | None, Transcript]) -> Transcript:
    rows = [dict(as_object(row)) for row in document]
    stream = StreamReader()

    def load(at: At) -> dict[str, Any]:
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
        if session := _session_of_log(row):
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


def _session_of_log(row: Mapping[str, Any]) -> str:
    return string(row, "session_id") or string(row, "sessionId")


def _camel(value: Any) -> Any:
    """`{"head_uuid": "a"}` -> `{"headUuid": "a"}`, at any depth."""
    if is_object(value):
        return {re.sub("_(.)", lambda m: m[1].upper(), key): _camel(v) for key, v in value.items()}
    return value


FORMATS = (
    RowFormat(recognises_log, StreamReader),
    RowFormat(recognises, ClaudeCodeReader, GENERATIONS, SHAPES),
    DocumentFormat(is_log, _read_log, _before_compactions),
)


def reading_of(path: Path, *, whole: bool = False) -> FileReading:
    """A reading of a file that Claude Code wrote: a transcript, or the log of a run.

    It is for the host's own hooks and compares no shapes: each attachment of a newer version would
    be told to the model after a compaction. `status` and the tools tell them.
    """
    log, session, document = FORMATS
    return FileReading(path, (log, replace(session, shapes=None), document), whole=whole)
