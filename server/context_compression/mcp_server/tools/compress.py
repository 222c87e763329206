"""`context_compress`: makes a conversation smaller, takes that back, keeps a checkpoint."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BeforeValidator, Field, WithJsonSchema

from context_compression.display.plurals import how_many
from context_compression.errors import ContextCompressionError, PlanError
from context_compression.mcp_server.account import Writer, compressed
from context_compression.mcp_server.answers import answer
from context_compression.mcp_server.arguments import Arguments, Messages, Positive
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.opening import opened, settings_for
from context_compression.mcp_server.two_calls import answered, asked_of_the_caller
from context_compression.session import Session, no_plan
from context_compression.settings import NO_BOOL, Settings, StrategyName
from context_compression.tokens import Counter
from context_compression.tokens.usage import count_tokens
from context_compression.workspace import Opened
from context_compression.workspace.own_sessions import CHECKPOINT


def _index(pin: Any) -> Any:
    return int(pin) if isinstance(pin, str) and re.fullmatch(r"-?\d{1,9}", pin) else pin


# Some clients know but one type for an item, so the schema says text, and "12" is an index.
Pin = Annotated[int | str, NO_BOOL, BeforeValidator(_index), WithJsonSchema({"type": "string"})]


class CompressArguments(Arguments):
    """Of `context_compress`."""

    conversation: str | None = None
    """as in context_status; with messages, the session that keeps them"""
    messages: Messages | None = None
    """as in context_status; the answer's structure holds the new view"""
    strategy: StrategyName | None = None
    """auto: cheapest first until the target is met"""
    target_tokens: Positive | None = None
    """tokens to come down to"""
    focus: str | None = None
    """what the remaining work is about"""
    pins: tuple[Pin, ...] = ()
    """messages to keep whole: by index, or by a text in them"""
    model: str | None = None
    """whose tokens and window count"""
    dry_run: bool = False
    """only say what would happen"""
    plan_id: str | None = None
    """of an earlier answer that asked for a summary"""
    summary: str | None = None
    """the one asked for; without plan_id and conversation: a checkpoint to keep"""
    undo: bool = False
    """take the last compression back"""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """settings for this call only"""


async def context_compress(call: Call, asked: CompressArguments) -> CallToolResult:
    """Makes a conversation smaller; every original is archived for context_restore.

    Returns an account with refs, not the removed text. Cannot change a host's own history, and says
    what can be done then. With summary: keeps a checkpoint for context_summary.
    """
    if asked.summary is not None and asked.plan_id is None:
        return await _keep_checkpoint(call, asked)
    if asked.undo and (asked.target_tokens is not None or asked.pins or asked.focus):
        raise ToolError(
            "undo takes the last compression back; leave out what a new one would take."
        )
    if asked.undo and asked.dry_run and asked.plan_id is None:
        raise ToolError("undo cannot be tried out first; leave out dry_run, or undo.")
    if asked.plan_id is not None and (asked.summary is None or asked.dry_run or asked.undo):
        raise ToolError(
            "plan_id goes with the summary that the plan asked for, and without dry_run and undo."
        )
    settings = settings_for(call.workspace, asked.settings)
    named = asked.conversation
    if asked.plan_id is not None and named is None and asked.messages is None:
        named = await call.working("looking for the plan", lambda: _planned(call, asked))
    about = await opened(call, named, asked.messages, settings=settings, model=asked.model)
    call.conversations.refuse_own_session(about.session.id)
    if asked.plan_id is not None:
        plan, text, where = asked.plan_id, asked.summary or "", _where(asked, about)
        return await answered(call, about, asked.messages, plan, text, where=where)
    if asked.undo:
        return await call.working("undoing", lambda: _undone(call, about, asked.messages))
    writer = _writer(call, asked, settings)
    options: dict[str, Any] = {
        "target_tokens": asked.target_tokens,
        "strategy": asked.strategy,
        "pins": asked.pins,
        "focus": asked.focus,
        "force": asked.target_tokens is None,
        "not_counted": about.not_counted,
    }
    if writer.caller and not asked.dry_run:
        options |= {"settings": asked.settings} if asked.settings else {}
        return await asked_of_the_caller(
            call, about, asked.messages, writer, options, where=_where(asked, about)
        )
    return await compressed(
        call, about, asked.messages, writer=writer, dry_run=asked.dry_run, **options
    )


def _planned(call: Call, asked: CompressArguments) -> str | None:
    """The session in which the plan was made; `None` where that is the current one.

    Raises:
        PlanError: no recorded conversation has such a plan.
    """
    plan = asked.plan_id or ""
    with suppress(ContextCompressionError):
        current = call.conversations.open(model=asked.model, tool_request=call.asking).session
        if plan in current.state().plans:
            return None
    store = call.workspace.store
    for id in call.conversations.recorded():
        if plan in Session(store, id).state().plans:
            return id
    raise PlanError(no_plan(plan, f"any conversation recorded in {store.folder}"))


def _writer(call: Call, asked: CompressArguments, settings: Settings) -> Writer:
    """Who writes, where the strategy has a use for a summary."""
    strategy = asked.strategy or settings.strategy
    if strategy not in ("auto", "summarize"):
        return Writer()
    model = call.workspace.summarizer(settings)
    by_hand = strategy == "summarize" and settings.summarizer != "none"
    caller = model is None and (settings.summarizer == "caller" or by_hand)
    return Writer(model, caller, call.workspace.why_no_model(settings))


def _where(asked: CompressArguments, about: Opened) -> str:
    """How the next call names the same conversation."""
    named = {"conversation": asked.conversation, "model": asked.model}
    parts = [f'{name}="{value}"' for name, value in named.items() if value]
    if asked.messages is not None:
        session = [f'conversation="{about.session.id}"'] * (asked.conversation is None)
        parts = ["messages=<the same>", *session, *parts]
    return "".join(f"{part}, " for part in parts)


def _undone(call: Call, about: Opened, messages: Messages | None) -> CallToolResult:
    session = about.session

    def size(view: Messages) -> tuple[int, int]:
        model, system, tools = session.model, session.system, session.tools
        return len(view), int(count_tokens(view, model=model, system=system, tools=tools))

    call.before_writing()
    state = session.state()
    view = session.undo(messages)
    news = session.state().recorded[len(state.recorded) :]
    before, after = size([*state.view, *news]), size(view)
    headline = (
        f"undone: {before[0]:,} → {how_many(after[0], 'message')}, {before[1]:,} → "
        f"{how_many(after[1], 'token')}; refs can still be restored"
    )
    said = {
        "messages_before": before[0],
        "messages_after": after[0],
        "tokens_before": before[1],
        "tokens_after": after[1],
    }
    hidden: dict[str, Any] = {} if messages is None else {"messages": view}
    if hidden and session.state().summary_in_system is not None:
        hidden["system"] = session.system
    return answer(headline, said, {"session": session.id}, **hidden)


async def _keep_checkpoint(call: Call, asked: CompressArguments) -> CallToolResult:
    about = asked.conversation is not None or asked.messages is not None
    if about or asked.undo or asked.dry_run:
        raise ToolError(
            "summary keeps a checkpoint that belongs to no conversation. Pass it without "
            "conversation, messages, undo and dry_run; with the plan_id of the answer that asked "
            "for it; or leave it out to compress."
        )
    text = asked.summary or ""
    if not text.strip():
        raise ToolError("summary is empty. Pass the text to keep.")

    def work() -> CallToolResult:
        tokens = Counter(asked.model).text(text)
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        entry = {"created_at": now, "session": CHECKPOINT, "content": text, "tokens": tokens}
        call.before_writing()
        store = call.workspace.store
        ref = Session(store, CHECKPOINT).offload(text, what=CHECKPOINT)  # so that it can be found
        store.add_summary(entry)
        kept = f"checkpoint of {how_many(tokens, 'token')} kept as {ref}"
        more = {"created_at": now, "store": str(store.folder)}
        said = {"tokens": tokens, "ref": ref}
        return answer(f"{kept}; context_summary brings it into any chat", said, more)

    return await call.working("keeping the checkpoint", work)
