"""Opens the conversation of a call: one that the call names, or one whose messages it passes."""

from context_compression.doors.conversations import CURRENT
from context_compression.errors import ConversationNotFound
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.call import Call
from context_compression.session import Session
from context_compression.settings import Settings
from context_compression.workspace import Opened

CANDIDATES = 5  # recorded sessions named in an error
WITHOUT_CONVERSATION = (
    "A program passes `messages` itself. In a chat without a transcript, "
    "context_compress(summary=…) keeps a checkpoint and context_offload(content=…) archives a text."
)


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
        ContextCompressionError: the conversation cannot be opened; the message says what can be
            passed instead.
    """
    if messages is None:
        return await call.in_thread(
            "reading the conversation", lambda: _open(call, conversation, settings, model)
        )
    if conversation in (None, "", CURRENT):
        return Opened(call.conversations.session_for(messages, settings=settings, model=model))
    call.conversations.refuse_own_session(conversation)
    workspace = call.workspace
    settings = settings or workspace.settings()
    session = Session(
        workspace.store, conversation, settings=settings, model=model, summarizer=None
    )
    return Opened(session)


def _open(
    call: Call, conversation: str | None, settings: Settings | None, model: str | None
) -> Opened:
    try:
        return call.conversations.open(
            conversation, settings=settings, model=model, tool_request=call.request
        )
    except ConversationNotFound as error:
        if error.candidates or conversation not in (None, "", CURRENT):
            raise
        recorded = call.conversations.recorded()[:CANDIDATES]
        raise ConversationNotFound(f"{error} {WITHOUT_CONVERSATION}", recorded) from error
