"""`context_offload`: moves texts out of the way, into the archive."""

import stat

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.compression.request import SMALLEST_TARGET
from context_compression.display.strings import one_line
from context_compression.errors import TranscriptError
from context_compression.mcp_server.account import compressed
from context_compression.mcp_server.answers import answer
from context_compression.mcp_server.arguments import Arguments, Positive
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.opening import opened, settings_for
from context_compression.session import Session
from context_compression.tokens import Counter
from context_compression.workspace.own_sessions import OFFLOADED

MAX_BYTES = 64 * 1024 * 1024


class OffloadArguments(Arguments):
    """Of `context_offload`."""

    content: str | None = None
    """a text to archive"""
    path: str | None = None
    """a text file to archive"""
    conversation: str | None = None
    """as in context_status: its large tool results"""
    min_tokens: Positive | None = None
    """what is large; default 1000"""


async def context_offload(call: Call, asked: OffloadArguments) -> CallToolResult:
    """Archives one of: a text, a text file (it stays), a conversation's large tool results.

    Returns refs for context_restore. Shortens nothing else; context_compress does.
    """
    given = [name for name in ("content", "path", "conversation") if getattr(asked, name)]
    if len(given) != 1:
        raise ToolError(
            f"Pass one of content, path and conversation, not {' and '.join(given) or 'none'}. "
            "conversation may be current."
        )
    if asked.min_tokens and not asked.conversation:
        raise ToolError("min_tokens goes with conversation; a text or file is archived whole.")
    if asked.conversation:
        changed = {"offload_min_tokens": asked.min_tokens} if asked.min_tokens else {}
        settings = settings_for(call.workspace, changed)
        about = await opened(call, asked.conversation, None, settings=settings)
        call.conversations.refuse_own_session(about.session.id)
        beside = about.not_counted
        return await compressed(
            call, about, None, strategy="offload", target_tokens=SMALLEST_TARGET, not_counted=beside
        )

    def work() -> CallToolResult:
        if asked.path:
            what, text = _read(call, asked.path)
        else:
            text = asked.content or ""
            what = f"text that begins {text.strip()[:40]!r}"
        return _archived(call, what, text)

    return await call.working("archiving", work)


def _archived(call: Call, what: str, text: str) -> CallToolResult:
    store = call.workspace.store
    tokens = Counter().text(text)
    call.before_writing()
    ref = Session(store, OFFLOADED).offload(text, what=what)
    more = {
        "lines": text.count("\n") + 1,
        "tokens": tokens,
        "restore": f'context_restore(ref="{ref}")',
        "store": str(store.folder),
    }
    return answer(f"archived as {ref}: {one_line(what)}", {"ref": ref, "what": what}, more)


def _read(call: Call, path: str) -> tuple[str, str]:
    """What a file is called and what it holds.

    Raises:
        TranscriptError: it may not or cannot be read, or is not UTF-8 text.
    """
    workspace = call.workspace
    found = workspace.access.check(workspace.place(path))
    try:
        about = found.stat()
        if not stat.S_ISREG(about.st_mode):
            raise TranscriptError(f"{found} is no ordinary file. Pass the path of a text file.")
        if about.st_size > MAX_BYTES:
            raise TranscriptError(
                f"{found} has {about.st_size:,} bytes; at most {MAX_BYTES:,} are archived."
            )
        text = found.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise TranscriptError(
            f"{found} is not UTF-8 text; only text can be archived. It stays where it is."
        ) from error
    except OSError as error:
        raise TranscriptError(f"{found} cannot be read: {error.strerror or error}.") from error
    inside = found.is_relative_to(workspace.cwd)
    return f"file {found.relative_to(workspace.cwd) if inside else found}", text
