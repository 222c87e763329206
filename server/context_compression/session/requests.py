"""Makes the compression requests of a session, with archived originals or as a preview."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context_compression.compression.request import CompressionRequest, Keeper
from context_compression.compression.result import Result
from context_compression.compression.run import compress
from context_compression.conversation.formats import parse
from context_compression.planning.archive import Archive
from context_compression.session.archiver import Archiver
from context_compression.session.growing import room_of
from context_compression.session.receipts import Rehearsal, archive_of, settled_in
from context_compression.session.recorded import RecordedConversation
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.strategies import window
from context_compression.tokens.usage import Messages, Usage


def request_that_archives(
    conversation: RecordedConversation,
    state: State,
    pending: Sequence[dict[str, Any]],
    messages: Messages,
    **options: Any,
) -> CompressionRequest:
    """The request for a compression whose originals the session keeps.

    Args:
        conversation: the conversation to compress.
        state: its current state.
        pending: events that lead to this state and are written with the compression.
        messages: the messages to compress: the view of the state, or a first part of it.
        options: further fields of the request.
    """
    by_itself = options.get("must_answer") and not options.get("target_tokens")
    archiver = archiver_of(
        conversation, state, pending, automatic=bool(by_itself and not options.get("force"))
    )
    return _request(conversation, messages, conversation.system_for(state), archiver, **options)


def archiver_of(
    conversation: RecordedConversation,
    state: State,
    pending: Sequence[dict[str, Any]] = (),
    *,
    automatic: bool = False,
) -> Archiver:
    """The keeper of a compression; `request_that_archives` explains the arguments."""
    system = conversation.system_for(state)
    origin = origin_now(conversation, state)
    room = room_of(conversation, system) if automatic else None
    return Archiver(conversation.log, conversation.store, state, pending, system, origin, room)


def request_beside(
    conversation: RecordedConversation, state: State, **options: Any
) -> CompressionRequest:
    """The request for a compression of a state's view whose originals are written later."""
    archive = archive_of(conversation.store, conversation.log, state)
    keeper, system = Rehearsal(archive, conversation.store), conversation.system_for(state)
    return _request(conversation, state.view, system, keeper, **options)


def preview(
    conversation: RecordedConversation, messages: Messages | None, **options: Any
) -> Result:
    """The result that compressing the view, or `messages`, would have; writes nothing."""
    settings = settings_for(conversation, options.pop("settings", None))
    state = conversation.state()
    shown = state.view if messages is None else messages
    archive = archive_of(conversation.store, conversation.log, state)
    if list(shown[: len(state.view)]) != state.view:  # the log does not say what is missing there
        archive = replace(archive, missing=None)
    summarizer = options.pop("summarizer", None)
    system = conversation.system_for(state, messages)
    keeper = Rehearsal(archive, conversation.store)
    request = _request(conversation, shown, system, keeper, settings=settings, **options)
    return compress(request, summarizer)


@dataclass(frozen=True)
class Due:
    """Whether an automatic compression is due, and what decides it.

    Due(False, "due from 160,000 tokens on: 80 % of 200,000")
    """

    now: bool
    reason: str


def due(conversation: RecordedConversation, usage: Usage, messages: Messages | None = None) -> Due:
    """Whether an automatic compression is due: over the threshold, or by the turns for `window`.

    Args:
        conversation: the conversation.
        usage: how full its context is.
        messages: the content of the context if a host keeps the history; else the view.

    Raises:
        InvalidConversation: the messages are not in a format we know.
    """
    settings = conversation.settings
    over = f"due from {usage.threshold_tokens:,} tokens on: {usage.threshold_reason}"
    if usage.over_threshold and usage.used_tokens < usage.threshold_tokens:
        over += f"; the count may be {usage.used_tokens.upper:,}"
    if not settings.auto_compress:
        return Due(False, f"never due by itself, because auto_compress is off; else {over}")
    if usage.over_threshold or settings.strategy != "window":
        return Due(usage.over_threshold, over)
    state = conversation.state()
    read = parse(state.view if messages is None else messages).messages
    turns = min(2 * settings.keep_recent, settings.max_turns)
    return Due(
        window.due_by_turns(read, settings, Archive(settled=settled_in(state))),
        f"due above {turns:,} turns, for the strategy window; in any case {over}",
    )


def settings_for(
    conversation: RecordedConversation, given: Settings | Mapping[str, Any] | None
) -> Settings:
    """The settings for one call: the session's, the session's with some changes, or others."""
    if isinstance(given, Settings):
        return given
    return conversation.settings.changed(given) if given else conversation.settings


def origin_now(conversation: RecordedConversation, state: State) -> dict[str, Any]:
    """The origin of a conversation, as a plan or compression records it.

    If the tokens outside the messages are not known this time, the earlier number is kept.
    """
    origin: dict[str, Any] = {**conversation.origin()}
    if origin and not origin["beside"] and origin["host"] != "messages":
        origin["beside"] = state.origin.get("beside", 0)
    return origin


def _request(
    conversation: RecordedConversation, messages: Messages, system: Any, keeper: Keeper, **more: Any
) -> CompressionRequest:
    return CompressionRequest(
        messages=messages, system=system, tools=conversation.tools, model=conversation.model,
        counter=conversation.counter, store=keeper, **more,
    )  # fmt: skip
