"""Who asks for the current conversation: the process we run in, and the call being answered."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from context_compression.transcripts.transcript import Transcript


@dataclass(frozen=True)
class ToolRequest:
    """The tool call being answered, as a client sent it; empty on the command line."""

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
    """The process we run in, and the call it answers.

    Attributes:
        environ: variables this process was started with.
        home: the user's home folder.
        cwd: working directory of this process: the project's folder.
        pid: our own process id: a host is looked for among it and its parents.
        began: when this process began, in seconds since 1970.
        transcripts: reads them.
        request: the call being answered.
        wait: sleeps for some seconds.
    """

    environ: Mapping[str, str]
    home: Path
    cwd: Path
    pid: int
    began: float
    transcripts: Transcripts
    request: ToolRequest = NO_REQUEST
    wait: Callable[[float], object] = time.sleep
