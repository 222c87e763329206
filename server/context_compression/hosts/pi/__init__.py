"""Pi as a host: its configuration, its sessions, the live one, hooks, and new sessions.

Finds the session of the Pi conversation that calls us.

Pi writes a call to the session before it runs it (seen in version 0.87). So the session that makes
the call being answered is ours.

The sessions that Pi keeps: `~/.pi/agent/sessions/--<project>--/<time>_<id>.jsonl`.

If PI_CODING_AGENT_SESSION_DIR is set, the sessions of all projects are in that folder.

Answers to Pi's events, in Pi's own formats. Our extension passes the events on.

Event                   its fields                                       the answer
tool_result             toolName, toolCallId, input, text, shown         {"text": …}
context                 messages, before every request                   {"messages": […]}
session_before_compact  messages that are to be summarised,              {"summary": …}
                        previousSummary, focus, reason

Every event has `session_id`, and `model` and `window` if Pi knows them. Seen in version 0.87.1.

New sessions for Pi: `pi --session <file>` opens any file.

Pi's lists show the sessions in the project's folder. The format is documented (session-format.md of
version 0.87.1). The names of a model's provider and API matter only if Pi resumes with that model.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from context_compression import hooks
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_object,
    objects,
)
from context_compression.hosts.host import HookFile, Host, LiveSession, Value, below, plain
from context_compression.hosts.pi.transcript import (
    FORMATS,
    MARK_VARIABLE,
    MCP_SINCE,
    NAME,
    SESSIONS_VARIABLE,
    TITLE,
    PiContext,
    agent_folder,
    sessions_folder,
)
from context_compression.hosts.setup.machine import PROGRAM, Machine
from context_compression.transcripts.exporter import (
    Exporter,
    NewSession,
    Row,
    arguments,
    as_user,
    url_of,
)
from context_compression.transcripts.lines import first_row, string
from context_compression.transcripts.sessions import (
    Caller,
    CandidateConversation,
    StoredSessions,
    files,
    is_same_folder,
)
from context_compression.workspace import Workspace

PLUGIN = Path(__file__).parent / "plugin"


def entry(command: str, args: Sequence[str]) -> Value:
    """Our entry. The model sees only `direct` tools; other tools are for scripts."""
    return {**plain(command, args), "exposure": "direct"}


def settings(machine: Machine) -> Path:
    """`~/.pi/agent/mcp.json`."""
    return agent_folder(machine.folder_variables, machine.home) / "mcp.json"


HOOKS = HookFile(
    PLUGIN / f"{PROGRAM}.ts",
    lambda machine: settings(machine).parent / "extensions" / f"{PROGRAM}.ts",
    f".pi/extensions/{PROGRAM}.ts",
)


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    paths = list((agent_folder(environ, home) / "sessions").glob("*/*.jsonl"))
    if shared := environ.get(SESSIONS_VARIABLE):
        paths += Path(shared).glob("*.jsonl")
    return files(paths, lambda path: path.stem.rpartition("_")[2])


def cwd(path: Path) -> str:
    """The folder that a session was started in."""
    return string(first_row(path), "cwd")


def sessions_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this working directory; the one written last comes first."""
    paths = list(sessions_folder(caller.environ, caller.home, caller.cwd).glob("*.jsonl"))
    if shared := caller.environ.get(SESSIONS_VARIABLE):
        here = str(caller.cwd)
        paths += [path for path in Path(shared).glob("*.jsonl") if is_same_folder(cwd(path), here)]
    return files(paths)


PROVIDERS = {  # by the beginning of their models' names
    "claude": ("anthropic", "anthropic-messages"),
    "gemini": ("google", "google-generative-ai"),
}
OTHERS = ("openai", "openai-responses")
COUNTED = ("input", "output", "cacheRead", "cacheWrite")
USAGE = {
    **dict.fromkeys(COUNTED, 0),
    "totalTokens": 0,
    "cost": {**dict.fromkeys(COUNTED, 0), "total": 0},
}


def place(session: NewSession, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.pi/agent/sessions/--home-me-app--/<time>_<session>.jsonl`."""
    name = f"{re.sub(r'[:.]', '-', session.time())}_{session.session_id}.jsonl"
    return sessions_folder(environ, home, session.project) / name


def command(session: NewSession, path: Path) -> Sequence[str]:
    """The command that resumes the session."""
    return "pi", "--session", str(path)


def rows(messages: Sequence[Message], session: NewSession) -> Iterator[Row]:
    """A `session` row, then the rows of the messages; each row is the parent of the next.

    Tool results have rows of their own, with their tools' names.
    """
    about = {"id": session.session_id, "timestamp": session.time(), "cwd": str(session.project)}
    yield {"type": "session", "version": 3, **about}
    names = {call.id: call.name for message in messages for call in message.calls}
    new_entries = (entry for m in messages for entry in entries(m, names, by_model(session.model)))
    for number, entry in enumerate(new_entries):
        millisecond = int(session.created.timestamp() * 1000) + number
        yield {
            "type": "message",
            "id": session.id(number)[:8],
            "parentId": session.id(number - 1)[:8] if number else None,
            "timestamp": session.time(number),
            "message": entry | {"timestamp": millisecond},
        }


def entries(message: Message, names: Mapping[str, str], by: Mapping[str, str]) -> Iterator[Row]:
    """A message as Pi's messages: one for each tool result, and one for the other blocks.

    Args:
        message: the message.
        names: the names of the tools, by the ids of their calls.
        by: the provider, API and model to name in an assistant message.
    """
    if message.role == "assistant":
        stop = "toolUse" if message.calls else "stop"
        content = list(map(_part, message.blocks))
        yield {"role": "assistant", "content": content, **by, "usage": USAGE, "stopReason": stop}
        return
    for result in message.results:
        yield {
            "role": "toolResult",
            "toolCallId": result.call_id,
            "toolName": names.get(result.call_id, "tool"),
            "content": list(map(_part, result.content)),
            "isError": result.is_error,
        }
    blocks = [block for block in as_user(message) if not isinstance(block, ToolResult)]
    if blocks:
        yield {"role": "user", "content": list(map(_part, blocks))}


def by_model(model: str | None) -> Mapping[str, str]:
    """The model, with the provider and the API that Pi usually has for it."""
    model = model or "unknown"
    known = (names for start, names in PROVIDERS.items() if model.startswith(start))
    provider, api = next(known, OTHERS)
    return {"api": api, "provider": provider, "model": model}


def _part(block: Block) -> Any:
    match block:
        case ToolCall():
            made = {"type": "toolCall", "id": block.id, "name": block.name}
            return made | {"arguments": arguments(block)}
        case Image():
            source = as_object(as_object(block.source).get("source"))
            if "data" in source:
                shown = {"data": source["data"], "mimeType": source.get("media_type")}
                return {"type": "image", **shown}
            return {"type": "text", "text": f"[The picture at {url_of(block)}]"}
        case Text() | Document():
            return {"type": "text", "text": block.text}
        case Thinking():
            sealed = as_object(block.source)
            signature = string(sealed, "data" if block.redacted else "signature")
            about = {"redacted": True} if block.redacted else {}
            return {
                "type": "thinking",
                "thinking": block.text,
                "thinkingSignature": signature,
                **about,
            }
        case ToolResult() | Opaque():
            return block.source
        case _:
            assert_never(block)


Event = Mapping[str, Any]
AnyRow = Mapping[str, Any]
SUMMARIES = ("compactionSummary", "branchSummary")


def _after_tool(workspace: Workspace, event: Event) -> Mapping[str, Any]:
    call = ToolCall(string(event, "toolCallId"), string(event, "toolName"), event.get("input"))
    return hooks.preview(hooks.session_of(workspace, event, NAME), event, call)


def _request(workspace: Workspace, event: Event) -> Mapping[str, Any]:
    history = PiHistory(objects(event.get("messages")))
    view = hooks.view_to_send(hooks.session_of(workspace, event, NAME), history.messages)
    return {} if view is None else {"messages": history.laid_out(view)}


def _compacted(workspace: Workspace, event: Event) -> Mapping[str, Any]:
    """The summary, if the user requested the compaction, or compression is automatic."""
    session = hooks.session_of(workspace, event, NAME)
    if not session.settings.auto_compress and event.get("reason") != "manual":
        return {}
    session.summarizer = workspace.summarizer(session.settings)
    earlier = string(event, "previousSummary")
    before = [{"role": "user", "content": earlier}] if earlier else []
    history = PiHistory(objects(event.get("messages")))
    focus = string(event, "focus") or None
    return {"summary": hooks.compressed_text(session, [*before, *history.messages], focus)}


ANSWERS = {"tool_result": _after_tool, "context": _request, "session_before_compact": _compacted}


class PiHistory:
    """A conversation as Pi's messages, and as Anthropic messages."""

    def __init__(self, rows: Sequence[AnyRow]) -> None:
        context = PiContext()
        self._rows: dict[int, list[AnyRow]] = {}  # by the index of the message they are in
        self._by: Mapping[str, str] = by_model(None)
        for row in rows:
            context.add(_entry(row), kept=False, charged=False)
            if row.get("role") == "assistant":
                self._by = {name: string(row, name) for name in self._by}
            self._rows.setdefault(max(0, len(context.messages) - 1), []).append(row)
        self.messages = context.messages
        self._began = rows[0].get("timestamp", 0) if rows else 0

    def laid_out(self, view: Sequence[Mapping[str, Any]]) -> list[AnyRow]:
        """A view as Pi's messages; unchanged messages are the original objects."""
        names = {call.id: call.name for m in parse(self.messages).messages for call in m.calls}
        rows: list[AnyRow] = []
        for part in hooks.positions_in(view, self.messages):
            if isinstance(part, int):
                rows += self._rows[part]
            else:
                new = entries(parse([part]).messages[0], names, self._by)
                rows += (row | {"timestamp": self._began} for row in new)
        return rows


def _entry(row: AnyRow) -> dict[str, Any]:
    """A message of Pi as an entry of its sessions."""
    if row.get("role") in SUMMARIES:
        return {"type": "branch_summary", "summary": row.get("summary")}
    return {"type": "message", "message": row}


PI = Host(
    NAME, TITLE,
    program="pi", user=settings, under="mcpServers", entry=entry, project=(".pi/mcp.json",),
    strict=True, hooks=(HOOKS,),
    then="Restart it. Pi before 0.99 starts no MCP servers, and ignores this file.",
    mcp_since=MCP_SINCE, formats=FORMATS, transcripts=below(settings, "sessions/*/*.jsonl"),
    stored=StoredSessions(
        sessions,
        lambda session, likely: [*filter(None, [cwd(session.path)])],
        compaction_marks=(b'"type":"compaction"',),
    ),
    live=LiveSession(MARK_VARIABLE, sessions_here, is_proved=True),
    exporter=Exporter(place, rows, command),
    resumes=("pi", "--session", "{path}"),
)  # fmt: skip
