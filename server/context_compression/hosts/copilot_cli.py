"""Copilot CLI: its names, its sessions, and its transcripts.

Copilot CLI's transcripts: `~/.copilot/session-state/<session>/events.jsonl`. Each line is an event:
`{"type": …, "data": {…}, "id": …, "parentId": …}`. The data by type:

session.start                 sessionId, copilotVersion, context.cwd
session.model_change          newModel
system.message                role, content: the system prompt, written whenever it changed
user.message                  content, transformedContent: as the model saw it; attachments
assistant.message             content, reasoningText, reasoningOpaque, toolRequests [{toolCallId,
                              name, arguments}], model, apiCallId: shared by parts of one answer
tool.execution_complete       toolCallId, result.content (as the model saw it) or error.message
system.notification           content
session.compaction_start      systemTokens, conversationTokens, toolDefinitionsTokens
session.compaction_complete   success, summaryContent: it replaces the messages from before the
                              start; messages that were added meanwhile stay
session.truncation            tokenLimit, messagesRemovedDuringTruncation
session.shutdown              currentTokens and the three counts, as of now

Events of subagents have an `agentId` (before 2026: data.parentToolCallId). The file does not hold
the usage of requests, but the host's own token counts. Seen in version 1.0.64, whose package
documents the events.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_object, objects
from context_compression.hosts.host import Host
from context_compression.transcripts.exporter import call, media, result, text, thinking
from context_compression.transcripts.lines import At, first_row, string
from context_compression.transcripts.sessions import (
    CandidateConversation,
    StoredSessions,
    files,
    seconds,
)
from context_compression.transcripts.transcript import (
    AnsweredRequest,
    Compaction,
    CompactionLog,
    Generations,
    Load,
    Row,
    RowFormat,
    Seen,
    Shape,
    Shapes,
    Transcript,
    counted,
    folder_name,
    id_from_name,
    named,
    within,
)

NAME = "copilot-cli"
TITLE = "Copilot CLI"
SEEN = "1.0.64"
"""The version whose events were last seen."""

HOME_VARIABLE = "COPILOT_HOME"
"""Names the folder in place of `~/.copilot` (docs.github.com: "CLI configuration directory")."""


def home_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.copilot`, or the folder that COPILOT_HOME names."""
    return Path(environ.get(HOME_VARIABLE) or home / ".copilot")


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    paths = (home_folder(environ, home) / "session-state").glob("*/events.jsonl")
    return files(paths, lambda path: path.parent.name)


def folders(session: CandidateConversation, likely: Iterable[str] = ()) -> Iterable[str]:
    """The folder that a session was started in."""
    context = as_object(as_object(first_row(session.path).get("data")).get("context"))
    return [*filter(None, [string(context, "cwd")])]


FAMILIES = {
    "abort", "assistant", "auto_mode_switch", "capabilities", "command", "commands", "elicitation",
    "exit_plan_mode", "external_tool", "hook", "mcp", "mcp_app", "model", "pending_messages",
    "permission", "sampling", "session", "skill", "subagent", "system", "tool", "user",
    "user_input",
}  # fmt: skip
SPEAKERS = {"assistant", "system", "tool", "user"}
"""The families of events with what is said; each event that is not read is known by its name."""
SILENT = {
    "assistant.intent", "assistant.message_delta", "assistant.message_start", "assistant.reasoning",
    "assistant.reasoning_delta", "assistant.streaming_delta", "assistant.turn_end",
    "assistant.turn_start", "assistant.usage", "tool.execution_partial_result",
    "tool.execution_progress", "tool.execution_start", "tool.user_requested",
}  # fmt: skip
QUOTED = 30_000  # characters of each user message that are repeated with a summary
GENERATIONS = Generations(
    TITLE,
    "format",
    frozenset({"1"}),
    lambda row: named(within(row, "session.start", "data").get("version")),
)
FILES: Shape = [{"type": str, "path": str, "mimeType": str, "data": str}]
CALLS: Shape = [{"toolCallId": str, "name": str}]
SPOKEN: Shape = {"content": str, "reasoningText": str, "reasoningOpaque": str}
WORDS = "arguments detailedContent error intentionSummary kind text toolTelemetry"
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {
        "system.message": {"data": {"content": str}},
        "system.notification": {"data": {"content": str}},
        "user.message": {"data": {"content": str, "transformedContent": str, "attachments": FILES}},
        "assistant.message": {"data": {**SPOKEN, "toolRequests": CALLS, "apiCallId": str}},
        "tool.execution_complete": {
            "data": {
                "toolCallId": str,
                "result": {"content": str, "binaryResultsForLlm": FILES},
                "error": {"message": str},
            }
        },
        "session.compaction_complete": {"data": {"summaryContent": str}},
    },
    Seen(WORDS, SEEN, lambda row: string(within(row, "session.start", "data"), "copilotVersion")),
)
"""The shapes of what events hold."""


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Copilot CLI's."""
    family, dot, _ = string(row, "type").partition(".")
    return bool(dot) and family in FAMILIES and is_object(row.get("data")) and "parentId" in row


@dataclass
class CopilotReader:
    """The messages that events make, with the newest compaction applied."""

    _messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _times: list[float | None] = field(default_factory=list[float | None])
    _requests: list[AnsweredRequest] = field(default_factory=list[AnsweredRequest])
    """Requests since the last compaction; their `messages` count empty messages, too."""
    _log: CompactionLog = field(default_factory=CompactionLog)
    _carried: int = 0  # messages that the last compaction left or wrote
    _time: float | None = None  # of the newest event
    _calls: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """By call id: the list that takes the results of all calls of the same answer."""
    _answer: str = ""  # the API call whose answer came last
    _user_texts: list[str] = field(default_factory=list[str])
    _replaced: tuple[int, int] = (0, 0)
    """How many messages the running compaction replaces, and how many texts of the user."""
    _overhead: int = 0  # tokens of system prompt and tools
    _counted: tuple[int, int] | None = None
    _about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _system: str = ""
    _model: str = ""
    _window: int | None = None
    _truncated: int = 0
    _orphans: int = 0
    _subagents: int = 0
    _unknown: Counter[str] = field(default_factory=Counter[str])

    def add(self, row: Row, at: At) -> None:
        """Add the next event of the file."""
        kind, data = string(row, "type"), as_object(row.get("data"))
        self._time = seconds(row.get("timestamp"))
        if row.get("agentId") or data.get("parentToolCallId"):
            self._subagents += 1
        elif kind.startswith("session."):
            self._session(kind, data, at)
        elif kind == "system.message":
            self._system = string(data, "content") or self._system
        elif kind == "user.message":
            self._user(data)
        elif kind == "system.notification":
            self._put("user", [text(string(data, "content"))])
        elif kind == "assistant.message":
            self._assistant(data)
        elif kind == "tool.execution_complete":
            self._result(data)
        elif kind.partition(".")[0] not in FAMILIES - SPEAKERS and kind not in SILENT:
            self._unknown[kind or "none"] += 1

    def _session(self, kind: str, data: Mapping[str, Any], at: At) -> None:
        match kind:
            case "session.start":
                self._about = self._about or data
            case "session.model_change":
                self._model = string(data, "newModel") or self._model
            case "session.compaction_start":
                self._replaced = len(self._messages), len(self._user_texts)
                self._weigh(data)
            case "session.compaction_complete" if data.get("success"):
                self._log.add(_compaction(data, self._time, at))
                self._compact(string(data, "summaryContent"))
                self._weigh(data)
            case "session.truncation":
                self._truncated += _number(data, "messagesRemovedDuringTruncation")
                self._window = _number(data, "tokenLimit") or self._window
            case "session.shutdown":
                self._weigh(data)
                if tokens := _number(data, "currentTokens"):
                    self._counted = (tokens, len(self._messages))
            case _:
                pass

    def _weigh(self, data: Mapping[str, Any]) -> None:
        parts = (_number(data, part) for part in ("systemTokens", "toolDefinitionsTokens"))
        self._overhead = sum(parts) or self._overhead

    def _compact(self, summary: str) -> None:
        messages, texts = self._replaced
        quoted = [
            f"<user_message>\n{t[:QUOTED]}\n</user_message>" for t in self._user_texts[:texts]
        ]
        shown = "\n\n".join([*quoted, f"<summary>\n{summary}\n</summary>"])
        self._messages[:messages] = [{"role": "user", "content": [text(shown)]}]
        self._times[:messages] = [self._time]
        self._requests, self._carried = [], len(self._messages)
        live = {id(message["content"]) for message in self._messages}
        self._calls = {call: into for call, into in self._calls.items() if id(into) in live}
        self._counted = None

    def _user(self, data: Mapping[str, Any]) -> None:
        shown = string(data, "transformedContent") or string(data, "content")
        self._user_texts.append(string(data, "content"))
        attached = [
            media(string(part, "mimeType"), part["data"])
            for part in objects(data.get("attachments"))
            if isinstance(part.get("data"), str)
        ]
        self._put("user", [*([text(shown)] if shown else []), *attached])

    def _assistant(self, data: Mapping[str, Any]) -> None:
        self._model = string(data, "model") or self._model
        blocks = list(_blocks_of_answer(data))
        last = self._messages[-1]["role"] if self._messages else ""
        if string(data, "apiCallId") == self._answer and last == "assistant":
            self._messages[-1]["content"] += blocks
        else:
            self._answer = string(data, "apiCallId")
            said = _number(data, "outputTokens")
            about = (self._time, self._model, None, 0, 0, said)
            self._requests.append(AnsweredRequest(len(self._messages), *about))
            self._put("assistant", blocks)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if calls:  # other messages may come before the first result does
            results: list[Any] = []
            self._calls.update(dict.fromkeys(calls, results))
            self._put("user", results)

    def _result(self, data: Mapping[str, Any]) -> None:
        id, given = string(data, "toolCallId"), as_object(data.get("result"))
        if id not in self._calls:
            self._orphans += 1
            return
        failed = data.get("success") is False
        answer = string(given, "content") or string(as_object(data.get("error")), "message")
        shown = [
            media(string(part, "mimeType"), part["data"])
            for part in objects(given.get("binaryResultsForLlm"))
            if isinstance(part.get("data"), str)
        ]
        content = [text(answer), *shown] if shown else answer
        self._calls[id].append(result(id, content, failed=failed))

    def _put(self, role: str, content: list[Any]) -> None:
        self._messages.append({"role": role, "content": content})
        self._times.append(self._time)

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """The conversation before a compaction."""
        ends = row.get("type") == "session.compaction_complete"
        return self.transcript(path, load) if ends else None

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation, as of the last event added."""
        messages = [{**m, "content": [*m["content"]]} for m in self._messages if m["content"]]
        shown = [0, *accumulate(int(bool(message["content"])) for message in self._messages)]
        usage = (self._overhead, 0) if self._overhead else None
        if self._counted:
            tokens, held = self._counted
            usage = (tokens, shown[held])
        id = string(self._about, "sessionId")
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(id) if id else id_from_name(path),
            messages=messages,
            usage=usage,
            window=self._window,
            model=self._model or None,
            system=self._system or None,
            project=string(as_object(self._about.get("context")), "cwd"),
            compactions=[*self._log.compactions],
            carried=shown[self._carried],
            times=[t for t, m in zip(self._times, self._messages, strict=True) if m["content"]],
            requests=[replace(r, messages=shown[r.messages]) for r in self._requests],
            warnings=[
                *counted("Events of types we do not know were skipped", self._unknown),
                *counted("Events of subagents were left out", {"events": self._subagents}),
                *counted(
                    "Results of calls we do not know were left out", {"results": self._orphans}
                ),
                *counted(
                    "The host cut old messages without saying which; they are still here",
                    {"messages": self._truncated},
                ),
            ],
        )


def _blocks_of_answer(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An answer as blocks."""
    thought, sealed = string(data, "reasoningText"), string(data, "reasoningOpaque")
    if thought or sealed:
        yield thinking(thought, sealed)
    if content := string(data, "content"):
        yield text(content)
    for about in objects(data.get("toolRequests")):
        yield call(string(about, "toolCallId"), string(about, "name"), about.get("arguments"))


def _compaction(data: Mapping[str, Any], time: float | None, at: At) -> Compaction:
    parts = ("systemTokens", "conversationTokens", "toolDefinitionsTokens")
    counts = [_number(data, part) for part in parts]
    return Compaction(
        time=time,
        by=NAME,
        tokens_before=_number(data, "preCompactionTokens") or None,
        tokens_after=_number(data, "postCompactionTokens") or (all(counts) and sum(counts)) or None,
        place=at.offset,
    )


def _number(data: Mapping[str, Any], name: str) -> int:
    number = data.get(name)
    return number if isinstance(number, int) and not isinstance(number, bool) else 0


COPILOT_CLI = Host(
    NAME, TITLE, SEEN,
    formats=(RowFormat(recognises, CopilotReader, GENERATIONS, SHAPES),),
    stored=StoredSessions(sessions, folders),
    resumes=("copilot", "--resume", "{id}"),
)  # fmt: skip
