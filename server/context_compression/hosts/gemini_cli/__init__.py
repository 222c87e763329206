"""Gemini CLI as a host: names, configuration, sessions, the live one, hooks.

Finds the session of the Gemini CLI conversation that calls us.

Gemini CLI writes a call only when the call has ended (seen in version 0.61), so nothing proves that
a session is ours. But the turn that calls us has written to our session since this process began.

The sessions that Gemini CLI keeps, and the folders of projects that they are in.

`~/.gemini/tmp/<project>/chats/session-<minute>-<beginning of the id>.jsonl`; transcripts of
subagents are in a folder below `chats`.

How a preview replaces a tool result in Gemini CLI. Seen in version 0.61.0.

A denial replaces a result, but marks it as an error: the model gets `{"error": …}`, and the user is
shown an error, or nothing. So the hook requests another call in its place, a `tailToolCallRequest`:
`read_file` reads the preview. Then the model gets `{"output": …}`, as an answer to its own call.

If that call fails, the model gets its error and no preview. So it is requested only where nothing
suggests that `read_file` is missing or refused; elsewhere the preview is the reason of a denial.

Answers to Gemini CLI's hooks, in its own JSON. Seen in version 0.61.0.

AfterTool      a large result becomes its preview; `replacing` says how
BeforeModel    the texts of a request that is too long, compressed; calls and results stay
SessionStart   of a resumed session: the list of what was archived, and how to restore it
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any

from context_compression import hooks, session
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    COMPRESSED,
    ToolCall,
    as_object,
    is_array,
    is_object,
)
from context_compression.hosts.gemini_cli.transcript import FORMATS, NAME, SEEN, TITLE
from context_compression.hosts.host import Finding, HookFile, Host, LiveSession, below, plain
from context_compression.hosts.setup.files import json_in, names_of
from context_compression.hosts.setup.machine import PROGRAM, Machine
from context_compression.opening import opened
from context_compression.transcripts.lines import string
from context_compression.transcripts.sessions import (
    Caller,
    CandidateConversation,
    StoredSessions,
    files,
    is_same_folder,
    uncertain,
)
from context_compression.transcripts.transcript import folder_name, id_from_name
from context_compression.workspace import Workspace

HOME_VARIABLE = "GEMINI_CLI_HOME"
"""Names the folder that Gemini CLI uses in place of the user's home folder."""
MARK_VARIABLE = "GEMINI_CLI"
"""Set for every program that Gemini CLI starts."""


def settings_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.gemini`; below GEMINI_CLI_HOME if that is set."""
    return Path(environ.get(HOME_VARIABLE) or home) / ".gemini"


PLUGIN = Path(__file__).parent / "plugin"
SHELL = re.compile(r'sh \\"\$\{extensionPath\}/hook\.sh\\" \d+')
"""A command of a hook: a shell passes large events on, because starting Python takes time."""


def settings(machine: Machine) -> Path:
    """`~/.gemini/settings.json`."""
    return settings_folder(machine.folder_variables, machine.home) / "settings.json"


def hindrances(host: Host, machine: Machine, in_project: bool) -> Iterator[Finding]:
    """Findings on settings that keep Gemini CLI from starting our server or calling our hooks."""
    user = host.file(machine)
    merged = {
        **json_in(user),
        **(json_in(host.file(machine, in_project=True)) if in_project else {}),
    }
    servers = as_object(merged.get("mcp"))
    allowed = servers.get("allowed")
    if PROGRAM in names_of(servers.get("excluded")) or (
        is_array(allowed) and PROGRAM not in names_of(allowed)
    ):
        state = f"the server is excluded by mcp in {user}"
        yield Finding("configuration", False, state, f"Allow {PROGRAM} there.")
    trust = as_object(as_object(json_in(user).get("security")).get("folderTrust"))
    if trust.get("enabled") is True and not _is_trusted(user, machine):
        state = f"Gemini CLI does not trust {machine.cwd}, and so starts no servers in it"
        mend = "Start gemini here, and trust the folder: /permissions."
        yield Finding("configuration", False, state, mend)
        yield Finding("hooks", False, "not called in a folder that is not trusted", mend)
    elif as_object(merged.get("hooksConfig")).get("enabled") is False:
        state = f"hooks are switched off in {user}"
        yield Finding("hooks", False, state, "Remove enabled: false from hooksConfig.")


def _is_trusted(user: Path, machine: Machine) -> bool:
    """Whether the user trusts the folder; without a decision on it, the nearest parent's counts."""
    if machine.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True
    file = machine.folder("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or user.parent / "trustedFolders.json"
    decided = json_in(file)
    parents = {Path(name).parent for name, how in decided.items() if how == "TRUST_PARENT"}
    for folder in (machine.cwd, *machine.cwd.parents):
        how = decided.get(str(folder))
        if how == "DO_NOT_TRUST":
            return False
        if how in ("TRUST_FOLDER", "TRUST_PARENT") or folder in parents:
            return True
    return False


HOOKS = tuple(
    HookFile(
        PLUGIN / name,
        lambda machine, name=name: settings(machine).parent / "extensions" / PROGRAM / name,
        shell=SHELL,
        arguments=("hook", NAME),
    )
    for name in ("gemini-extension.json", "hook.sh", "hooks/hooks.json")
)

LONGEST_PATH = 4096  # bytes
PATTERN = "chats/session-*.json*"


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    gemini = settings_folder(environ, home)
    found = files(
        gemini.glob(f"tmp/*/{PATTERN}"), lambda path: id_from_name(path).rpartition("-")[2]
    )
    projects = {name: project for project, name in known_projects(gemini).items()}
    names = {each.path: each.path.parents[1].name for each in found}
    return [
        replace(each, project=projects.get(names[each.path]) or _root(each.path.parents[1]))
        for each in found
    ]


def project_folders(gemini: Path, project: Path) -> list[Path]:
    """The folders of a project's sessions: by its short name, or, until 2026, its path's hash.

    Args:
        gemini: the folder `~/.gemini`.
        project: the folder of the project.
    """
    names = [sha256(str(project).encode()).hexdigest()]
    known = known_projects(gemini).items()  # on Windows their paths are in small letters
    names += [name for folder, name in known if is_same_folder(folder, str(project))]
    return [gemini / "tmp" / name for name in names if name]


def _root(folder: Path) -> str:
    """The project that a folder of sessions says it belongs to."""
    with suppress(OSError, ValueError), opened(folder / ".project_root") as file:
        return file.read(LONGEST_PATH).decode().strip()
    return ""


def known_projects(gemini: Path) -> dict[str, str]:
    """The short names of projects by their folders."""
    with suppress(OSError, ValueError), opened(gemini / "projects.json") as file:
        projects = as_object(json.loads(file.read()))
        return {p: str(name) for p, name in as_object(projects.get("projects")).items()}
    return {}


def _folders(session: CandidateConversation, likely: Iterable[str]) -> Iterable[str]:
    """The folder of a session's project; until 2026 only the hash of its path was kept."""
    if session.project:
        return [session.project]
    digest = session.path.parents[1].name
    return [each for each in likely if sha256(each.encode()).hexdigest() == digest]


def _subagents(session: CandidateConversation) -> Iterator[Path]:
    return session.path.parent.glob(f"{session.id}*/*.jsonl")


def sessions_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this working directory; the one written last comes first."""
    gemini = settings_folder(caller.environ, caller.home)
    folders = project_folders(gemini, caller.cwd)
    return files(path for folder in folders for path in folder.glob(PATTERN))


def find_current(caller: Caller) -> Path:
    """The transcript of the session we are called from.

    Raises:
        ConversationNotFound: it is not certain which session is ours.
    """
    near = sessions_here(caller)
    recent = [session for session in near if session.written_at >= caller.began]
    if not caller.request.tool and len(near) == 1:
        return near[0].path
    if not caller.request.tool or len(recent) != 1:
        raise uncertain(caller, "It is not certain which transcript is the current one", near)
    subagents = files(recent[0].path.parent.glob("*/*.jsonl"))
    if subagents and subagents[0].written_at >= caller.began:
        raise uncertain(
            caller, "It is not certain whether a subagent called", [*recent, *subagents]
        )
    return recent[0].path


READER = "read_file"
WITH_READER = (
    "glob", "google_web_search", "grep_search", "list_directory", "mcp_*", "read_file",
    "read_many_files", "run_shell_command", "search_file_content", "web_fetch",
)  # fmt: skip
"""Tools of agents that have `read_file` too. The host's own agents with other tools may lack it."""
MAX_LINES = 2_000
MAX_LINE = 2_000  # characters; `read_file` cuts a longer text or line
DEPTH = 3  # folders above a transcript, at least: …/<project>/chats/session-….json
TITLE_OF_PREVIEW = re.compile(r"\[([^\n]{1,300}?); ref ")


def answer_with(preview: str, workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to an `AfterTool` event that shows the model a preview instead of the result."""
    denial = {"decision": "deny", "reason": preview}
    if not _has_reader(workspace, event) or not _is_read_whole(preview):
        return denial
    path = _path(preview, event)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(preview, encoding="utf-8", errors="replace", newline="")
    except OSError:
        return denial
    request = {"name": READER, "args": {"file_path": str(path)}}
    output = {"hookEventName": "AfterTool", "tailToolCallRequest": request}
    title = TITLE_OF_PREVIEW.search(preview)
    archived = f"Archived {title[1]}." if title else "Archived a tool result."
    return {"systemMessage": f"{archived} The model sees a preview.", "hookSpecificOutput": output}


def _path(preview: str, event: Mapping[str, Any]) -> Path:
    """A file in the host's own folder for results, which it removes together with the session."""
    folder = Path(string(event, "transcript_path")).parent.parent / "tool-outputs"
    session = folder_name(string(event, "session_id"))
    digest = sha256(preview.encode("utf-8", "replace")).hexdigest()[:12]
    name = folder_name(f"{string(event, 'tool_name')}-{digest}")
    return folder / f"session-{session}" / f"{name}.txt"


def _is_read_whole(preview: str) -> bool:
    lines = preview.split("\n")
    return len(lines) <= MAX_LINES and max(map(len, lines)) <= MAX_LINE


def _has_reader(workspace: Workspace, event: Mapping[str, Any]) -> bool:
    """Whether the agent has `read_file`, and nobody is asked before it is called."""
    if not any(fnmatchcase(string(event, "tool_name"), name) for name in WITH_READER):
        return False
    transcript = Path(string(event, "transcript_path"))
    if not transcript.is_absolute() or len(transcript.parents) < DEPTH:
        return False
    user = settings_folder(workspace.environ, workspace.home)
    project = Path(string(event, "cwd") or ".") / ".gemini"
    for folder in (user, project):
        settings = json_in(folder / "settings.json")
        tools = as_object(settings.get("tools"))
        if tools.get("core") or READER in names_of(tools.get("exclude")):
            return False
    places = ("agents/*.md", "extensions/*/agents/*.md", "policies/*.toml")
    return not any(any(folder.glob(place)) for folder in (user, project) for place in places)


FENCE = ("<untrusted_context>\n", "\n</untrusted_context>")
"""The marks that Gemini CLI puts around tool results from outside sources."""
LEFT_OUT = f"{COMPRESSED} What stood here is part of the summary."
ROLES = {"model": "assistant"}
OWN = re.compile(r"(?:\s*<(session_context|hook_context)>.*?</\1>\s*)+", re.S)


def _after_tool(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    response = as_object(event.get("tool_response"))
    text = _text(response.get("llmContent"))
    if text is None or response.get("error") or event.get("original_request_name"):
        return {}  # the last is set where `read_file` just read a preview
    start, end = FENCE
    fenced = text.startswith(start) and text.endswith(end)
    if fenced:
        text = text[len(start) : -len(end)]
    call = ToolCall("", string(event, "tool_name"), event.get("tool_input"))
    kept = session.offload_result(
        hooks.session_of(workspace, event, NAME), session.AnsweredCall(call, text, is_final=True)
    )
    if kept is None:
        return {}
    return answer_with(f"{start}{kept}{end}" if fenced else kept, workspace, event)


def _after_resume(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    if event.get("source") != "resume":
        return {}
    return hooks.answer_after_compaction(workspace, folder_name(string(event, "session_id")), TITLE)


def _text(content: Any) -> str | None:
    """The text of a tool result; `None` if it is not only text."""
    if isinstance(content, str):
        return content
    parts = content if is_array(content) else [content]
    texts = [part.get("text") for part in parts if is_object(part)]
    strings = [text for text in texts if isinstance(text, str)]
    return "".join(strings) if strings and len(strings) == len(parts) else None


def _before_model(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    request = as_object(event.get("llm_request"))
    shown = [
        (string(message, "role"), *_split(string(message, "content")))
        for message in request.get("messages") or ()
    ]
    texts = [{"role": ROLES.get(role, "user"), "content": content} for role, _, content in shown]
    # no transcript has the texts alone as its conversation, so they get a session of their own
    about = {"session_id": f"{string(event, 'session_id')}-texts", "model": request.get("model")}
    view = hooks.view_to_send(hooks.session_of(workspace, about, NAME), texts)
    if view is None or not texts:
        return {}
    messages = [
        {"role": role, "content": head + text["content"]}
        for (role, head, _), text in zip(shown, in_place(view, texts), strict=True)
    ]
    output = {"hookEventName": "BeforeModel", "llm_request": {"messages": messages}}
    return {"hookSpecificOutput": output}


def _split(text: str) -> tuple[str, str]:
    """The part that Gemini CLI put before a user's text (may be empty), and the text itself."""
    head = OWN.match(text)
    return (head[0], text[head.end() :]) if head and head.end() < len(text) else ("", text)


def in_place(
    view: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, str]]
) -> Iterator[Mapping[str, str]]:
    """A view with as many texts as `texts`, each in the same role.

    A new text goes to the next place of its own role: in place of a text that left, or to the start
    of a text that stays. Without a next one it goes to the end of the one before. A text that left
    and has no replacement becomes `LEFT_OUT`. This is for a host that puts texts back by their
    number.
    """
    kept: set[int] = set()
    before: list[list[str]] = [[] for _ in texts]  # by place: new texts, and those that stay
    after: list[list[str]] = [[] for _ in texts]
    last = -1
    for part in hooks.positions_in(view, texts):
        if isinstance(part, int):
            kept.add(part)
            last = part
            continue
        new = parse([part]).messages[0]
        places = [place for place, text in enumerate(texts) if text["role"] == new.role]
        places = places or [*range(len(texts))]
        place = next((place for place in places if place > last), None)
        (after[places[-1]] if place is None else before[place]).append(new.text)
    for place, text in enumerate(texts):
        own = [text["content"]] if place in kept else []
        content = [*before[place], *own, *after[place]]
        yield {**text, "content": "\n\n".join(content or [LEFT_OUT])}


ANSWERS = {"AfterTool": _after_tool, "BeforeModel": _before_model, "SessionStart": _after_resume}
GEMINI_CLI = Host(
    NAME, TITLE, SEEN,
    program="gemini", user=settings, under="mcpServers", entry=plain,
    project=(".gemini/settings.json",), hooks=HOOKS, hindrances=hindrances, formats=FORMATS,
    transcripts=below(settings, "tmp/*/chats/*.jsonl"),
    stored=StoredSessions(
        sessions, _folders, subagents=lambda session: len(list(_subagents(session))),
        beside=lambda session: sorted(_subagents(session)),
    ),
    live=LiveSession(MARK_VARIABLE, sessions_here, find_current),
    resumes=("gemini", "--resume", "{id}"),
)  # fmt: skip
