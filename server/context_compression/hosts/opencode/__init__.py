"""opencode as a host: its configuration, its sessions, the live one, hooks.

Finds the session of the opencode conversation that calls us.

The database holds a running call with its input (seen in version 1.18). So the session that makes
the call being answered is ours; a subagent's own if it called.

Answers to opencode's events, in opencode's own formats. Our plugin passes the events on.

Event                  its fields, or when it comes                the answer
tool.execute.after     tool, callID, args, text, shown             {"text": …}
messages.transform     messages, before every request              {"messages": […]}
session.compacting     before opencode lets a model summarise      {"context": …}

Every event has `session_id`, and `model` and `window` if they are known. Seen in version 1.18.33.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression import hooks
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    Document,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_object,
    objects,
)
from context_compression.errors import TranscriptError
from context_compression.hosts.host import HookFile, Host, LiveSession, Value, first_of
from context_compression.hosts.opencode.context import (
    CONFIG_VARIABLE,
    DATABASE,
    MARK_VARIABLE,
    NAME,
    SEEN,
    TITLE,
    OpencodeContext,
    data_folder,
    database_file,
)
from context_compression.hosts.opencode.context import StoredMessage as Live
from context_compression.hosts.opencode.database import (
    ALL,
    SessionReading,
    exported,
    looking,
    sessions_where,
)
from context_compression.hosts.opencode.transcript import FORMATS
from context_compression.hosts.setup.machine import PROGRAM, Machine
from context_compression.transcripts.exporter import arguments, as_user, url_of
from context_compression.transcripts.lines import string
from context_compression.transcripts.reading import contexts_of
from context_compression.transcripts.sessions import (
    LISTED,
    WINDOWS,
    Caller,
    CandidateConversation,
    StoredSessions,
    is_same_folder,
)
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

PLUGIN = Path(__file__).parent / "plugin"
NAMES = ("opencode.json", "opencode.jsonc")


def entry(command: str, args: Sequence[str]) -> Value:
    """Our entry. The timeout in ms applies to the start and to each call; the default is 5,000."""
    return {"type": "local", "command": [command, *args], "enabled": True, "timeout": 120_000}


def folder(machine: Machine) -> Path:
    """`~/.config/opencode`; opencode follows the XDG specification on every system."""
    return machine.folder(CONFIG_VARIABLE) or machine.config_home / "opencode"


def settings(machine: Machine) -> Path:
    """Its configuration file, which has one of three names."""
    return first_of([folder(machine) / name for name in (*NAMES, "config.json")])


HOOKS = HookFile(
    PLUGIN / f"{PROGRAM}.js",
    lambda machine: folder(machine) / "plugin" / f"{PROGRAM}.js",
    f".opencode/plugin/{PROGRAM}.js",
)


def sessions_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this working directory; the one written last comes first."""
    path = database_file(caller.environ, caller.home)
    if not path.is_file():
        return []
    here = str(caller.cwd)
    try:
        if WINDOWS.match(here):
            found = looking(path, lambda db: sessions_where(path, db, "true", (), most=ALL))
            return [each for each in found if is_same_folder(each.project, here)][:LISTED]
        return looking(path, lambda db: sessions_where(path, db, "directory = ?", (here,)))
    except TranscriptError:
        return []


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    path = database_file(environ, home)
    if not path.is_file():
        return []
    return looking(path, lambda db: sessions_where(path, db, "parent_id IS NULL", (), most=ALL))


def _subagents(session: CandidateConversation) -> int:
    database, id = session.path.parent, session.path.name
    try:
        return len(
            looking(
                database, lambda db: sessions_where(database, db, "parent_id = ?", (id,), most=ALL)
            )
        )
    except TranscriptError:
        return 0


Row = Mapping[str, Any]
"""`{"info": …, "parts": […]}`."""


def _after_tool(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    call = ToolCall(string(event, "callID"), string(event, "tool"), event.get("args"))
    return hooks.preview(hooks.session_of(workspace, event, NAME), event, call)


def _request(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    history = OpencodeHistory(objects(event.get("messages")))
    view = hooks.view_to_send(hooks.session_of(workspace, event, NAME), history.messages)
    return {} if view is None else {"messages": history.laid_out(view)}


def _compacting(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Instructions for the host's summary; the complete conversation is archived first."""
    missing: Sequence[str] = ()
    if workspace.access.read_host_transcripts:
        session = folder_name(string(event, "session_id"))
        database = database_file(workspace.environ, workspace.home)
        contexts = contexts_of(SessionReading(database, session))
        hooks.archive_all(workspace.of(contexts[-1]).session, contexts)
        missing = contexts[-1].missing
    return {"context": hooks.instructions(missing)}


ANSWERS = {
    "tool.execute.after": _after_tool,
    "messages.transform": _request,
    "session.compacting": _compacting,
}


@dataclass(frozen=True)
class Original:
    """A message of opencode, and the number of Anthropic messages that it makes."""

    row: Row
    messages: int


class OpencodeHistory:
    """A conversation as opencode's messages, and as Anthropic messages."""

    def __init__(self, rows: Sequence[Row]) -> None:
        context = OpencodeContext()
        self._rows: dict[int, Original] = {}  # by the index of the first message they make
        self._about: dict[str, Mapping[str, Any]] = {}  # by role: `info` of the newest message
        self._reasoning: dict[str, Row] = {}  # by text: parts with the provider's signature
        for row in rows:
            info, parts = as_object(row.get("info")), objects(row.get("parts"))
            start = len(context.messages)
            context.add(Live(string(info, "id"), info, parts), newest=row is rows[-1])
            if made := len(context.messages) - start:
                self._rows[start] = Original(row, made)
            self._about[string(info, "role")] = info
            thoughts = (part for part in parts if part.get("type") == "reasoning")
            self._reasoning |= {string(part, "text"): part for part in thoughts}
        self.messages = context.messages

    def laid_out(self, view: Sequence[Mapping[str, Any]]) -> list[Row]:
        """A view as opencode's messages; unchanged messages are the original objects."""
        parts = hooks.positions_in(view, self.messages)
        rows: list[Row] = []
        new: list[Message] = []
        position = 0
        while position < len(parts):
            first = parts[position]
            original = self._original(parts, position)
            if original is not None:
                rows += [*self._made(new), original.row]
                new = []
                position += original.messages
            else:
                message = self.messages[first] if isinstance(first, int) else first
                new += parse([message]).messages
                position += 1
        return [*rows, *self._made(new)]

    def _original(
        self, parts: Sequence[int | Mapping[str, Any]], position: int
    ) -> "Original | None":
        """The original at a position of a view, if the view has all of it; else `None`."""
        first = parts[position]
        original = self._rows.get(first) if isinstance(first, int) else None
        if original is None or not isinstance(first, int):
            return None
        there = parts[position : position + original.messages]
        return original if there == list(range(first, first + original.messages)) else None

    def _made(self, messages: Sequence[Message]) -> Iterator[Row]:
        """New opencode messages; tool results become part of the message with their calls."""
        results = {result.call_id: result for message in messages for result in message.results}
        for message in messages:
            role = "assistant" if message.role == "assistant" else "user"
            blocks = message.blocks if role == "assistant" else as_user(message)
            parts = [part for block in blocks for part in self._part(block, results)]
            if parts:
                start = [{"type": "step-start"}] if role == "assistant" else []
                yield {"info": self._about.get(role, {"role": role}), "parts": [*start, *parts]}

    def _part(self, block: Any, results: Mapping[str, ToolResult]) -> Iterator[Row]:
        match block:
            case Text(text=text):
                yield {"type": "text", "text": text}
            case ToolCall():
                called = {"type": "tool", "tool": block.name, "callID": block.id}
                yield called | {"state": _state(block, results.get(block.id))}
            case Image() | Document():
                source = as_object(as_object(block.source).get("source"))
                kind = string(source, "media_type") or "image/png"
                if isinstance(block, Document) and block.text:
                    yield {"type": "text", "text": block.text}
                else:
                    yield {"type": "file", "mime": kind, "url": url_of(block)}
            case Thinking(text=text) if text in self._reasoning:
                yield self._reasoning[text]
            case _:
                return


def _state(call: ToolCall, result: ToolResult | None) -> Row:
    """The `state` of a tool part: the call's input, and its result if there is one."""
    state = {"input": arguments(call), "title": "", "metadata": {}, "time": {"start": 0, "end": 0}}
    if result is None:
        return state | {"status": "pending"}
    if result.is_error:
        return state | {"status": "error", "error": result.text}
    return state | {"status": "completed", "output": result.text}


OPENCODE = Host(
    NAME, TITLE, SEEN,
    program="opencode", user=settings, under="mcp", entry=entry, project=NAMES, hooks=(HOOKS,),
    formats=FORMATS,
    transcripts=lambda machine: (data_folder(machine.folder_variables, machine.home), DATABASE),
    stored=StoredSessions(
        sessions,
        lambda session, likely: [*filter(None, [session.project])],
        subagents=_subagents,
        exported=exported,
    ),
    live=LiveSession(MARK_VARIABLE, sessions_here, is_proved=True),
    resumes=("opencode", "import", "{path}"),
)  # fmt: skip
