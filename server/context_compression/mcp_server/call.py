"""One tool call while it runs: worker threads, progress, cancellation, errors for the model."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import INTERNAL_ERROR

from context_compression.display.strings import harmless
from context_compression.doors.conversations import Conversations
from context_compression.errors import ContextCompressionError, UnknownRef
from context_compression.threads import ask, before_writing, in_thread
from context_compression.transcripts.caller import ToolRequest
from context_compression.workspace import Workspace
from context_compression.workspace.guard import in_our_words

LONGEST_ERROR = 1_900  # characters; hosts cut longer errors anywhere

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A tool call: the conversations it may be about, and the client that made it."""

    conversations: Conversations
    context: Context[Any, Any]
    hooks: bool = False
    """Whether a host's hooks use this server."""
    _steps: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    @property
    def workspace(self) -> Workspace:
        """The workspace that the call works in."""
        return self.conversations.workspace

    @property
    def request(self) -> ToolRequest:
        """The call as the client sent it; it helps to find the current conversation."""
        request = self.context.request_context
        introduced, params = request.session.client_params, request.params or {}
        return ToolRequest(
            client=introduced.client_info.name if introduced else "",
            meta=cast("Mapping[str, Any]", request.meta or {}),
            tool=str(params.get("name", "")),
            arguments=params.get("arguments") or {},
        )

    async def in_thread(self, activity: str, work: Callable[[], T]) -> T:
        """Runs `work` in a worker thread and returns its result; reports `activity` first."""
        await self.report_progress(activity)

        def announced() -> T:
            with before_writing(self.before_writing):
                return work()

        return await in_thread(announced)

    def before_writing(self) -> None:
        """Called by a worker thread before it changes anything; a cancelled call ended already.

        The thread itself cannot be stopped. So a cancelled compression is computed to the end, and
        then its result is dropped.
        """
        ask(partial(self.report_progress, "writing"))

    async def report_progress(self, activity: str) -> None:
        """Sends the client a progress message."""
        await self.context.report_progress(next(self._steps), message=activity)


@contextmanager
def errors_for_the_model() -> Generator[None]:
    """Turns every exception into a `ToolError`, whose message the model reads."""
    try:
        with in_our_words(ToolError):
            yield
    except (ContextCompressionError, ToolError) as error:
        text = harmless(str(error))  # a path that is not UTF-8 would end the server
        if len(text) > LONGEST_ERROR:
            text = f"{text[:LONGEST_ERROR]}…"
        raise ToolError(text) from error


@contextmanager
def errors_of_the_protocol() -> Generator[None]:
    """Turns every exception into an `MCPError`, for prompts and resources.

    `UnknownRef` is raised as it is: its code depends on the revision of the protocol.
    """
    try:
        with in_our_words(MCPError):
            yield
    except UnknownRef:
        raise
    except ContextCompressionError as error:
        raise MCPError(INTERNAL_ERROR, harmless(str(error))) from error
