"""The answers of status and compress where the client does not share its conversation.

Claude Desktop and clients on the web keep their conversations to themselves. There a call without
`messages` is about nothing that can be read. That is no error of the agent: it learns what is
archived here and which calls help.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from mcp.types import CallToolResult

from context_compression.display.plurals import how_many
from context_compression.display.strings import in_words, one_line
from context_compression.errors import StoreError
from context_compression.mcp_server.answers import answer
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.checkpoints import WHAT_TO_WRITE, checkpoints
from context_compression.mcp_server.conversation import NoCurrentConversation
from context_compression.mcp_server.newest_refs import newest_refs
from context_compression.session import Session
from context_compression.settings import GUARDED, Settings
from context_compression.store import Store
from context_compression.transcripts.access import HOW_TO_ALLOW
from context_compression.workspace.own_sessions import CHECKPOINT, KEPT_IN

SESSIONS = {False: 5, True: 30}  # the newest ones; more in a detailed answer
REFS = {False: 0, True: 20}
CHECKPOINTS = {False: 3, True: 10}
SETTINGS = ("strategy", "summarizer", "token_budget", "offload_min_tokens")
"""Settings of what can be compressed without a host; those that were set are added."""
KEEP = 'context_compress(summary="<text>")'


def status_without_conversation(
    call: Call, nothing: NoCurrentConversation, *, detailed: bool
) -> CallToolResult:
    """What is archived, what cannot be seen, and which calls help."""
    store = call.workspace.store
    ids = store.sessions()
    kept = _newest_checkpoints(store, detailed=detailed)
    sizes = {"sessions": len(ids), "bytes": store.size_of()}
    held = f"archived here: {how_many(len(ids), 'session')}, {how_many(sizes['bytes'], 'byte')}"
    held = held if ids else "nothing is archived here yet"
    settings, reads_files = call.workspace.settings(), call.workspace.reads_files()
    facts = {
        "reason": nothing.reason,
        "sessions": [f"{id}: {_held(store, id)}" for id in ids[: SESSIONS[detailed]]],
        "newest_checkpoints": kept,
        "newest_refs": {
            ref: one_line(what) for ref, what in islice(newest_refs(store, ids), REFS[detailed])
        },
        "settings": _settings(settings, all_of_them=detailed),
        "store": store.name,
        "files_may_be_read_in": [*map(str, call.workspace.access.roots)],
        "to_read_other_files": None if reads_files or call.workspace.tenant else HOW_TO_ALLOW,
        "calls_that_help": _calls(ids, has_checkpoint=bool(kept), reads_files=reads_files),
        "warnings": [*call.workspace.doubts()],
    }
    headline = f"{nothing.why}, so its size is not known here; {held}"
    return answer(headline, {"conversation_known": False, "archived": sizes}, facts)


def status_of_own_session(call: Call, id: str, *, detailed: bool) -> CallToolResult:
    """What is kept in a session of this package, which is no conversation."""
    store = call.workspace.store
    headline = f"{id!r} is no conversation: {KEPT_IN[id]} are kept in it; {_held(store, id)}"
    refs = dict(newest_refs(store, [id]))
    facts = {
        "newest_checkpoints": _newest_checkpoints(store, detailed=detailed)
        if id == CHECKPOINT
        else [],
        "newest_refs": {
            ref: one_line(what) for ref, what in islice(refs.items(), REFS[True] if detailed else 5)
        },
        "store": store.name,
        "warnings": [*call.workspace.doubts()],
    }
    return answer(headline, {"session": id, "refs_total": len(refs)}, facts)


def compress_without_conversation(
    call: Call, nothing: NoCurrentConversation, focus: str | None
) -> CallToolResult:
    """What to write instead of a compression, and the call that keeps it."""
    reads_files = call.workspace.reads_files()
    about = f". Its focus: {in_words(focus, 1_000)}" if focus and focus.strip() else ""
    facts = {
        "reason": nothing.reason,
        "instructions": f"Write {WHAT_TO_WRITE}{about}.",
        "next_call": KEEP,
        "then": "the user starts a new chat, in which context_summary or the prompt resume brings "
        "the checkpoint back; this chat stays as long as it is",
        "other_ways": [
            *_offloads(reads_files=reads_files),
            "context_compress(conversation=<path or session id>) compresses a transcript, a file "
            "of messages or a recorded session"
            if reads_files
            else "context_compress(conversation=<session id>) compresses a recorded session",
        ],
        "recorded_sessions": nothing.candidates,
        "warnings": [*call.workspace.doubts()],
    }
    headline = (
        f"nothing was compressed: {nothing.why}. A checkpoint of your own words helps instead"
    )
    return answer(headline, {"changed": False, "conversation_known": False}, facts)


def _newest_checkpoints(store: Store, *, detailed: bool) -> list[str]:
    return [
        f"ref {each.ref}, {one_line(each.created_at)}: {each.glimpse}"
        for each in checkpoints(store, CHECKPOINTS[detailed])
    ]


def _held(store: Store, id: str) -> str:
    """`"45 messages, 12 refs, 120,000 bytes"`, or why the session cannot be read."""
    try:
        state = Session(store, id).state()
    except StoreError as error:
        return f"cannot be read: {one_line(error, 300)}"
    messages = [] if id in KEPT_IN else [how_many(len(state.recorded), "message")]
    parts = [*messages, how_many(len(state.refs), "ref"), how_many(store.size_of(id), "byte")]
    return ", ".join(parts)


def _offloads(*, reads_files: bool) -> list[str]:
    """The calls that archive a text or a file; a path is refused where no file may be read."""
    file = "context_offload(path=…) archives a text file, and its preview and ref stand for it"
    return ["context_offload(content=…) archives a long text", *([file] if reads_files else [])]


def _calls(ids: list[str], *, has_checkpoint: bool, reads_files: bool) -> list[str]:
    recorded = next((id for id in ids if id not in KEPT_IN), None)
    calls = [f"{KEEP} keeps a checkpoint for a new chat", *_offloads(reads_files=reads_files)]
    if has_checkpoint:
        calls.insert(0, "context_summary() brings the newest checkpoints into this chat")
    if ids:
        calls += [
            "context_restore(query=…) searches all that is archived",
            'context_status(response_format="detailed") lists the newest refs',
        ]
    if recorded:
        calls.append(f'context_status(conversation="{recorded}") shows a recorded session')
    return calls


def _settings(settings: Settings, *, all_of_them: bool) -> Mapping[str, Any]:
    names = {*SETTINGS, *settings.model_fields_set}
    values = settings.model_dump(mode="json")
    return {
        name: value
        for name, value in values.items()
        if name not in GUARDED and (all_of_them or name in names)
    }
