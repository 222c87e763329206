"""The sessions that hosts keep, and the search for the live one of the caller.

Most hosts write a tool call into the transcript before they run it. So the transcript that holds
the call being answered, without its result, is the conversation we are called from.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath, PureWindowsPath
from stat import S_ISREG
from typing import Any, Protocol

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall
from context_compression.errors import ConversationNotFound, TranscriptError
from context_compression.plurals import how_many
from context_compression.transcripts.transcript import Transcript

YEAR_9999 = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def seconds(written: Any) -> float | None:
    """A time in seconds since 1970: `seconds("1970-01-01T00:01:00Z")` -> `60.0`.

    Args:
        written: a time in ISO 8601, in UTC if it names no zone, or in milliseconds since 1970.

    Returns:
        `None` for any other value, and for a time that no calendar has: before 1970, or after the
        year 9998 in any zone.
    """
    try:
        if type(written) in (int, float):
            at = written / 1000
        else:
            time = datetime.fromisoformat(written)
            at = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return at if 0 <= at < YEAR_9999 else None


def day_of(seconds: float) -> str:
    """The day of a time in seconds since 1970, in UTC: `day_of(0.0)` -> `"1970-01-01"`.

    A file may have a time that no calendar has; it counts as the nearest one that has.
    """
    at = min(max(seconds, 0.0), YEAR_9999 - 1)
    return datetime.fromtimestamp(at, UTC).date().isoformat()


WINDOWS = re.compile(r"[A-Za-z]:[\\/]|[\\/]{2}")
"""How an absolute path of Windows begins: a drive, or a share such as those of WSL."""
LONG = re.compile(r"^[\\/]{2}\?[\\/](?:UNC(?=[\\/]))?")
"""The beginning of a path without the limit of 260 characters: `\\\\?\\C:\\app`."""
WSL = re.compile(r"^[\\/]{2}wsl\.localhost(?=[\\/])", re.IGNORECASE)


def is_same_folder(one: str, other: str) -> bool:
    r"""Whether two paths name one folder: `C:\App` and `c:/app` do, `/App` and `/app` do not."""
    if one == other or not (WINDOWS.match(one) and WINDOWS.match(other)):
        return one == other
    return _plain(one) == _plain(other)


def is_below(folder: str, above: str) -> bool:
    r"""Whether a path names a folder, or one below it: `c:/App/docs` is below `C:\app`."""
    windows = WINDOWS.match(folder) and WINDOWS.match(above)
    inner, outer = (_plain(each) if windows else PurePath(each) for each in (folder, above))
    return inner.is_relative_to(outer) and ".." not in inner.parts


def _plain(path: str) -> PureWindowsPath:
    r"""The path in its usual form: hosts also write `\\?\C:\app`, and `\\wsl.localhost\Ubuntu`."""
    short = LONG.sub("", path)
    if short != path and not WINDOWS.match(short):
        short = f"\\{short}"  # of a share
    return PureWindowsPath(WSL.sub(r"\\\\wsl$", short))


@dataclass(frozen=True)
class ToolRequest:
    """The tool call being answered, as a client sent it; empty on the command line."""

    client: str = ""
    """The name that the client gives itself."""
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The `_meta` of the call."""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


NO_REQUEST = ToolRequest()
"""No client calls: the command line."""


class Transcripts(Protocol):
    """Reads transcripts of any host."""

    def look(self, path: Path) -> Transcript:
        """The live conversation in a file."""
        ...

    def first_words(self, path: Path) -> str:
        """The user's first words, or the title of the session; empty if it cannot be read."""
        ...


@dataclass(frozen=True)
class Caller:
    """Our process, and the tool call it answers.

    Attributes:
        environ: the environment variables that this process was started with.
        home: the user's home folder.
        cwd: the working directory of this process, which is the project's folder.
        pid: the id of our process; a host is searched among this process and its parents.
        began: when this process began, in seconds since 1970.
        transcripts: reads transcripts of any host.
        request: the tool call being answered.
        wait: sleeps for a number of seconds.
    """

    environ: Mapping[str, str]
    home: Path
    cwd: Path
    pid: int
    began: float
    transcripts: Transcripts
    request: ToolRequest = NO_REQUEST
    wait: Callable[[float], object] = time.sleep


LISTED = 5  # candidates in an error
WORDS = 60  # characters of the first words shown


@dataclass(frozen=True)
class CandidateConversation:
    """A conversation that may be meant."""

    path: Path
    written_at: float
    """Seconds since 1970."""
    about: str = ""
    """The title of the session, or the user's first words."""
    id: str = ""
    """The host's id of the session, or its beginning, as far as the path says it."""
    project: str = ""
    """The folder that the agent worked in, if it is known without reading the conversation."""

    def __str__(self) -> str:
        title = " ".join(self.about.split())
        shown = f": {title[:WORDS]}{'…' * (len(title) > WORDS)}" if title else ""
        return f"{self.path} (written {age(time.time() - self.written_at)} ago){shown}"


def files(
    paths: Iterable[Path], id_of: Callable[[Path], str] = lambda path: ""
) -> list[CandidateConversation]:
    """The paths that are files, as candidates; the file written last comes first.

    Args:
        paths: of files, or of anything else, which is left out.
        id_of: gives the id of a session from the path of its transcript.
    """
    times: dict[Path, float] = {}
    for path in paths:
        with suppress(OSError):  # it may have been deleted since it was found
            about = path.stat()
            if S_ISREG(about.st_mode):
                times[path] = about.st_mtime
    return newest_first(
        CandidateConversation(path, written_at, id=id_of(path))
        for path, written_at in times.items()
    )


def newest_first(candidates: Iterable[CandidateConversation]) -> list[CandidateConversation]:
    """The candidates, sorted so that the one written last comes first."""
    return sorted(candidates, key=lambda c: (c.written_at, c.path), reverse=True)


def age(seconds: float) -> str:
    """`90.0` -> `"2 minutes"`."""
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit:
            return how_many(round(seconds / unit), name)
    return how_many(round(max(seconds, 0)), "second")


OF_NAME = 8
"""How many first characters of a session's id some hosts put into the name of its file."""


@dataclass(frozen=True)
class StoredSessions:
    """The sessions that one host keeps on this machine.

    Attributes:
        sessions: gives all sessions, the one written last first, for an environment and a home
            folder. No transcript is read. Sessions of subagents are left out where their paths show
            it.
        folders: gives the folders that a session worked in, the one it began in first; none if that
            is not known. Reads one line, and of some hosts the end of the file. It is also given
            folders that the session may be of, for a host that keeps only the hash of a folder.
        subagents: how many transcripts of subagents belong to a session; reads none of them.
        compaction_marks: bytes that are in the row of each compaction, and in no other row; empty
            if there are none.
        is_subagent: whether a session is a subagent's; reads at most one line.
        beside: the other files that belong to a session, in the order of their paths.
        exported: gives a session as the lines of a document that can be read in its place, for a
            host that has no file for each session.
        largest_use: tokens of the largest request in the whole transcript of a session, if a model
            answered one that is larger than a window, else 0; few of its rows are parsed.
    """

    sessions: Callable[[Mapping[str, str], Path], list[CandidateConversation]]
    folders: Callable[[CandidateConversation, Iterable[str]], Iterable[str]]
    compaction_marks: Sequence[bytes] = ()
    subagents: Callable[[CandidateConversation], int] = lambda session: 0
    is_subagent: Callable[[CandidateConversation], bool] = lambda session: False
    beside: Callable[[CandidateConversation], Sequence[Path]] = lambda session: ()
    exported: Callable[[CandidateConversation], Iterable[bytes]] | None = None
    largest_use: Callable[[Path, str | None, int], int] = lambda path, model, window: 0


NO_SESSIONS = StoredSessions(lambda environ, home: [], lambda session, likely: ())
"""Of a host that keeps none, as far as we know."""

PATIENCE = 0.3  # seconds to wait until the host has written the call; Claude Code takes 0.1
STEP = 0.03  # seconds between two searches
NEWEST = 5  # how many transcripts are searched, the newest ones
JUST_NOW = 5.0  # seconds; an older call without a result was left by a crash
INSTEAD = "Pass the path of a transcript, or the id of a recorded session, as `conversation`."


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
