"""Opens the conversation of a call: one that the call names, or one whose messages it passes."""

from anyio.to_thread import run_sync

from context_compression.display.strings import one_line
from context_compression.doors.conversations import CURRENT
from context_compression.errors import ConversationNotFound, PathNotAllowed, TranscriptError
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.call import Call
from context_compression.session import Session
from context_compression.settings import Settings
from context_compression.workspace import Opened

CANDIDATES = 5  # recorded sessions named in an error
INSTEAD = (
    "Without a conversation, context_compress(summary=…) keeps a checkpoint, context_offload with "
    "content archives a text, and context_restore(query=…) searches the archive."
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
        return Opened(conversations.session_for(messages, settings=settings, model=model))
    conversations.refuse_own_session(conversation)
    conversations.refuse_file_name(conversation)
    settings = settings or call.workspace.settings()
    return Opened(Session(store, conversation, settings=settings, model=model, summarizer=None))


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
