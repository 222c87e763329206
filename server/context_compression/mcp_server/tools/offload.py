"""`context_offload`: archives a text, a file, or the large tool results of a conversation."""

from anyio.to_thread import run_sync
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.compression.prepared import SMALLEST_TARGET
from context_compression.errors import PathNotAllowed, TranscriptError
from context_compression.mcp_server.arguments import OffloadArguments
from context_compression.mcp_server.calls import Call, answer, settings_for
from context_compression.mcp_server.compressing import compress_conversation, open_conversation
from context_compression.session import Session
from context_compression.strategies.tool_results import preview_of_text
from context_compression.strings import fenced, one_line
from context_compression.threads import about_to_write
from context_compression.tokens import Counter
from context_compression.transcripts.opening import opened_once
from context_compression.workspace.opened import OFFLOADED

STAYS = (
    "This chat does not get shorter, because the text is in it already. In a new chat the ref "
    "stands for the text, and brings back only the lines that are needed."
)
MAX_BYTES = 64 * 1024 * 1024


async def context_offload(call: Call, arguments: OffloadArguments) -> CallToolResult:
    """What `context_offload` answers."""
    given = [name for name in ("content", "path", "conversation") if getattr(arguments, name)]
    if len(given) != 1:
        raise ToolError(
            f"Pass one of content, path and conversation, not {' and '.join(given) or 'none'}. "
            "conversation may be current."
        )
    if arguments.min_tokens and not arguments.conversation:
        raise ToolError(
            "min_tokens goes only with conversation, because a text or file is archived in full. "
            "Leave it out."
        )
    if arguments.conversation:
        return await _offload_results(call, arguments.conversation, arguments.min_tokens)

    def work() -> CallToolResult:
        if arguments.path:
            what, text = _read(call, arguments.path)
            return _archived(call, what, text, with_preview=True)
        text = arguments.content or ""
        return _archived(call, f"text that begins {text.strip()[:40]!r}", text)

    return await call.in_thread("archiving", work)


async def _offload_results(call: Call, conversation: str, min_tokens: int | None) -> CallToolResult:
    """Offloads all large tool results of a conversation."""
    values = {"offload_min_tokens": min_tokens} if min_tokens else {}
    settings = await run_sync(settings_for, call.workspace, values)
    opened = await open_conversation(call, conversation, None, settings=settings)
    call.conversations.refuse_own_session(opened.session.id)
    return await compress_conversation(
        call, opened, None, strategy="offload", target_tokens=SMALLEST_TARGET
    )


def _archived(call: Call, what: str, text: str, *, with_preview: bool = False) -> CallToolResult:
    """The ref of a text; with a preview if the agent may not have read it, as with a file."""
    store, counter = call.workspace.store, Counter()
    tokens = counter.text(text)
    preview = preview_of_text(text, counter, call.workspace.settings()) if with_preview else ""
    about_to_write()
    ref = Session(store, OFFLOADED).offload(text, what=what)
    facts = {
        "lines": text.count("\n") + 1,
        "tokens": tokens,
        "store": store.name,
        "restore": f'context_restore(ref="{ref}") brings it back; with lines="10-40" or '
        'query="words" only those lines',
        "note": None if with_preview else STAYS,
        "preview": fenced(preview) if preview else None,
    }
    return answer(f"archived as {ref}: {one_line(what)}", {"ref": ref, "what": what}, facts)


def _read(call: Call, path: str) -> tuple[str, str]:
    """The name and the text of a file.

    Raises:
        TranscriptError: the file may not be read, cannot be read, or is not UTF-8 text.
    """
    workspace = call.workspace
    try:
        file = workspace.access.check(workspace.place(path))
    except PathNotAllowed as error:
        raise PathNotAllowed(f"{error} A text that you have can be passed as content.") from error
    try:
        with opened_once(file) as (opened, size):
            if size > MAX_BYTES:
                raise TranscriptError(
                    f"{file} has {size:,} bytes; at most {MAX_BYTES:,} can be archived. Split "
                    "the file, or pass a part of it as content."
                )
            text = opened.read(MAX_BYTES).decode()
    except UnicodeDecodeError as error:
        raise TranscriptError(
            f"{file} is not UTF-8 text, and only text can be archived. The file is unchanged."
        ) from error
    except OSError as error:
        raise TranscriptError(
            f"{file} cannot be read: {error.strerror or error}. Pass the path of a text file."
        ) from error
    inside = file.is_relative_to(workspace.cwd)
    return f"file {file.relative_to(workspace.cwd) if inside else file}", text
