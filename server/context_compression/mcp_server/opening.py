"""Which conversation a call is about: one it names, or one it brings along."""

from collections.abc import Mapping
from typing import Any

from context_compression.doors.conversations import CURRENT
from context_compression.errors import ConversationNotFound, InvalidSettings
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.call import Call
from context_compression.session import Session
from context_compression.settings import GUARDED, Settings, setting_name
from context_compression.workspace import Opened, Workspace

CANDIDATES = 5
WITHOUT = (
    "A program passes `messages` itself. In a chat that nobody writes down, "
    "context_compress(summary=…) keeps a checkpoint and context_offload(content=…) a text."
)


async def opened(
    call: Call,
    conversation: str | None,
    messages: Messages | None,
    *,
    settings: Settings | None = None,
    model: str | None = None,
) -> Opened:
    """The conversation a call is about; only read.

    Args:
        call: the call.
        conversation: a session id, a path, `current`, or nothing, which is the same; where messages
            are given, the session that keeps them.
        messages: the conversation itself.
        settings: of this call.
        model: whose tokens and window count.

    Raises:
        ContextCompressionError: it cannot be had; the message says what can.
    """
    workspace = call.workspace
    if messages is None:
        return await call.working(
            "reading the conversation", lambda: _open(call, conversation, settings, model)
        )
    if conversation in (None, "", CURRENT):
        return Opened(call.conversations.session_for(messages, settings=settings, model=model))
    call.conversations.refuse_own_session(conversation)
    settings = settings or workspace.settings()
    return Opened(Session(workspace.store, conversation, settings=settings, model=model))


def settings_for(workspace: Workspace, given: Mapping[str, Any]) -> Settings:
    """The settings with those a call brings along.

    Raises:
        InvalidSettings: an unknown name, an impossible value, or one no tool may set.
    """
    refuse_guarded(given)
    settings = workspace.settings(given)
    _refuse_a_model(workspace, {setting_name(name): value for name, value in given.items()})
    return settings


def refuse_guarded(given: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` where a tool is asked to open a door."""
    for name in given:
        if (guarded := setting_name(name)) in GUARDED:
            raise InvalidSettings(
                f"{guarded} decides what may be read, so no tool sets it. The user can, with the "
                f"environment variable CONTEXT_COMPRESSION_{guarded.upper()} or on the command "
                "line. Nothing was changed."
            )


def _refuse_a_model(workspace: Workspace, given: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` where a call brings in a model, and the user has not."""
    asks = given.get("summary_model") is not None or given.get("summarizer") == "anthropic"
    if asks and not workspace.may_ask_a_model():
        raise InvalidSettings(
            "summary_model and summarizer=anthropic send the conversation to a model, so no tool "
            "sets them where the user has named none. The user can, with the environment variable "
            "CONTEXT_COMPRESSION_SUMMARY_MODEL or on the command line. You can write the summary "
            'yourself: settings={"summarizer": "caller"}. Nothing was changed.'
        )


def _open(
    call: Call, conversation: str | None, settings: Settings | None, model: str | None
) -> Opened:
    try:
        return call.conversations.open(
            conversation, settings=settings, model=model, tool_request=call.asking
        )
    except ConversationNotFound as error:
        if error.candidates or conversation not in (None, "", CURRENT):
            raise
        recorded = call.conversations.recorded()[:CANDIDATES]
        raise ConversationNotFound(f"{error} {WITHOUT}", recorded) from error
