"""`History`: a whole conversation, with all that compactions took out of the context.

A `Transcript` is what the model is sent now. A history is how it came to be: stages, each of which
only grew, with a compaction between two of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OURS = "context-compression"
"""What `Compaction.by` says of this package's own."""


@dataclass(frozen=True)
class Compaction:
    """A compaction of the context, by its host or by this package.

    Attributes:
        time: when it ended, in seconds since 1970; `None` if that is not recorded.
        trigger: `auto` or `manual`; empty if that is not recorded.
        by: the host's name, or `context-compression`.
        tokens_before: the size of the context before it; `None` if that is not recorded.
        tokens_after: the size of the context after it, or else of the first request after it;
            `None` if neither is recorded.
        cleared: whether it only removed the content of old tool results, and no message.
        place: a number by which the host's reader finds it in the file; `None` outside files.
    """

    time: float | None = None
    trigger: str = ""
    by: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    cleared: bool = False
    place: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Request:
    """A request that the model answered, in the tokens that its provider charged.

    Attributes:
        messages: how many messages of the stage it sent, from the first on. The answer is the next,
            unless it was interrupted before a word.
        time: when it was answered, in seconds since 1970; `None` if that is not recorded.
        model: the model that answered; empty if that is not recorded.
        input_tokens: of the whole input, cached or not; `None` if the host records no usage.
        cache_read_tokens: of the input, those that came from the provider's cache.
        cache_write_tokens: of the input, those that were written into it.
        output_tokens: of the answer.
    """

    messages: int
    time: float | None = None
    model: str = ""
    input_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True)
class Stage:
    """A part of a conversation in which its context only grew.

    Attributes:
        messages: the context at its end, in a dialect of `formats`.
        carried: how many of the messages, from the first on, were there when it began, the last
            one perhaps not as a whole; 0 in the first stage.
        times: when each message was written, in seconds since 1970; `None` where it is unknown.
        requests: the answered requests, in their order.
        began: the compaction that it began with; `None` in the first stage, unless the file holds
            nothing from before its first compaction.
    """

    messages: Sequence[dict[str, Any]]
    carried: int = 0
    times: Sequence[float | None] = ()
    requests: Sequence[Request] = ()
    began: Compaction | None = None


@dataclass(frozen=True)
class History:
    """A whole conversation.

    Attributes:
        path: the file that it was read from.
        host: the host that wrote the file, as in `Transcript`.
        session_id: as in `Transcript`.
        stages: at least one; the last one ends with the live context.
        project: the folder that the agent worked in; empty if that is not recorded.
        title: the session's title, or the user's first words.
        model: the model of the last request; `None` if that is not recorded.
        window: the size of the model's context window in tokens, if the host records it.
        warnings: the parts that could not be read, in sentences for the user.
    """

    path: Path
    host: str
    session_id: str
    stages: Sequence[Stage]
    project: str = ""
    title: str = ""
    model: str | None = None
    window: int | None = None
    warnings: Sequence[str] = field(default_factory=list[str])

    @property
    def compactions(self) -> list[Compaction]:
        """All compactions, the oldest first."""
        return [stage.began for stage in self.stages if stage.began]
