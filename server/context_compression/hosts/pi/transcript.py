"""Pi's transcripts: `~/.pi/agent/sessions/--<folder of the project>--/<time>_<id>.jsonl`.

Each line is an entry:

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

    context.py       the messages that entries make
    compactions.py   the compactions that led to a branch
    current.py       finds the session of the conversation that calls us
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_object
from context_compression.hosts.pi.about import NAME, TITLE
from context_compression.hosts.pi.compactions import Compactions
from context_compression.hosts.pi.context import SHAPES, Context, request_of
from context_compression.transcripts.generations import Generations, named
from context_compression.transcripts.later import Later
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.row_cache import RowCache
from context_compression.transcripts.times import seconds
from context_compression.transcripts.transcript import (
    Load,
    Row,
    Transcript,
    counted,
    folder_name,
    id_from_name,
)

__all__ = ["GENERATIONS", "NAME", "SHAPES", "PiReader", "reader", "recognises"]

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


def reader() -> "PiReader":
    """A reader for one session."""
    return PiReader()


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
        self._compactions = Compactions()
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
        context, carried = Context(), 0
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
