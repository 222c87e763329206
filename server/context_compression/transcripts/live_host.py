"""`LiveHost`, by which a host's live transcript is found, and the search that hosts share.

Most hosts write a tool call into the transcript before they run it. So the transcript that holds
the call being answered, without its result, is the conversation we are called from.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall
from context_compression.errors import ConversationNotFound, TranscriptError
from context_compression.transcripts.caller import Caller, ToolRequest
from context_compression.transcripts.candidates import LISTED, CandidateConversation

PATIENCE = 0.3  # seconds to wait until the host has written the call; Claude Code takes 0.1
STEP = 0.03  # seconds between two searches
NEWEST = 5  # how many transcripts are searched, the newest ones
JUST_NOW = 5.0  # seconds; an older call without a result was left by a crash
INSTEAD = "Pass the path of a transcript, or the id of a recorded session, as `conversation`."


@dataclass(frozen=True)
class LiveHost:
    """A host whose live transcript can be found.

    Attributes:
        name: the name of the host.
        client: the beginning of its MCP clients' names.
        meta_key: a key in the `_meta` of a call that only this host sends; empty if there is none.
        variable: the environment variable that the host sets for every program it starts.
        is_proved: whether `find` always identifies the transcript by the call being answered.
        find: gives the transcript, or raises `ConversationNotFound` with the candidates.
        here: gives the transcripts of the working directory, newest first.
    """

    name: str
    client: str
    meta_key: str
    variable: str
    is_proved: bool
    find: Callable[[Caller], Path]
    here: Callable[[Caller], list[CandidateConversation]]


def transcript_of_call(
    caller: Caller, here: Callable[[Caller], list[CandidateConversation]]
) -> Path:
    """The transcript that holds the call being answered, without its result.

    Without a call (on the command line) it is the only transcript there is. Blocks for about 0.3 s
    at most, plus the time of reading.

    Args:
        caller: our process, and the call it answers.
        here: gives the transcripts to search, newest first.

    Raises:
        ConversationNotFound: no transcript holds the call, or more than one does.
    """
    near = here(caller)
    if not caller.request.tool:
        if len(near) == 1:
            return near[0].path
        raise uncertain(caller, "It is not certain which transcript is the current one", near)
    for _ in range(round(PATIENCE / STEP) + 1):
        calling = [each for each in near[:NEWEST] if _calls(caller, each.path)]
        if len(calling) > 1:
            now = time.time()
            calling = [c for c in calling if now - c.written_at < JUST_NOW] or calling
        if len(calling) == 1:
            return calling[0].path
        if calling:
            raise uncertain(caller, "The same call is being made in several conversations", calling)
        caller.wait(STEP)
        near = here(caller)  # the file is created in the first turn
    raise uncertain(caller, "The tool call being answered stands in no transcript", near)


def uncertain(caller: Caller, why: str, near: list[CandidateConversation]) -> ConversationNotFound:
    """The error that lists the conversations that may be meant."""
    first_words = caller.transcripts.first_words
    shown = [replace(c, about=c.about or first_words(c.path)) for c in near[:LISTED]]
    return ConversationNotFound(f"{why}. {INSTEAD}", list(map(str, shown)))


def _calls(caller: Caller, path: Path) -> bool:
    """Whether the newest step of a conversation makes the call, and its result is not there yet."""
    try:
        messages = parse(caller.transcripts.look(path).messages).messages
    except TranscriptError:
        return False
    answered: set[str] = set()
    for message in reversed(messages):
        answered.update(result.call_id for result in message.results)
        if message.calls or message.role == "assistant":
            running = [call for call in message.calls if call.id not in answered]
            return any(_is_same(call, caller.request) for call in running)
    return False


def _is_same(call: ToolCall, request: ToolRequest) -> bool:
    """Whether a recorded call is the one being answered.

    Hosts put a prefix before a tool's name: `mcp__cc__context_status`, `cc_context_status`.
    """
    prefix = call.name.removesuffix(request.tool)
    same_tool = prefix != call.name and not prefix[-1:].isalnum()
    return same_tool and call.arguments == dict(request.arguments)
