"""Who asks for the current conversation: the process we run in, and the call being answered."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall
from context_compression.errors import ConversationNotFound, TranscriptError
from context_compression.transcripts.candidates import LISTED, Candidate
from context_compression.transcripts.transcript import Transcript

PATIENCE = 0.3  # seconds to wait for the host to write the call down
STEP = 0.03  # seconds between two looks
LOOKED_INTO = 5  # transcripts; the newest ones
JUST_NOW = 5.0  # seconds; longer ago, a call that is still open was left behind by a crash
INSTEAD = "Pass the path of a transcript, or the id of a recorded session, as `conversation`."


@dataclass(frozen=True)
class ToolRequest:
    """The call that asks, as a client sent it; empty on the command line."""

    client: str = ""
    """What the client calls itself."""
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it sent along (`_meta`)."""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


NO_REQUEST = ToolRequest()
"""No client asks: the command line."""


class Transcripts(Protocol):
    """Reads transcripts of any host."""

    def look(self, path: Path) -> Transcript:
        """The conversation in a file now."""
        ...

    def first_words(self, path: Path) -> str:
        """How the user began, or the title of the session; empty where that cannot be read."""
        ...


@dataclass(frozen=True)
class Caller:
    """Where we run, and who asks.

    Attributes:
        environ: variables this process was started with.
        home: the user's home folder.
        cwd: working directory of this process: the project's folder.
        pid: our own process id: a host is looked for among it and its parents.
        began: when this process began, in seconds since 1970.
        transcripts: reads them.
        asking: the call.
        wait: sleeps for some seconds.
    """

    environ: Mapping[str, str]
    home: Path
    cwd: Path
    pid: int
    began: float
    transcripts: Transcripts
    asking: ToolRequest = NO_REQUEST
    wait: Callable[[float], object] = time.sleep

    def folder(self, variable: str, *otherwise: str) -> Path:
        """A folder that a variable names, else one below the home folder."""
        return Path(self.environ.get(variable) or self.home.joinpath(*otherwise))


@dataclass(frozen=True)
class LiveHost:
    """A host whose live transcript can be found.

    Attributes:
        name: of the host.
        client: how the names of its MCP clients begin.
        mark: what only this host sends along with a call.
        variable: what it sets for all that it starts.
        is_proved: whether `find` goes by the very call being answered.
        find: gives the transcript, or raises `ConversationNotFound` with the candidates.
        here: gives the transcripts of the working directory, newest first.
    """

    name: str
    client: str
    mark: str
    variable: str
    is_proved: bool
    find: Callable[[Caller], Path]
    here: Callable[[Caller], list[Candidate]]


def transcript_of_call(caller: Caller, here: Callable[[Caller], list[Candidate]]) -> Path:
    """The transcript in which the call being answered is written down, and open.

    Blocks for at most 0.3 s, and as long as reading takes.

    Args:
        caller: who asks.
        here: gives the transcripts to look into, newest first.

    Raises:
        ConversationNotFound: in none, or in more than one.
    """
    near = here(caller)
    if not caller.asking.tool:
        if len(near) == 1:
            return near[0].path
        raise uncertain(caller, "It is not certain which transcript is the current one", near)
    for _ in range(round(PATIENCE / STEP) + 1):
        calling = [each for each in near[:LOOKED_INTO] if _calls(caller, each.path)]
        if len(calling) > 1:
            now = time.time()
            calling = [c for c in calling if now - c.written_at < JUST_NOW] or calling
        if len(calling) == 1:
            return calling[0].path
        if calling:
            raise uncertain(caller, "The same call is being made in several conversations", calling)
        caller.wait(STEP)
        near = here(caller)  # the first turn makes the file
    raise uncertain(caller, "The tool call being answered stands in no transcript", near)


def uncertain(caller: Caller, why: str, near: list[Candidate]) -> ConversationNotFound:
    """The error that lists what may be meant."""
    first_words = caller.transcripts.first_words
    shown = [replace(c, about=c.about or first_words(c.path)) for c in near[:LISTED]]
    return ConversationNotFound(f"{why}. {INSTEAD}", list(map(str, shown)))


def _calls(caller: Caller, path: Path) -> bool:
    """Whether the newest step of a conversation makes the call, and has not got its result."""
    try:
        messages = parse(caller.transcripts.look(path).messages).messages
    except TranscriptError:
        return False
    answered: set[str] = set()
    for message in reversed(messages):
        answered.update(result.call_id for result in message.results)
        if message.calls or message.role == "assistant":
            running = [call for call in message.calls if call.id not in answered]
            return any(_is_it(call, caller.asking) for call in running)
    return False


def _is_it(call: ToolCall, asking: ToolRequest) -> bool:
    """Hosts put something before a tool's name: `mcp__cc__context_status`, `cc_context_status`."""
    before = call.name.removesuffix(asking.tool)
    named = before != call.name and not before[-1:].isalnum()
    return named and call.arguments == dict(asking.arguments)
