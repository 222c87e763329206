"""Claude Code: `~/.claude/projects/<folder of the project>/<session>.jsonl`, a row per line.

    branch.py    which rows are in the context now
    context.py   the messages they make, and their real usage
    current.py   which transcript belongs to the host that started us

The format is the host's own and changes: what we do not know is passed over and reported.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_compression.hosts.base import Transcript, folder_name, name_of
from context_compression.hosts.claude_code.branch import MESSAGES, Row, live_branch
from context_compression.hosts.claude_code.context import Context, blocks_of
from context_compression.hosts.claude_code.current import find_current
from context_compression.hosts.lines import Rows, as_object, string
from context_compression.messages import is_array, is_object

__all__ = ["NAME", "find_current", "read", "recognises"]

NAME = "claude-code"
SYNTHETIC = "<synthetic>"  # the model of messages that the host wrote itself
KNOWN = MESSAGES | {  # the others are links of the chain, or about the session
    "agent-name", "ai-title", "api-request", "api-request-blob", "api-request-shape", "atis-latch",
    "cost-state", "custom-title", "file-history-snapshot", "last-prompt", "mode", "permission-mode",
    "pr-link", "progress", "queue-operation", "summary", "tools-used",
}  # fmt: skip
OWN_KEYS = {"uuid", "sessionId", "leafUuid", "snapshot"}


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Claude Code's."""
    return string(row, "type") in KNOWN and "role" not in row and not OWN_KEYS.isdisjoint(row)


def read(path: Path, rows: Rows) -> Transcript:
    """The live context of a session, or of a subagent where the file holds nothing else."""
    chained: dict[str, Row] = {}
    shapes: dict[str, Mapping[str, Any]] = {}  # system prompt and tools of requests
    shape: Mapping[str, Any] = {}
    unknown: Counter[str] = Counter()
    for row in rows:
        kind = string(row, "type") if _is_sound(row) else "damaged"
        if uuid := string(row, "uuid"):
            chained[uuid] = _slim(kind, row)  # a row written twice: first place, last content
        if kind not in KNOWN:
            unknown[kind or "none"] += 1
        elif kind == "api-request-shape":
            shapes[string(row, "shapeHash")] = as_object(row.get("shape"))
        elif kind == "api-request":
            shape = shapes.get(string(row, "shapeHash"), shape)

    main = {uuid: row for uuid, row in chained.items() if not row.get("isSidechain")}
    subagents = len(chained) - len(main) if main else 0
    branch = live_branch(main or chained)
    context = Context(branch)
    return Transcript(
        path=path,
        host=NAME,
        session_id=_session_id(branch.rows) or name_of(path),
        messages=context.messages,
        usage=context.usage,
        model=_model(branch.rows),
        system=[*blocks_of(shape.get("system")), *context.beside] or None,
        tools=shape.get("tools"),
        warnings=[
            *rows.warnings,
            *_counted("Rows of types we do not know were skipped", unknown),
            *_counted("Attachments whose text is not in the file were left out", context.textless),
            *_counted("Rows of subagents were left out", Counter(rows=subagents)),
            *_counted(
                "Rows whose parent is missing follow the row before", Counter(rows=branch.gaps)
            ),
            *(["The file begins in the middle of a conversation."] * branch.begins_in_the_middle),
        ],
    )


def _is_sound(row: Row) -> bool:
    """Whether a message has content: a string or blocks."""
    if row.get("type") not in ("user", "assistant"):
        return True
    content = as_object(row.get("message")).get("content")
    return isinstance(content, str) or (is_array(content) and all(map(is_object, content)))


def _slim(kind: str, row: dict[str, Any]) -> Row:
    """What we need of a row. `toolUseResult` says a result again; progress may be large."""
    if kind not in MESSAGES:
        row = {key: row.get(key) for key in ("uuid", "parentUuid", "isSidechain")}
    row.pop("toolUseResult", None)
    return {**row, "type": kind}


def _session_id(rows: list[Row]) -> str:
    """The session of the newest row; a subagent's has the agent's id behind it."""
    if not rows or not string(rows[-1], "sessionId"):
        return ""
    session, agent = string(rows[-1], "sessionId"), string(rows[-1], "agentId")
    return folder_name(f"{session}-agent-{agent}" if rows[-1].get("isSidechain") else session)


def _model(rows: list[Row]) -> str | None:
    models = (string(r["message"], "model") for r in reversed(rows) if r["type"] == "assistant")
    return next((model for model in models if model and model != SYNTHETIC), None)


def _counted(what: str, counts: Counter[str]) -> list[str]:
    """`"Rows were skipped: 3 (mode 2, tag 1)."`; nothing where there are none."""
    listed = ", ".join(f"{name} {count}" for name, count in counts.most_common(5))
    return [f"{what}: {counts.total()} ({listed})."] if counts.total() else []
