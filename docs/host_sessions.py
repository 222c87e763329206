"""The demo's conversation as a session of each host, which compacts it once.

No host wrote these. Their keys are those of the recordings in `tests/fixtures/`, and hosts' own
counts of tokens are left out, so that the report counts.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from context_compression.conversation.messages import Message, ToolResult
from context_compression.hosts.exporting import EXPORTERS
from context_compression.transcripts.exporter import NewSession, Row

TITLE = "A strategy for repeated lines in build logs"
SUMMARY = (
    "The user wants a strategy `collapse` for repeated lines in build logs. It can be asked for by "
    "name and stays out of `auto`. The core must never import pathlib, mcp or httpx; nothing under "
    "data/ changes; every module stays below 250 lines; the user commits."
)
Messages: TypeAlias = Sequence[Message]


class Slow(NewSession):
    """A session with a minute between two rows."""

    def time(self, number: int = 0) -> str:
        """The time of the row with this number."""
        later = self.created + timedelta(minutes=number)
        return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _claude_code(before: Messages, after: Messages, session: NewSession) -> Iterator[Row]:
    """The summary takes the place of everything."""
    rows = list(EXPORTERS["claude-code"].rows([*before, *after], session))
    cut = len(before)
    boundary = {key: rows[cut][key] for key in ("isSidechain", "sessionId", "timestamp")} | {
        "parentUuid": None,
        "logicalParentUuid": rows[cut - 1]["uuid"],
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "uuid": session.id(-1),
        "compactMetadata": {"trigger": "manual"},
    }
    summary = rows[cut] | {
        "parentUuid": boundary["uuid"],
        "uuid": session.id(-2),
        "message": {"role": "user", "content": SUMMARY},
        "isCompactSummary": True,
        "isVisibleInTranscriptOnly": True,
    }
    rows[cut]["parentUuid"] = summary["uuid"]
    yield from (*rows[:cut], boundary, summary, *rows[cut:])


def _codex(before: Messages, after: Messages, session: NewSession) -> Iterator[Row]:
    """The user's messages stay, and the summary stands behind them."""
    texts = [*(message.text for message in before if message.role == "user"), SUMMARY]
    kept = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in texts
        if text
    ]
    payload = {"message": SUMMARY, "replacement_history": kept}
    time = session.time(len(before))
    about, *rows = EXPORTERS["codex"].rows([*before, *after], session)
    yield about
    model = {"cwd": str(session.project), "model": session.model}
    yield {"timestamp": session.time(), "type": "turn_context", "payload": model}
    yield from (row for row in rows if row["timestamp"] < time)
    yield {"timestamp": time, "type": "compacted", "payload": payload}
    yield from (row for row in rows if row["timestamp"] >= time)


def _pi(before: Messages, after: Messages, session: NewSession) -> Iterator[Row]:
    """The newest messages stay behind the summary."""
    rows = list(EXPORTERS["pi"].rows([*before, *after], session))
    cut = len(list(EXPORTERS["pi"].rows(before, session)))
    asked = [row["id"] for row in rows[1:cut] if row["message"]["role"] == "user"]
    compaction = {
        "type": "compaction",
        "id": session.id(-1)[:8],
        "parentId": rows[cut - 1]["id"],
        "timestamp": rows[cut - 1]["timestamp"],
        "summary": SUMMARY,
        "firstKeptEntryId": asked[-1],
    }
    rows[cut]["parentId"] = compaction["id"]
    yield from (*rows[:cut], compaction, *rows[cut:])


def _gemini_cli(before: Messages, after: Messages, session: NewSession) -> Iterator[Row]:
    """A snapshot and the newest messages take the place of the history."""
    yield {"sessionId": session.session_id, "projectHash": "0" * 64, "kind": "main"}
    earlier = list(_gemini_rows(before, 0, session))
    yield from earlier
    time = session.time(len(before))
    said = (("user", f"<state_snapshot>{SUMMARY}</state_snapshot>"), ("gemini", "Got it."))
    summary = [
        {"id": f"s{at}", "timestamp": time, "type": kind, "content": [{"text": text}]}
        for at, (kind, text) in enumerate(said)
    ]
    asked = [at for at, message in enumerate(before) if message.role == "user" and message.text]
    yield {"$set": {"messages": [*summary, *earlier[asked[-1] :]]}}
    yield from _gemini_rows(after, len(before), session)


def _gemini_rows(messages: Messages, first: int, session: NewSession) -> Iterator[Row]:
    outputs = _outputs(messages)
    for number, message in enumerate(messages, first):
        row = {"id": f"m{number}", "timestamp": session.time(number)}
        if message.role == "user":
            texts = [{"text": message.text}] if message.text else []
            content = [*map(_gemini_response, message.results), *texts]
            yield row | {"type": "user", "content": content}
            continue
        calls = [
            {"id": call.id, "name": call.name, "args": call.arguments}
            | {"result": [_gemini_response(outputs[call.id])]}
            for call in message.calls
        ]
        answer = {"type": "gemini", "content": message.text, "model": session.model}
        yield row | answer | {"toolCalls": calls}


def _gemini_response(result: ToolResult) -> Row:
    return {"functionResponse": {"id": result.call_id, "response": {"output": result.text}}}


def _copilot_cli(before: Messages, after: Messages, session: NewSession) -> Iterator[Row]:
    """The summary takes the place of everything, and quotes the user."""
    about = {"sessionId": session.session_id, "context": {"cwd": str(session.project)}}
    events = [(0, "session.start", about)]
    for number, message in enumerate([*before, *after]):
        if number == len(before):
            done = {"success": True, "summaryContent": SUMMARY}
            events += [(number, "session.compaction_start", {})]
            events += [(number, "session.compaction_complete", done)]
        events += [(number, kind, data) for kind, data in _copilot_events(message, number, session)]
    for place, (number, kind, data) in enumerate(events):
        parent = f"e{place - 1}" if place else None
        row = {"type": kind, "data": data, "id": f"e{place}", "parentId": parent}
        yield row | {"timestamp": session.time(number)}


def _copilot_events(
    message: Message, number: int, session: NewSession
) -> Iterator[tuple[str, Row]]:
    for result in message.results:
        output = {"content": result.text}
        data = {"toolCallId": result.call_id, "success": not result.is_error, "result": output}
        yield "tool.execution_complete", data
    if message.role == "user" and message.text:
        yield "user.message", {"content": message.text}
    elif message.role == "assistant":
        requests = [
            {"toolCallId": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
        about = {"model": session.model, "apiCallId": f"api{number}"}
        yield "assistant.message", about | {"content": message.text, "toolRequests": requests}


def _opencode(before: Messages, after: Messages, session: NewSession) -> Iterator[Row]:
    """The newest turn stays behind the summary. An export is one JSON value."""
    rows = list(_opencode_rows([*before, *after], session))
    cut = next(at for at, row in enumerate(rows) if row["info"]["id"] == f"msg_{len(before):04}")
    asked = [row["info"]["id"] for row in rows[:cut] if row["info"]["role"] == "user"]
    time = rows[cut]["info"]["time"]
    by = {"providerID": "anthropic", "modelID": session.model}
    boundary = {
        "info": {"id": "msg_c", "role": "user", "time": time, "model": by},
        "parts": [{"type": "compaction", "auto": False, "tail_start_id": asked[-1]}],
    }
    summary = {
        "info": {
            "id": "msg_s",
            "role": "assistant",
            "parentID": "msg_c",
            "mode": "compaction",
            "summary": True,
            "finish": "stop",
            "time": time,
            **by,
        },
        "parts": [{"type": "text", "text": SUMMARY}],
    }
    info = {"id": "ses_0001", "title": TITLE, "directory": str(session.project)}
    yield {"info": info, "messages": [*rows[:cut], boundary, summary, *rows[cut:]]}


def _opencode_rows(messages: Messages, session: NewSession) -> Iterator[Row]:
    outputs, parent = _outputs(messages), ""
    by = {"providerID": "anthropic", "modelID": session.model}
    for number, message in enumerate(messages):
        if message.role == "user" and not message.text:
            continue  # the results are in the calls
        at = int(session.created.timestamp() + 60 * number) * 1000
        id, time = f"msg_{number:04}", {"created": at, "completed": at}
        texts = [{"type": "text", "text": message.text}] if message.text else []
        if message.role == "user":
            parent = id
            yield {"info": {"id": id, "role": "user", "time": time, "model": by}, "parts": texts}
            continue
        tools = [
            {
                "type": "tool",
                "tool": call.name,
                "callID": call.id,
                "state": {
                    "status": "completed",
                    "input": call.arguments,
                    "output": outputs[call.id].text,
                    "time": {"start": at, "end": at},
                },
            }
            for call in message.calls
        ]
        about = {"id": id, "role": "assistant", "parentID": parent, "time": time, "finish": "stop"}
        yield {"info": about | by, "parts": [*texts, *tools]}


def _outputs(messages: Messages) -> Mapping[str, ToolResult]:
    """Results by the ids of their calls."""
    return {result.call_id: result for message in messages for result in message.results}


Writer: TypeAlias = Callable[[Messages, Messages, NewSession], Iterator[Row]]
HOSTS: Mapping[str, tuple[Writer, str, int]] = {
    "claude-code": (_claude_code, "claude-sonnet-4-5", 52),
    "codex": (_codex, "gpt-5.5", 48),
    "gemini-cli": (_gemini_cli, "gemini-2.5-pro", 44),
    "opencode": (_opencode, "claude-sonnet-4-5", 30),
    "pi": (_pi, "claude-sonnet-4-5", 38),
    "copilot-cli": (_copilot_cli, "claude-sonnet-4.6", 58),
}
"""How a host's session is written, its model, and before which message it is compacted."""


def write(host: str, messages: Messages, path: Path, *, project: str, began: float) -> None:
    """Writes the messages as a session of a host."""
    writer, model, cut = HOSTS[host]
    created = datetime.fromtimestamp(began, UTC)
    session = Slow("00000000-0000-4000-8000-000000000001", Path(project), created, model)
    rows = writer(messages[:cut], messages[cut:], session)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
