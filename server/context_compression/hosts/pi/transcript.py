"""Pi's names and folders, and its transcripts: branches as Anthropic messages.

Pi's transcripts: `~/.pi/agent/sessions/--<folder of the project>--/<time>_<id>.jsonl`. Each line is
an entry:

{"type": "session", "version": 3, "id": …, "cwd": …}          the first, not part of the tree
{"type": …, "id": …, "parentId": …, …}                          the others, by type:

message         message: role user, assistant, toolResult, system, bashExecution or custom; with
                usage and stopReason if by the assistant (aborted and failed ones are not sent)
compaction      summary, firstKeptEntryId, systemMessage: earlier entries leave the context,
                except those from firstKeptEntryId on
branch_summary  summary: of a branch that the user left
custom_message  content: added by an extension
context_edit    targetId, replacement {content} or null: how an earlier entry is sent from now on
model_change    provider, modelId
others          describe the session, not sent

The live branch is walked from the last entry up. Entries of version 1 have no ids and follow each
other. System messages patch the prompt by section, and add and remove tools. Seen in versions 0.8
to 0.87 (format 1 and 3), documented for format 3 in the package's `docs/session-format.md`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import (
    COMPRESSED,
    as_object,
    is_array,
    is_object,
    objects,
)
from context_compression.transcripts.exporter import call, media, result, text, thinking, unread
from context_compression.transcripts.limits import LargestUse
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.reading import Later
from context_compression.transcripts.sessions import seconds
from context_compression.transcripts.transcript import (
    OURS,
    AnsweredRequest,
    Compaction,
    Each,
    Generations,
    KnownText,
    Load,
    Maybe,
    Row,
    RowCache,
    RowFormat,
    Seen,
    Shape,
    Shapes,
    Transcript,
    counted,
    folder_name,
    id_from_name,
    named,
)

NAME = "pi"
TITLE = "Pi"
MCP_SINCE = (0, 99)
"""The first version that starts MCP servers."""

AGENT_VARIABLE = "PI_CODING_AGENT_DIR"
"""Names the folder in place of `~/.pi/agent`."""
SESSIONS_VARIABLE = "PI_CODING_AGENT_SESSION_DIR"
"""Names one folder for the sessions of all projects."""
MARK_VARIABLE = "PI_CODING_AGENT"
"""Set for every program that Pi starts."""


def agent_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.pi/agent`, or the folder that PI_CODING_AGENT_DIR names."""
    return Path(environ.get(AGENT_VARIABLE) or home / ".pi" / "agent")


def sessions_folder(environ: Mapping[str, str], home: Path, project: Path) -> Path:
    """The sessions of a project: `/home/me/app` -> `~/.pi/agent/sessions/--home-me-app--`."""
    name = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", str(project)))
    return agent_folder(environ, home) / "sessions" / f"--{name}--"


STOPPED = ("error", "aborted")  # as stop reasons
CHARGED = ("input", "output", "cacheRead", "cacheWrite")
ROLES = KnownText(
    frozenset(
        {"user", "custom", "hookMessage", "assistant", "toolResult", "bashExecution", "system"}
    )
)
BLOCK: Shape = {"type": str, "thinking": str, "thinkingSignature": str}
CONTENT: Shape = (str, [BLOCK], BLOCK)
TOOLS: Shape = [{"name": str}]
PROMPT: Shape = {"content": CONTENT, "sections": Each(str)}
WORDS = """
arguments content data description details diagnostics errorMessage partialJson
sections summary text title tools
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {
        "message": {
            "message": {
                **PROMPT,
                "role": ROLES,
                "toolCallId": str,
                "command": str,
                "output": str,
                "toolsAdded": TOOLS,
                "toolsRemoved": TOOLS,
            }
        },
        "compaction": {
            "summary": None,
            "firstKeptEntryId": str,
            "systemMessage": {**PROMPT, "toolsAdded": TOOLS, "toolsRemoved": TOOLS},
        },
        "custom_message": Maybe({}),
        "branch_summary": Maybe({}),
        "context_edit": {"targetId": str, "replacement": {"content": CONTENT}},
    },
    Seen(WORDS),
)
"""The shapes of what rows hold."""


class PiContext:
    """The messages, the system prompt and the tools that entries make."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.written: list[Any] = []
        """When each message was written, as the file says it."""
        self.answers: list[tuple[Row, int]] = []
        """Entries by the assistant that were not kept, with the number of messages before them."""
        self.usage: tuple[int, int] | None = None
        self.model = ""
        self.tools: dict[str, Any] = {}
        self._time: Any = None  # of the newest entry
        self._prompts: list[str] = []
        self._sections: dict[str, str] = {}
        self._begun = False  # whether a compaction gave the complete system prompt
        self._results: list[Any] = []  # of the calls just made

    @property
    def prompt(self) -> str:
        """The system prompt as it is now."""
        return "\n\n".join(filter(None, [*self._prompts, *self._sections.values()]))

    def begin(self, compaction: Row) -> None:
        """Start with the system message and the summary of a compaction."""
        self._time = compaction.get("timestamp")
        if is_object(message := compaction.get("systemMessage")):
            self._tell(message)
            self._begun = True
        self._summary(compaction)

    def add(self, row: Row, *, kept: bool, charged: bool) -> None:
        """Add an entry.

        Args:
            row: the entry.
            kept: whether the compaction kept it. The compaction's own system message replaces the
                system messages among the kept entries.
            charged: whether its usage belongs to a request of the present context.
        """
        self._time = row.get("timestamp")
        match row:
            case {"type": "message", "message": message} if is_object(message):
                if not kept and message.get("role") == "assistant":
                    self.answers.append((row, len(self.messages)))
                if message.get("role") != "system" or not (kept and self._begun):
                    self._message(message, charged)
            case {"type": "custom_message"}:
                self._user(row.get("content"))
            case {"type": "branch_summary"}:
                self._summary(row)
            case _:
                pass  # told by its shape

    def _message(self, message: Mapping[str, Any], charged: bool) -> None:
        content = message.get("content")
        match string(message, "role"):
            case "user" | "custom" | "hookMessage":
                self._user(content)
            case "assistant":
                self._assistant(message, charged)
            case "toolResult":
                id, failed = string(message, "toolCallId"), message.get("isError") is True
                self._result(result(id, _blocks(content), failed=failed))
            case "bashExecution":
                if not message.get("excludeFromContext"):
                    self._user(_ran(message))
            case "system":
                self._tell(message)
            case _:
                pass  # told by its shape

    def _put(self, role: str, content: Any) -> None:
        self.messages.append({"role": role, "content": content})
        self.written.append(self._time)

    def _user(self, content: Any) -> None:
        own = content if isinstance(content, str) else _blocks(content)
        if own:
            self._put("user", own)

    def _summary(self, row: Row) -> None:
        summary = row.get("summary")
        if summary and isinstance(summary, str):
            self._user(f"<summary>\n{summary}\n</summary>")
        elif summary:
            self._user(summary)

    def _assistant(self, message: Mapping[str, Any], charged: bool) -> None:
        blocks = _blocks(message.get("content"))
        self.model = string(message, "model") or self.model
        if message.get("stopReason") in STOPPED:
            return
        if blocks:
            self._put("assistant", blocks)
        total = sum(_charged(message))
        if charged and total:
            self.usage = (total, len(self.messages))

    def _result(self, block: dict[str, Any]) -> None:
        if not self.messages or self.messages[-1]["content"] is not self._results:
            self._results = []
            self._put("user", self._results)
        self._results.append(block)

    def _tell(self, message: Mapping[str, Any]) -> None:
        """Apply a system message to the system prompt and the tools."""
        if message.get("replace"):
            self._prompts, self._sections, self.tools = [], {}, {}
        content = message.get("content")
        blocks = [text(content)] if isinstance(content, str) else _blocks(content)
        self._prompts += [
            string(block, "text") if block.get("type") == "text" else json.dumps(block)
            for block in blocks
        ]
        for name, section in as_object(message.get("sections")).items():
            if isinstance(section, str):
                self._sections[name] = section
            else:  # null removes it
                self._sections.pop(name, None)
        for tool in objects(message.get("toolsRemoved")):
            self.tools.pop(string(tool, "name"), None)
        for tool in objects(message.get("toolsAdded")):
            self.tools[string(tool, "name")] = tool


def request_of(row: Row, messages: int = 0) -> AnsweredRequest | None:
    """The request that an entry answers; `None` for other entries, and for failed requests."""
    message = as_object(row.get("message"))
    sent, said, read, written = _charged(message)
    whole = sent + read + written
    if message.get("role") != "assistant" or message.get("stopReason") in STOPPED or not whole:
        return None
    time, model = seconds(row.get("timestamp")), string(message, "model")
    return AnsweredRequest(messages, time, model, whole, read, written, said)


def _charged(message: Mapping[str, Any]) -> list[int]:
    usage = as_object(message.get("usage"))
    return [n if isinstance(n := usage.get(part), int) else 0 for part in CHARGED]


def _ran(message: Mapping[str, Any]) -> str:
    """A command that the user ran, in the words that the model sees."""
    shown = f"Ran `{string(message, 'command')}`\n"
    output, code = string(message, "output"), message.get("exitCode")
    shown += f"```\n{output}\n```" if output else "(no output)"
    return shown + (f"\n\nexit code {code}" if code else "")


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [text(content)]
    parts = content if is_array(content) else [] if content is None else [content]
    return [block for part in parts for block in _block(part)]


def _block(part: Any) -> Iterable[Any]:
    match part:
        case {"type": "thinking", "redacted": True}:
            yield {"type": "redacted_thinking", "data": string(part, "thinkingSignature")}
        case {"type": "thinking"}:
            thought, sealed = string(part, "thinking"), string(part, "thinkingSignature")
            if thought or sealed:
                yield thinking(thought, sealed)
        case {"type": "toolCall", "id": str(id), "name": str(name)}:
            yield call(id, name, part.get("arguments"))
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            yield media(kind, data)
        case {"type": str()}:
            yield part
        case _:
            yield unread(part)


class PiCompactions:
    """All compactions in a session, by the id of their entry."""

    def __init__(self) -> None:
        self._known: dict[str, Compaction] = {}
        self._before: dict[str, str] = {}  # by id: the compaction that led to it
        self._newest = ""  # whose first answer has not come yet
        self.largest = LargestUse()

    def add(self, id: str, row: Row, at: At, before: Callable[[], str]) -> None:
        """Add the next entry; `before` finds the newest compaction that led to it."""
        if row.get("type") == "compaction":
            size = row.get("tokensBefore")
            self._before[id] = before()
            self._known[id] = Compaction(
                time=seconds(row.get("timestamp")),
                by=OURS if string(row, "summary").startswith(COMPRESSED) else NAME,
                tokens_before=size if isinstance(size, int) else None,
                place=at.offset,
            )
            self._newest = id
        elif request := request_of(row):
            self.largest.add(request.input_tokens or 0, request.model)
            self._answered(request)

    def _answered(self, request: AnsweredRequest) -> None:
        """Learn the size after the newest compaction from the first answer that follows it."""
        if self._newest:
            known = self._known[self._newest]
            self._known[self._newest] = replace(known, tokens_after=request.input_tokens)
            self._newest = ""

    def led_to(self, id: str) -> list[Compaction]:
        """A compaction, after those that led to it; nothing for an empty id."""
        found: dict[str, Compaction] = {}
        while id and id not in found:
            found[id] = self._known[id]
            id = self._before[id]
        return [*reversed(found.values())]


SENT = {"message", "custom_message", "branch_summary", "compaction"}
NOT_SENT = {
    "context_edit", "model_change", "thinking_level_change", "usage", "custom", "label",
    "session_info",
}  # fmt: skip
GENERATIONS = Generations(
    TITLE,
    "format",
    frozenset({"1", "2", "3"}),
    lambda row: named(row.get("version") if row.get("type") == "session" else None),
)


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Pi's."""
    if row.get("type") == "session":
        return "cwd" in row and "id" in row
    if "parentId" in row:
        return string(row, "type") in SENT | NOT_SENT
    return string(as_object(row.get("message")), "role") == "toolResult"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """The place of an entry in the tree and in the file."""

    id: str
    parent: str
    kind: str
    at: At
    names: str
    """The id of the entry it refers to: a compaction's first kept entry, an edit's target."""


class PiReader:
    """Keeps the tree of entries; `transcript` reads the live ones."""

    def __init__(self) -> None:
        self._entries: dict[str, TreeEntry] = {}
        self._head: Row = {}
        self._last = ""
        self._model = ""
        self._title = ""
        self._compactions = PiCompactions()
        self._rows = 0
        self._unknown: Counter[str] = Counter()
        self._cache = RowCache()

    def add(self, row: Row, at: At) -> None:
        """Add the next row of the file."""
        kind, number = string(row, "type"), self._rows
        self._rows += 1
        if kind == "session":
            self._head = self._head or row
            return
        first = self._head.get("version", 1) == 1 and "id" not in row
        id = f"#{number}" if first else string(row, "id")
        if kind not in SENT | NOT_SENT:
            self._unknown[kind or "none"] += 1
        if not id:
            return
        parent = self._last if first else string(row, "parentId")
        self._entries[id] = TreeEntry(id, parent, kind, at, _named(row))
        self._last = id
        self._compactions.add(id, row, at, lambda: self._compaction_before(parent))
        if kind in SENT or kind == "context_edit":
            self._cache.put(at, row)
        elif kind == "model_change":
            self._model = string(row, "modelId") or self._model
        elif kind == "session_info":
            self._title = string(row, "name") or self._title

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """The conversation before a compaction, which may be of another branch than the last."""
        if row.get("type") != "compaction":
            return None
        last, self._last = self._last, string(row, "parentId") or self._last
        before = self.transcript(path, load)
        self._last = last
        return before

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation, as of the last row added."""
        branch, gaps = self._branch()
        live, kept = _live(branch)
        rows = {entry.id: self._cache.row(entry.at, load) for entry in live if entry.kind in SENT}
        edits = {
            entry.names: self._cache.row(entry.at, load).get("replacement")
            for entry in live
            if entry.kind == "context_edit"
        }
        # usage from before the history was edited does not apply to the present context
        charged = _after(live, "context_edit") - kept
        self._cache.only(e.at for e in live if e.kind in SENT or e.kind == "context_edit")
        context, carried = PiContext(), 0
        for number, (id, row) in enumerate(rows.items()):
            if row.get("type") == "compaction":
                if number == 0:  # an older compaction among the kept entries has no effect
                    context.begin(row)
            elif id not in edits:
                context.add(row, kept=id in kept, charged=id in charged)
            elif is_object(edits[id]):
                context.add(_edited(row, edits[id]), kept=id in kept, charged=False)
            if id in kept or row.get("type") == "compaction":
                carried = len(context.messages)
        newest = next((entry.id for entry in reversed(branch) if entry.kind == "compaction"), "")
        id = string(self._head, "id")
        model = context.model or self._model or self._compactions.largest.newest
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(id) if id else id_from_name(path),
            messages=context.messages,
            usage=context.usage,
            model=model,
            largest=self._compactions.largest.of(model),
            system=context.prompt or None,
            tools=[*context.tools.values()] or None,
            project=string(self._head, "cwd"),
            title=self._title,
            compactions=self._compactions.led_to(newest),
            carried=carried,
            times=Later(lambda: [*map(seconds, context.written)]),
            requests=Later(lambda: [r for made in context.answers if (r := request_of(*made))]),
            warnings=[
                *counted("Entries of types we do not know were skipped", self._unknown),
                *counted(
                    "Entries whose parent is missing begin the conversation", {"entries": gaps}
                ),
            ],
        )

    def _compaction_before(self, id: str) -> str:
        """The newest compaction on the way up from an entry; empty if there is none."""
        seen: set[str] = set()
        while (entry := self._entries.get(id)) and id not in seen:
            if entry.kind == "compaction":
                return id
            seen.add(id)
            id = entry.parent
        return ""

    def _branch(self) -> tuple[list[TreeEntry], int]:
        """The entries of the branch that may be live, oldest first, and the missing parents.

        The walk goes from the newest entry to the root, or to the first entry that the last
        compaction kept. The second value is 1 if a parent on the way is missing, else 0.
        """
        branch: dict[str, TreeEntry] = {}
        entry = self._entries.get(self._last)
        first = ""  # the first entry that the last compaction kept
        while entry is not None and entry.id not in branch:
            branch[entry.id] = entry
            if entry.kind == "compaction" and not first:
                first = entry.names
            if entry.id == first:
                break
            parent, entry = entry.parent, self._entries.get(entry.parent)
            if parent and entry is None:
                return [*reversed(branch.values())], 1
        return [*reversed(branch.values())], 0


def _named(row: Row) -> str:
    index = row.get("firstKeptEntryIndex")  # format 1 counts rows, the session's own included
    if isinstance(index, int):
        return f"#{index}"
    return string(row, "firstKeptEntryId") or string(row, "targetId")


def _live(branch: list[TreeEntry]) -> tuple[list[TreeEntry], set[str]]:
    """The entries in the order they are sent, and the ids of those that the compaction kept."""
    compactions = [n for n, entry in enumerate(branch) if entry.kind == "compaction"]
    if not compactions:
        return branch, set()
    at = compactions[-1]
    ids = [entry.id for entry in branch[:at]]
    kept = branch[ids.index(branch[at].names) : at] if branch[at].names in ids else []
    return [branch[at], *kept, *branch[at + 1 :]], {entry.id for entry in kept}


def _after(entries: list[TreeEntry], kind: str) -> set[str]:
    """The ids of the entries after the last one of a kind."""
    places = [n for n, entry in enumerate(entries, 1) if entry.kind == kind]
    return {entry.id for entry in entries[max(places, default=0) :]}


def _edited(row: Row, replacement: Any) -> Row:
    """A row with its content replaced."""
    content = as_object(replacement).get("content")
    if row.get("type") == "message":
        return {**row, "message": {**as_object(row.get("message")), "content": content}}
    return {**row, "content": content}


FORMATS = (RowFormat(recognises, PiReader, GENERATIONS, SHAPES),)
