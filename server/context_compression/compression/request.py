"""`CompressionRequest`, one call of `compress` as a value, and `Keeper`, which keeps originals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from context_compression.compression.result import Kept, Result
from context_compression.conversation.messages import is_array
from context_compression.errors import InvalidSettings, InvalidTarget
from context_compression.planning.archive import Archive
from context_compression.settings import Settings
from context_compression.strategies.base import Strategy
from context_compression.tokens import TextCounter
from context_compression.tokens.usage import Messages


class Keeper(Protocol):
    """Keeps the originals of one compression; a session makes a keeper for each."""

    @property
    def archive(self) -> Archive:
        """The archive that notes in a view may refer to: refs to restore, files to read."""
        ...

    def keep(self, messages: Messages, result: Result) -> Kept:
        """Write the originals of a compression durably; an error stops the compression."""
        ...


SMALLEST_TARGET = 1
"""A target in tokens that no view meets, so that a named strategy frees all it can."""


@dataclass(frozen=True, kw_only=True)
class CompressionRequest:
    """The arguments of one compression; `library.functions.compress` explains the others.

    Attributes:
        aim: the target in tokens of an automatic compression, instead of the settings' target. It
            is no promise: a caller that sets `target_usage` gets what it set.
        strategy: the name of a strategy, `auto`, or a strategy of the caller's own; `None` takes
            the strategy of the settings.
        store: keeps the originals; with `None` they are only in the result.
        has_summarizer: whether a model, or the calling agent, will write summaries.
        waits: whether this compression may wait for a summary, if there is a summarizer.
        must_answer: whether somebody has to be answered: a size that cannot be reached gives the
            smallest useful context instead of `BudgetTooSmall`.
        restores: whether the model can call `context_restore`, so that notes may name it.
    """

    messages: Messages
    target_tokens: int | None = None
    aim: int | None = None
    system: Any = None
    tools: Any = None
    model: str | None = None
    counter: TextCounter | None = None
    strategy: str | Strategy | None = None
    pins: Sequence[int | str] = ()
    focus: str | None = None
    force: bool = False
    settings: Settings | Mapping[str, Any] | None = None
    store: Keeper | None = None
    has_summarizer: bool = False
    waits: bool = True
    must_answer: bool = False
    restores: bool = True

    def check(self) -> None:
        """Refuse impossible values, because callers without a type checker may pass anything.

        Raises:
            InvalidTarget: `target_tokens` is not a positive integer.
            InvalidSettings: `pins` is not a list of texts and numbers, or one of them is empty.
        """
        target: Any = self.target_tokens
        if target is not None and (isinstance(target, bool) or not isinstance(target, int)):
            raise InvalidTarget(
                f"target_tokens is {target!r:.60}; it must be a whole number of tokens."
            )
        if target is not None and target < 1:
            raise InvalidTarget(f"target_tokens is {target:,}; it must be at least 1.")
        pins: Any = self.pins
        if not is_array(pins) or not all(isinstance(pin, int | str) for pin in pins):
            raise InvalidSettings(
                f"pins is {pins!r:.60}; it must be a list of texts and numbers of messages."
            )
        if "" in pins:
            raise InvalidSettings(
                "One of the pins is an empty text, and every message contains that."
            )
