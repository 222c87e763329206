"""Reader for one Claude Code transcript: takes row after row, and gives the live conversation."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.hosts.claude_code.about import NAME, TITLE
from context_compression.hosts.claude_code.transcript.context import (
    Context,
    Outline,
    begins_context,
)
from context_compression.hosts.claude_code.transcript.rows import (
    MESSAGES,
    PROMPT_TOKENS,
    SYNTHETIC,
    Row,
    blocks_of,
    folders_moved_to,
)
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.reading import Later
from context_compression.transcripts.transcript import (
    Generations,
    Load,
    RowCache,
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
