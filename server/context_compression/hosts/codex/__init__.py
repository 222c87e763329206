"""Codex as a host: its configuration, its sessions, the live one, hooks, and new sessions.

Finds the rollout of the Codex conversation that calls us.

The call names its thread in `_meta.threadId` (seen in version 0.169), and the thread's id is part
of the names of its files; the call is in the one begun last. Codex does not pass on CODEX_HOME; if
the user sets it, our entry in config.toml needs `env_vars = ["CODEX_HOME"]`.

The sessions that Codex keeps, each thread once: see `rollouts` for its files.

A subagent's rollout is beside the others; its first line says that it is one.

Answers to Codex's hooks, in its own JSON. Seen in version 0.169.0.

PostToolUse    a large result becomes its preview, as the reason of a block, which the model sees
PreCompact     the complete conversation is archived before Codex summarises it
SessionStart   after a compaction: the ledger, and how to restore originals

New sessions for Codex: `codex exec resume <id>` finds a rollout by its name, in any folder.

Seen in version 0.169.0: the model needs a `session_meta` and `response_item` rows only. Codex shows
the `event_msg` rows to the user, and names the session in a list by the first of them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from context_compression import hooks, session
from context_compression.conversation.messages import (
    COMPRESSED,
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
    is_array,
    objects,
)
from context_compression.hosts.codex.messages import (
    FROM_CODEX,
    HOME_VARIABLE,
    NAME,
    SEEN,
    THREAD_VARIABLE,
    TITLE,
    home_folder,
    sessions_folder,
)
from context_compression.hosts.codex.transcript import (
    FORMATS,
    by_thread,
    earlier,
    meta,
    newest,
    rollouts,
)
from context_compression.hosts.host import (
    Finding,
    HookFile,
    Host,
    LiveSession,
    Value,
    below,
    is_our_group,
    plain,
)
from context_compression.hosts.setup import toml
from context_compression.hosts.setup.files import json_in, toml_in
from context_compression.hosts.setup.machine import Machine
from context_compression.transcripts.exporter import Exporter, NewSession, Row, arguments, url_of
from context_compression.transcripts.lines import first_row, string
from context_compression.transcripts.reading import FileReading, contexts_of
from context_compression.transcripts.sessions import (
    Caller,
    CandidateConversation,
    StoredSessions,
    files,
    is_same_folder,
    transcript_of_call,
    uncertain,
)
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

PLUGIN = Path(__file__).parent / "plugin"


def entry(command: str, args: Sequence[str]) -> Value:
    """Our entry. Codex passes on few variables; we need CODEX_HOME to find its transcripts."""
    limits = {"startup_timeout_sec": 30, "tool_timeout_sec": 120}
    return {**plain(command, args), "env_vars": [HOME_VARIABLE], **limits}


def settings(machine: Machine) -> Path:
    """`~/.codex/config.toml`."""
    return home_folder(machine.folder_variables, machine.home) / "config.toml"


def hindrances(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    """Findings on settings that keep Codex from starting our server or calling our hooks."""
    user = toml_in(host.file(machine))
    if in_project:
        project = as_object(as_object(user.get("projects")).get(str(machine.cwd)))
        if project.get("trust_level") != "trusted":
            state = f"Codex does not trust {machine.cwd}, and so reads no configuration in it"
            yield Finding("configuration", False, state, "Start codex here, and trust the folder.")
    features = as_object(user.get("features"))
    if features.get("hooks", features.get("codex_hooks")) is False:
        state = f"hooks are switched off in {host.file(machine)}"
        yield Finding("hooks", False, state, "Take hooks = false out of [features].")
        return
    file = (machine.cwd / ".codex" if in_project else host.file(machine).parent) / "hooks.json"
    states = as_object(as_object(user.get("hooks")).get("state"))
    hook_states = [as_object(states.get(key)) for key in _keys_of_hooks(file)]
    if any(hook.get("enabled") is False for hook in hook_states):
        state = f"Codex has some of our hooks in {file} switched off"
        yield Finding("hooks", False, state, "Start codex, type /hooks, and switch them on.")
    elif not all(hook.get("trusted_hash") for hook in hook_states):  # so after an install
        state = f"Codex does not trust our hooks in {file} yet, and so does not call them"
        yield Finding("hooks", None, state, "Start codex, type /hooks, and trust them.")


def _keys_of_hooks(file: Path) -> Iterator[str]:
    """The keys of our hooks in Codex's `hooks.state`: `/…/hooks.json:post_tool_use:0:0`."""
    for event, groups in as_object(json_in(file).get("hooks")).items():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups if is_array(groups) else ()):
            if is_our_group(group):
                yield from (f"{file}:{name}:{number}:{at}" for at in range(len(group["hooks"])))


HOOKS = HookFile(
    PLUGIN / "hooks.json",
    lambda machine: settings(machine).parent / "hooks.json",
    ".codex/hooks.json",
    merged=True,
)
SEARCHED = 50  # the newest rollouts that are searched for those of this working directory


def rollouts_here(caller: Caller) -> list[CandidateConversation]:
    """The threads of this working directory; the one written last comes first."""
    folder = home_folder(caller.environ, caller.home)
    threads = by_thread(rollouts(folder)).values()
    latest = sorted(threads, key=lambda found: max(each.path.name for each in found), reverse=True)
    paths = (newest(found).path for found in latest[:SEARCHED])  # by date
    here = str(caller.cwd)
    return files(path for path in paths if is_same_folder(string(meta(path), "cwd"), here))


def find_current(caller: Caller) -> Path:
    """The rollout of the thread we are called from; a subagent's own if it called.

    Raises:
        ConversationNotFound: it is not certain which rollout is ours.
    """
    thread = caller.request.meta.get("threadId") or caller.environ.get(THREAD_VARIABLE)
    if not isinstance(thread, str) or not re.fullmatch(r"[A-Za-z0-9-]+", thread):
        return transcript_of_call(caller, rollouts_here)
    folder = home_folder(caller.environ, caller.home)
    named = [*rollouts(folder, thread)]
    if found := by_thread(named).get(thread):
        return newest(found).path
    if found := [each for each in named if each.id == thread]:  # a file of a thread
        return newest(found).path
    raise uncertain(
        caller,
        f"There is no rollout of the thread {thread} below {folder}. If CODEX_HOME is set, Codex "
        'has to pass it on: env_vars = ["CODEX_HOME"] in the entry of this server',
        rollouts_here(caller),
    )


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The threads of all projects; the one written last comes first."""
    threads = by_thread(rollouts(home_folder(environ, home)))
    ids = {newest(found).path: thread for thread, found in threads.items()}
    return files(ids, ids.__getitem__)


def beside(session: CandidateConversation) -> list[Path]:
    """The files with the rows that a thread goes on from."""
    before = earlier([first_row(session.path)], session.path)
    return [part.path for part in before.parts] if before else []


def folders(session: CandidateConversation, likely: Iterable[str] = ()) -> Iterable[str]:
    """The folder that a thread works in."""
    return [*filter(None, [string(meta(session.path), "cwd")])]


def is_subagent(session: CandidateConversation) -> bool:
    """Whether a thread is a subagent's."""
    about = meta(session.path)
    return about.get("thread_source") == "subagent" or "subagent" in as_object(about.get("source"))


def _after_tool(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    text = _shown(event.get("tool_response"))
    if text is None:
        return {}
    given = event.get("tool_input")
    call = ToolCall(string(event, "tool_use_id"), string(event, "tool_name"), given)
    kept = session.offload_result(
        hooks.session_of(workspace, event, NAME), session.AnsweredCall(call, text, is_final=True)
    )
    return {} if kept is None else {"decision": "block", "reason": kept}


def _after_compaction(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    if event.get("source") != "compact":
        return {}
    id = folder_name(string(event, "session_id"))

    def elsewhere() -> Sequence[str]:
        reading = _reading(workspace, event)
        return reading.look().missing if reading else ()

    return hooks.answer_after_compaction(workspace, id, TITLE, elsewhere)


def _reading(workspace: Workspace, event: Mapping[str, Any]) -> FileReading | None:
    """The reading of the transcript that an event names, if it is Codex's own."""
    sessions = sessions_folder(workspace.environ, workspace.home)
    path = workspace.access.named_by_hook(string(event, "transcript_path"), sessions)
    return FileReading(path, FORMATS, whole=True) if path else None


def _archived(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Archive the conversation while the transcript still has it. Codex takes no instructions.

    The user sees what of it is in no file, and so is not archived.
    """
    reading = _reading(workspace, event)
    if reading is None:
        return {}
    contexts = contexts_of(reading)
    hooks.archive_all(workspace.of(contexts[-1]).session, contexts)
    missing = " ".join(contexts[-1].missing)
    return {"systemMessage": f"archived, but not all of it: {missing}"} if missing else {}


ANSWERS = {"PostToolUse": _after_tool, "PreCompact": _archived, "SessionStart": _after_compaction}


def _shown(response: Any) -> str | None:
    """The text of a tool's answer that the model would see; `None` if it is not only text."""
    if isinstance(response, str):
        return response
    parts = objects(as_object(response).get("content"))
    if any(part.get("type") != "text" for part in parts):
        return None
    structure = as_object(response).get("structuredContent")
    if structure is not None:
        return json.dumps(structure, ensure_ascii=False)
    return "\n".join(string(part, "text") for part in parts) or None


SHOWN = {"user": "user_message", "assistant": "agent_message"}


def place(session: NewSession, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.codex/sessions/2026/11/21/rollout-2026-11-21T12-33-33-<session>.jsonl`."""
    day, time = session.time()[:10], session.time()[:19].replace(":", "-")
    name = f"rollout-{time}-{session.session_id}.jsonl"
    return sessions_folder(environ, home).joinpath(*day.split("-"), name)


def command(session: NewSession, path: Path) -> Sequence[str]:
    """The command that resumes it in a terminal; `codex exec resume <id> <prompt>` needs none."""
    return "codex", "resume", session.session_id


def rows(messages: Sequence[Message], session: NewSession) -> Iterator[Row]:
    """A `session_meta` row, then the rows of each message."""
    about = {
        "id": session.session_id,
        "timestamp": session.time(),
        "cwd": str(session.project),
        "originator": "context-compression",
        "cli_version": SEEN,
        "source": "cli",
    }
    yield {"timestamp": session.time(), "type": "session_meta", "payload": about}
    for number, message in enumerate(messages):
        for kind, payload in _items(message):
            yield {"timestamp": session.time(number), "type": kind, "payload": payload}


def _items(message: Message) -> Iterator[tuple[str, Row]]:
    """The text that Codex shows to the user, and the message as items of the Responses API."""
    shown = message.text
    if message.role in SHOWN and shown and not shown.startswith((COMPRESSED, *FROM_CODEX)):
        yield "event_msg", {"type": SHOWN[message.role], "message": shown}
    parts: list[Row] = []
    for block in message.blocks:
        if (part := _part(block, message)) is not None:
            parts.append(part)
        else:
            yield from _message_item(message, parts)
            parts = []
            yield "response_item", _item(block)
    yield from _message_item(message, parts)


def _message_item(message: Message, parts: list[Row]) -> Iterator[tuple[str, Row]]:
    """A message item with the texts and images between two calls or results."""
    if parts:
        role = "developer" if message.role == "system" else message.role
        yield "response_item", {"type": "message", "role": role, "content": parts}


def _part(block: Block, message: Message) -> Row | None:
    """A block as a part of a message; `None` if it is an item of its own."""
    match block:
        case Text() | Document():
            kind = "output_text" if message.role == "assistant" else "input_text"
            return {"type": kind, "text": block.text}
        case Image():
            return {"type": "input_image", "image_url": url_of(block)}
        case ToolCall() | ToolResult() | Thinking() | Opaque():
            return None
        case _:
            assert_never(block)


def _item(block: Block) -> Row:
    match block:
        case ToolCall():
            given = json.dumps(arguments(block), ensure_ascii=False)
            made = {"type": "function_call", "name": block.name, "arguments": given}
            return made | {"call_id": block.id}
        case ToolResult():
            return {
                "type": "function_call_output",
                "call_id": block.call_id,
                "output": _output(block),
            }
        case Thinking():
            about = as_object(block.source)
            sealed = {"encrypted_content": string(about, "signature") or None}
            return {"type": "reasoning", "summary": about.get("summary") or [], **sealed}
        case _:
            return dict(as_object(block.source))  # an item that Codex wrote, as it was


def _output(result: ToolResult) -> Any:
    if all(isinstance(block, Text) for block in result.content):
        return result.text
    shown = Message("tool", result.content)
    return [part for block in result.content if (part := _part(block, shown)) is not None]


CODEX = Host(
    NAME, TITLE, SEEN,
    program="codex", user=settings, under="mcp_servers", entry=entry,
    project=(".codex/config.toml",), format=toml, environment="listed",
    hooks=(HOOKS,), serves_hooks=True, then="Restart it, and trust the hooks: /hooks.",
    hindrances=hindrances, formats=FORMATS,
    transcripts=below(settings, "sessions/*/*/*/*.jsonl"),
    stored=StoredSessions(
        sessions, folders, compaction_marks=(b'"type":"compacted"',), is_subagent=is_subagent,
        beside=beside,
    ),
    live=LiveSession(
        THREAD_VARIABLE, rollouts_here, find_current, meta_key="x-codex-turn-metadata"
    ),
    exporter=Exporter(place, rows, command, thinking=True),
    resumes=("codex", "resume", "{id}"),
    deletes=lambda environ, home: "replaces what it compacts in a session's file (users report it)",
)  # fmt: skip
