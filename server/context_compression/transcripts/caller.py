"""The caller that needs the current conversation: our process, and the tool call it answers."""

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
