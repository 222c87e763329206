"""One tool call while it runs: work in threads, progress, cancellation, errors for the model."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar, cast

import anyio.from_thread
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from context_compression.display.strings import harmless
from context_compression.doors.conversations import Conversations
from context_compression.errors import ContextCompressionError
from context_compression.transcripts.caller import ToolRequest
from context_compression.workspace import Workspace
from context_compression.workspace.guard import in_our_words

LONGEST_ERROR = 1_900  # characters; hosts cut longer ones where they like

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A tool call: which conversations it may be about, and who made it."""

    conversations: Conversations
    context: Context[Any, Any]
    _steps: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    @property
    def workspace(self) -> Workspace:
        """Where it works."""
        return self.conversations.workspace

    @property
    def asking(self) -> ToolRequest:
        """The call as the client sent it, by which its conversation is found."""
        request = self.context.request_context
        introduced, params = request.session.client_params, request.params or {}
        return ToolRequest(
            client=introduced.client_info.name if introduced else "",
            meta=cast("Mapping[str, Any]", request.meta or {}),
            tool=str(params.get("name", "")),
            arguments=params.get("arguments") or {},
        )

    async def working(self, saying: str, work: Callable[[], T]) -> T:
        """What `work` returns, in a worker thread; the client is told what is being done."""
        await self.saying(saying)
        return await anyio.to_thread.run_sync(work)

    def before_writing(self) -> None:
        """Asked by a worker thread before it changes anything: a cancelled call ends here.

        The thread itself cannot be stopped, so a cancelled compression is worked out to the end
        and then forgotten.
        """
        anyio.from_thread.check_cancelled()
        anyio.from_thread.run(self.saying, "writing")

    async def saying(self, saying: str) -> None:
        """Tell the client what is being done."""
        await self.context.report_progress(next(self._steps), message=saying)


@contextmanager
def telling_the_model() -> Generator[None]:
    """Whatever goes wrong becomes an answer that a model can read."""
    try:
        with in_our_words(ToolError):
            yield
    except (ContextCompressionError, ToolError) as error:
        text = harmless(str(error))  # a path that is no UTF-8 would take the whole server down
        if len(text) > LONGEST_ERROR:
            text = f"{text[:LONGEST_ERROR]}…"
        raise ToolError(text) from error
