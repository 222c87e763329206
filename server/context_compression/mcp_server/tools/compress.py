"""`context_compress`: compacts a conversation, undoes a compression, keeps a checkpoint."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from anyio.to_thread import run_sync
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.errors import ContextCompressionError, PlanError
from context_compression.hosts.conversations import CURRENT
from context_compression.mcp_server.arguments import CompressArguments, Messages, without_empty
from context_compression.mcp_server.calls import Call, answer, settings_for
from context_compression.mcp_server.checkpoints import title_of
from context_compression.mcp_server.compressing import (
    NoCurrentConversation,
    SummaryWriter,
    compress_conversation,
    compress_without_conversation,
    open_conversation,
    same_conversation,
)
from context_compression.mcp_server.summary_by_caller import apply_summary, request_summary
from context_compression.planning.edits import recorded
from context_compression.plurals import how_many
from context_compression.report.facts import undone
from context_compression.session import Session, no_plan
from context_compression.settings import Settings
from context_compression.threads import about_to_write
from context_compression.tokens import Counter
from context_compression.workspace import Opened
from context_compression.workspace.opened import CHECKPOINT

TELL = (
    'Start a new chat and say there: Resume the checkpoint "{title}". Or pick the prompt resume. '
    "This chat itself does not get shorter."
)


async def context_compress(call: Call, arguments: CompressArguments) -> CallToolResult:
    """What `context_compress` answers."""
    if arguments.summary is not None and arguments.plan_id is None:
        return await _keep_checkpoint(call, arguments)
    with recorded(arguments.explain):
        return await _compressed(call, arguments)


async def _compressed(call: Call, arguments: CompressArguments) -> CallToolResult:
    """The answer to a call that may change a conversation."""
    if arguments.title:
        raise ToolError(
            "title is that of a checkpoint. Pass it with summary alone, or leave it out."
        )
    _refuse_contradictions(arguments)
    settings = await run_sync(settings_for, call.workspace, arguments.settings)
    conversation, messages, plan_id = arguments.conversation, arguments.messages, arguments.plan_id
    if plan_id is not None and conversation is None and messages is None:
        conversation = await call.in_thread(
            "looking for the plan", lambda: _session_of_plan(call, plan_id, arguments.model)
        )
    try:
        opened = await open_conversation(
            call, conversation, messages, settings=settings, model=arguments.model
        )
    except NoCurrentConversation as nothing:
        if arguments.undo or plan_id is not None:
            raise
        return compress_without_conversation(call, nothing, arguments.focus)
    call.conversations.refuse_own_session(opened.session.id)
    same = _same_conversation(arguments, opened)
    if plan_id is not None:
        text = arguments.summary or ""
        return await apply_summary(
            call, opened, messages, plan_id, text,
            same_conversation=same, explain=arguments.explain,
        )  # fmt: skip
    if arguments.undo:
        return await call.in_thread("undoing", lambda: _undone(opened, messages))
    writer = _writer(call, arguments, settings)
    options: dict[str, Any] = {
        "target_tokens": arguments.target_tokens,
        "strategy": arguments.strategy,
        "pins": arguments.pins,
        "focus": arguments.focus,
        "force": arguments.target_tokens is None,
    }
    if writer.caller and not arguments.dry_run:
        changes = without_empty(arguments.settings)
        options |= {"settings": changes} if changes else {}
        return await request_summary(
            call, opened, messages, writer, options,
            same_conversation=same, explain=arguments.explain,
        )  # fmt: skip
    return await compress_conversation(
        call,
        opened,
        messages,
        writer=writer,
        dry_run=arguments.dry_run,
        explain=arguments.explain,
        **options,
    )


def _refuse_contradictions(arguments: CompressArguments) -> None:
    """Raises `ToolError` for arguments that contradict each other."""
    undo, dry_run, plan_id = arguments.undo, arguments.dry_run, arguments.plan_id
    if undo and (arguments.target_tokens is not None or arguments.pins or arguments.focus):
        raise ToolError(
            "undo takes the last compression back, so target_tokens, pins and focus do not go with "
            "it. Leave them out, or leave out undo."
        )
    if undo and dry_run and plan_id is None:
        raise ToolError("undo has no dry run. Leave out dry_run, or leave out undo.")
    if plan_id is not None and (arguments.summary is None or dry_run or undo):
        raise ToolError(
            "plan_id goes with summary, the summary that the plan asked for, and not with dry_run "
            "or undo. Pass plan_id and summary only."
        )


def _session_of_plan(call: Call, plan_id: str, model: str | None) -> str | None:
    """The session in which a plan was made; `None` for the current conversation.

    Raises:
        PlanError: no recorded conversation has such a plan.
    """
    with suppress(ContextCompressionError):
        current = call.conversations.open(model=model, tool_request=call.request).session
        if plan_id in current.state().plans:
            return None
    store = call.workspace.store
    for id in call.conversations.recorded():
        if plan_id in Session(store, id).state().plans:
            return id
    raise PlanError(no_plan(plan_id, f"any conversation recorded in {store.name}"))


def _writer(call: Call, arguments: CompressArguments, settings: Settings) -> SummaryWriter:
    """The author of a summary, if the strategy may use one."""
    strategy = arguments.strategy or settings.strategy
    if strategy not in ("auto", "summarize"):
        return SummaryWriter()
    model = call.workspace.summarizer(settings)
    needs_one = strategy == "summarize" and settings.summarizer != "none"
    caller = model is None and (settings.summarizer == "caller" or needs_one)
    return SummaryWriter(model, caller, call.workspace.why_no_model(settings))


def _same_conversation(arguments: CompressArguments, opened: Opened) -> str:
    """The arguments with which the next call names the same conversation."""
    conversation = arguments.conversation
    if arguments.messages is not None:
        conversation = conversation or opened.session.id
    parts = same_conversation(conversation, arguments.messages, arguments.model)
    return "".join(f"{part}, " for part in parts)


def _undone(opened: Opened, messages: Messages | None) -> CallToolResult:
    """Undoes the last compression and reports the sizes before and after."""
    about_to_write()
    before = opened.session.state()
    view = opened.session.undo(messages)
    facts = undone(opened, before, view)
    for_programs: dict[str, Any] = {} if messages is None else {"messages": view}
    if for_programs and opened.session.state().summary_in_system is not None:
        for_programs["system"] = opened.session.system
    return answer(*facts, **for_programs)


async def _keep_checkpoint(call: Call, arguments: CompressArguments) -> CallToolResult:
    named = arguments.conversation not in (None, "", CURRENT, CHECKPOINT)
    if named or arguments.messages is not None or arguments.undo or arguments.dry_run:
        raise ToolError(
            "summary without plan_id keeps a checkpoint, which belongs to no conversation. To keep "
            "one, pass summary without conversation, messages, undo and dry_run. To finish a "
            "compression, add the plan_id of the answer that asked for the summary. To compress, "
            "leave out summary."
        )
    text = arguments.summary or ""
    if not text.strip():
        raise ToolError("summary is empty. Pass the text to keep.")

    def work() -> CallToolResult:
        tokens, title = Counter(arguments.model).text(text), title_of(text, arguments.title)
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        entry = {
            "created_at": now, "session": CHECKPOINT, "title": title, "content": text,
            "tokens": tokens,
        }  # fmt: skip
        about_to_write()
        store = call.workspace.store
        what = f"{CHECKPOINT}: {title}"
        ref = Session(store, CHECKPOINT).offload(text, what=what)  # so that a search finds it
        store.add_summary(entry)
        kept = f"checkpoint of {how_many(tokens, 'token')} kept as {ref}"
        return answer(
            f"{kept}; context_summary brings it into any chat",
            {"tokens": tokens, "ref": ref},
            {
                "title": title,
                "created_at": now,
                "tell_the_user": TELL.format(title=title),
                "store": store.name,
            },
        )

    return await call.in_thread("keeping the checkpoint", work)
