"""`context_summary`: past summaries, digests and checkpoints."""

from itertools import islice
from typing import Any

from mcp.types import CallToolResult

from context_compression.conversation.labels import SEARCH
from context_compression.conversation.messages import is_array
from context_compression.conversation.refs import ref_of
from context_compression.errors import TranscriptError
from context_compression.mcp_server.arguments import SummaryArguments
from context_compression.mcp_server.calls import Call, text_answer
from context_compression.mcp_server.checkpoints import Checkpoint, beginning, fitting
from context_compression.mcp_server.compressing import open_named_session
from context_compression.mcp_server.sessions import LISTED, NUMBER, EarlierSessions, header
from context_compression.plurals import how_many, in_range
from context_compression.session import PAGE
from context_compression.strings import fenced, one_line
from context_compression.workspace.opened import CHECKPOINT

DIGESTS = 'context_summary(conversation="s1") tells what one was about'
"""The call that takes a session of the list."""
NAMED = 10
"""How many older summaries are listed by their ref only."""


async def context_summary(call: Call, arguments: SummaryArguments) -> CallToolResult:
    """What `context_summary` answers."""
    session, note, unknown = CHECKPOINT, "", None
    if arguments.conversation != CHECKPOINT:
        try:
            session, note = await open_named_session(call, arguments.conversation)
        except TranscriptError as error:
            session, unknown = CHECKPOINT, error
    entries = await call.in_thread(
        "reading the summaries", lambda: call.workspace.store.summaries(session=session)
    )
    request = call.request
    earlier = EarlierSessions(call.workspace, lambda: call.conversations.calling(request))
    if unknown:
        name = arguments.conversation or ""
        entries = [] if NUMBER.fullmatch(name) else _meant(entries, name)
        if not entries and (told := await call.in_thread("reading", lambda: _told(earlier, name))):
            return text_answer(told)
        if not entries:
            raise unknown
        note = "note: no conversation has this name; it is that of a checkpoint"
    sessions = ""
    if not arguments.conversation:
        sessions = await call.in_thread("looking for sessions", lambda: earlier.listed(DIGESTS))
    if not entries:
        of = f" of {session}" if session else ""
        return _answer(
            f"No summaries{of} yet. context_compress makes them with strategy window or summarize "
            "(extract quotes instead); with summary it keeps a checkpoint that you wrote. "
            f"{SEARCH} searches what was compressed.",
            sessions,
        )
    return _answer(note, page(entries, arguments.limit), sessions)


def _answer(*parts: str) -> CallToolResult:
    return text_answer("\n\n".join(filter(None, parts)))


def _told(earlier: EarlierSessions, name: str) -> str:
    """What the session with a name was about; "" if no session has it."""
    found = [*islice(earlier.fitting(name), 1 + LISTED)]
    if not found:
        return ""
    head = "note: what an earlier session of this project was about, from its transcript. "
    others = "\n".join(["Others that fit:", *map(header, found[1:])]) if found[1:] else ""
    return "\n\n".join(
        filter(None, [f"{head}{SEARCH} searches all of it.", earlier.told(found[0]), others])
    )


def _meant(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The checkpoints that a person may mean by `name`, as for the prompt `resume`."""
    refs = {each.ref for each in fitting([*map(Checkpoint.of, entries)], name)}
    return [entry for entry in entries if ref_of(_text(entry)) in refs]


def page(entries: list[dict[str, Any]], limit: int) -> str:
    """The newest `limit` summaries that fit on a page, and the refs of older ones."""
    shown = _that_fit(entries[:limit])
    count = f"{len(shown)} of {how_many(len(entries), 'summary')}, newest first"
    named = [_header(entry) for entry in entries[len(shown) : len(shown) + NAMED]]
    more = ["\n".join(["Older ones, for context_restore(ref=…):", *named])] if named else []
    return "\n\n".join([count, *shown, *more])


def _that_fit(entries: list[dict[str, Any]]) -> list[str]:
    """The newest summaries that fit in full; if the first one does not fit, it is cut at a line."""
    shown: list[str] = []
    room = PAGE
    for entry in entries:
        text = _text(entry) + _key_points(entry)
        if shown and len(text) > room:
            break
        part, cut = beginning(_text(entry), room)
        text = part if cut else text
        shown.append(f"{_header(entry)}{cut}\n{fenced(text)}")
        room -= len(text)
    return shown


def _text(entry: dict[str, Any]) -> str:
    return str(entry.get("content", ""))


def _key_points(entry: dict[str, Any]) -> str:
    """Rules and decisions, verbatim, that code added to a model's summary."""
    points = entry.get("key_points") if entry.get("strategy") == "summarize" else None
    if not points or not is_array(points):
        return ""
    return "".join(["\n\nKey points:", *(f"\n- {point}" for point in points)])


def _header(entry: dict[str, Any]) -> str:
    checkpoint = entry.get("session") == CHECKPOINT
    parts = [
        f"ref {ref_of(_text(entry))}",
        f'"{Checkpoint.of(entry).title}"' if checkpoint else None,
        entry.get("created_at"),
        f"session {entry.get('session')}",
    ]
    match entry.get("messages"):
        case [int(first), int(last)]:
            parts.append(in_range("message", first, last))
        case _:
            pass
    if strategy := entry.get("strategy"):
        parts.append(f"by {strategy}")
    tokens = entry.get("tokens")
    parts.append(how_many(tokens if isinstance(tokens, int) else 0, "token"))
    return " · ".join(one_line(part) for part in parts if part)
