"""Opens the conversation of a call, and runs the compression that the call requests.

The answers of status and compress where the client does not share its conversation. Claude Desktop
and clients on the web keep their conversations to themselves. There a call without `messages` is
about nothing that can be read. That is no error of the agent: it learns what is archived here and
which calls help.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from anyio.to_thread import run_sync
from mcp.types import CallToolResult

from context_compression.compression.forecast import Forecast, forecast_summary
from context_compression.compression.result import Result
from context_compression.conversation.formats import parse
from context_compression.conversation.labels import SEARCH
from context_compression.conversation.system_prompt import summary_in
from context_compression.errors import (
    ConversationNotFound,
    PathNotAllowed,
    StoreError,
    TranscriptError,
)
from context_compression.hosts.conversations import CURRENT
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.calls import Call, answer
from context_compression.mcp_server.checkpoints import WHAT_TO_WRITE, checkpoints
from context_compression.mcp_server.resources import newest_refs
from context_compression.plurals import how_many
from context_compression.report.facts import ReportedCompression, replaced_compressions
from context_compression.session import Session
from context_compression.settings import GUARDED, Settings
from context_compression.store import Store
from context_compression.strings import in_words, one_line
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens import Counter
from context_compression.transcripts.opening import HOW_TO_ALLOW
from context_compression.workspace import Opened
from context_compression.workspace.opened import CHECKPOINT, KEPT_IN

CANDIDATES = 5  # recorded sessions named in an error
INSTEAD = (
    "Without a conversation, context_compress(summary=…) keeps a checkpoint, context_offload with "
    f"content archives a text, and {SEARCH} searches the archive."
)
NOT_SHARED = "this client does not share its conversation with this server"
SWITCHED_OFF = "reading this host's conversation is switched off"


class NoCurrentConversation(ConversationNotFound):
    """The conversation we are called from cannot be read, so there is no current one.

    Attributes:
        why: for the first line of an answer.
        reason: in full, with what can be passed instead.
    """

    def __init__(self, reason: TranscriptError, recorded: list[str]) -> None:
        super().__init__(f"{reason} {INSTEAD}", recorded)
        switched_off = isinstance(reason, PathNotAllowed)
        self.why = SWITCHED_OFF if switched_off else NOT_SHARED
        self.reason = one_line(reason, 1_000)


async def open_conversation(
    call: Call,
    conversation: str | None,
    messages: Messages | None,
    *,
    settings: Settings | None = None,
    model: str | None = None,
) -> Opened:
    """The conversation that a call is about. It is only read.

    Args:
        call: the call.
        conversation: a session id, a path, or `current`, which is the default; with `messages`, the
            session that keeps them.
        messages: the conversation itself.
        settings: the settings of this call.
        model: the conversation's model, for token counts and the size of the context window.

    Raises:
        NoCurrentConversation: the call is about the current one, and there is none.
        ContextCompressionError: the conversation cannot be opened; the message says what can be
            passed instead.
    """
    if messages is None:
        return await call.in_thread(
            "reading the conversation", lambda: _open(call, conversation, settings, model)
        )
    return await call.in_thread(
        "reading the record", lambda: _recording(call, conversation, messages, settings, model)
    )


def same_conversation(
    conversation: str | None, messages: Messages | None, model: str | None
) -> list[str]:
    """The arguments with which another call names the same conversation."""
    named = {"conversation": conversation, "model": model}
    parts = [f"{n}={json.dumps(value, ensure_ascii=False)}" for n, value in named.items() if value]
    return ["messages=<the same>"] * (messages is not None) + parts


async def open_named_session(call: Call, conversation: str | None) -> tuple[str | None, str]:
    """The id of the session that `conversation` names or that keeps its transcript, and a note.

    `None` for no conversation, and where there is no current one; then a note says so.
    """
    if not conversation or conversation in await run_sync(call.workspace.store.sessions):
        return conversation or None, ""
    try:
        return (await open_conversation(call, conversation, None)).session.id, ""
    except NoCurrentConversation:
        return None, "note: no conversation is known as current, so this is of all sessions"


def _recording(
    call: Call,
    conversation: str | None,
    messages: Messages,
    settings: Settings | None,
    model: str | None,
) -> Opened:
    """The session that keeps messages which a caller passes."""
    conversations, store = call.conversations, call.workspace.store
    if conversation is None or conversation in ("", CURRENT):
        parsed = parse(messages)
        session = conversations.session_for(parsed, settings=settings, model=model)
        return Opened(session, passed=parsed)
    conversations.refuse_own_session(conversation)
    conversations.refuse_file_name(conversation)
    settings = settings or call.workspace.settings()
    session = Session(store, conversation, settings=settings, model=model, summarizer=None)
    return Opened(session, passed=messages)


def _open(
    call: Call, conversation: str | None, settings: Settings | None, model: str | None
) -> Opened:
    try:
        return call.conversations.open(
            conversation, settings=settings, model=model, tool_request=call.request
        )
    except (ConversationNotFound, PathNotAllowed) as error:
        uncertain = isinstance(error, ConversationNotFound) and error.candidates
        if uncertain or conversation not in (None, "", CURRENT):
            raise
        raise NoCurrentConversation(error, call.conversations.recorded()[:CANDIDATES]) from error


@dataclass(frozen=True)
class SummaryWriter:
    """The author of the summary, if one is due; by default there is none.

    Attributes:
        model: the model that writes it.
        caller: whether the calling agent writes it.
        warning: why a model that was named is not called.
    """

    model: Summarizer | None = None
    caller: bool = False
    warning: str | None = None


NO_WRITER = SummaryWriter()


def report(compression: ReportedCompression, messages: Messages | None = None) -> CallToolResult:
    """The report of a compression, with the compacted context if the caller passed the messages.

    Args:
        compression: which a call made, or tried to.
        messages: for the caller, instead of the result's messages.
    """
    result, values = compression.result, dict[str, Any]()
    if compression.messages_passed and result.changed and not compression.dry_run:
        values["messages"] = result.messages if messages is None else messages
        if summary_in(result.system):
            values["system"] = result.system
    return answer(*compression.facts, **values)


async def compress_conversation(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    *,
    writer: SummaryWriter = NO_WRITER,
    dry_run: bool = False,
    explain: bool = False,
    **options: Any,
) -> CallToolResult:
    """Compresses a conversation and reports it; the report never contains the removed text.

    Args:
        call: the call.
        opened: the conversation.
        messages: the conversation's messages, if the caller passed them; then the compacted context
            is part of the answer.
        writer: writes a summary if one is due.
        dry_run: change nothing, and call no model.
        explain: add the explanations of the most telling messages.
        options: the options of `Session.compress`.
    """
    session = opened.session
    replaced = await call.in_thread("reading the record", lambda: replaced_compressions(opened))

    def reported(result: Result, forecast: Forecast | None = None) -> CallToolResult:
        passed = messages is not None
        return report(
            ReportedCompression(
                result, opened, options, passed, dry_run, explain, forecast, writer.warning,
                replaced=replaced,
            )
        )  # fmt: skip

    if dry_run:

        def work() -> CallToolResult:
            view = opened.before.view if opened.shown is None else opened.shown
            return reported(*_preview(session, view, writer, options))

        return await call.in_thread("counting", work)
    await call.in_thread("archiving what the host cleared", opened.archive_cleared)
    if writer.model:
        session.summarizer = writer.model
    return await call.in_thread(
        "Compacting …" if writer.model else "counting and compressing",
        lambda: reported(session.compress(messages=opened.shown, **options)),
    )


def _preview(
    session: Session,
    view: Sequence[Mapping[str, Any]],
    writer: SummaryWriter,
    options: Mapping[str, Any],
) -> tuple[Result, Forecast | None]:
    """The result of a compression, and a forecast of its summary; calls no model."""
    if not (writer.model or writer.caller):
        return session.preview(view, **options), None
    return forecast_summary(
        session.preview,
        view,
        options,
        counter=Counter(session.model, session.counter),
        most=session.settings.summary_tokens,
        by_caller=writer.caller,
    )


SESSIONS = {False: 5, True: 30}  # the newest ones; more in a detailed answer
REFS = {False: 0, True: 20}
CHECKPOINTS = {False: 3, True: 10}
SETTINGS = ("strategy", "summarizer", "token_budget", "offload_min_tokens")
"""Settings of what can be compressed without a host; those that were set are added."""
KEEP = 'context_compress(summary="<text>")'
MOST_TOKENS = 250
"""The most tokens of a status that is not detailed, in the vocabulary o200k."""
MOST_OF_NOTHING = 120
"""The same where nothing is known and nothing is archived."""


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
    warnings = [*call.workspace.doubts()]
    facts = {
        "reason": nothing.reason,
        "warnings": warnings,
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
    }
    headline = f"{nothing.why}, so its size is not known here; {held}"
    known = {"conversation_known": False, "archived": sizes}
    if detailed:
        return answer(headline, known, facts)
    told = ("warnings", "calls_that_help", "newest_checkpoints")
    most = MOST_TOKENS if ids or warnings else MOST_OF_NOTHING
    return answer(headline, known, facts, told, most)


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
    known = {"session": id, "refs_total": len(refs)}
    if detailed:
        return answer(headline, known, facts)
    told = ("warnings", "newest_checkpoints" if id == CHECKPOINT else "newest_refs")
    return answer(headline, known, facts, told, MOST_TOKENS)


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
        "then": "its answer says what to tell the user; this chat itself does not get shorter",
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
        f"ref {each.ref}, {one_line(each.created_at)}: {each.title}"
        for each in checkpoints(store, CHECKPOINTS[detailed])
    ]


def _held(store: Store, id: str) -> str:
    """`"45 messages, 12 originals, 120,000 bytes"`, or why the session cannot be read."""
    try:
        state = Session(store, id).state()
    except StoreError as error:
        return f"cannot be read: {one_line(error, 300)}"
    messages = [] if id in KEPT_IN else [how_many(len(state.recorded), "message")]
    parts = [*messages, how_many(len(state.refs), "original"), how_many(store.size_of(id), "byte")]
    return ", ".join(parts)


def _offloads(*, reads_files: bool) -> list[str]:
    """The calls that archive a text or a file; a path is refused where no file may be read."""
    file = "context_offload(path=…) archives a text file, and its preview and ref stand for it"
    return ["context_offload(content=…) archives a long text", *([file] if reads_files else [])]


def _calls(ids: list[str], *, has_checkpoint: bool, reads_files: bool) -> list[str]:
    """The calls that help, the most helpful first."""
    recorded = next((id for id in ids if id not in KEPT_IN), None)
    calls = [f"{KEEP} keeps a checkpoint for a new chat", *_offloads(reads_files=reads_files)]
    if has_checkpoint:
        calls.insert(0, "context_summary() brings the newest checkpoints into this chat")
    if ids:
        calls += [
            f"{SEARCH} searches all that is archived",
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
