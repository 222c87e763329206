"""What is asked for in one compression, and who keeps the originals of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from context_compression.compression.result import Kept, Result
from context_compression.conversation.messages import is_array
from context_compression.errors import InvalidSettings, InvalidTarget
from context_compression.planning.archive import Archive
from context_compression.settings import Settings
from context_compression.tokens import TextCounter
from context_compression.tokens.usage import Messages


class Keeper(Protocol):
    """Keeps the originals of one compression; a session makes one for each."""

    @property
    def archive(self) -> Archive:
        """What receipts may promise."""
        ...

    def keep(self, messages: Messages, result: Result) -> Kept:
        """Write the originals of a compression durably; an error here stops it."""
        ...


SMALLEST_TARGET = 1
"""A target that no view meets: a strategy asked for by hand then does whatever it can."""


@dataclass(frozen=True, kw_only=True)
class CompressionRequest:
    """What is asked for; `library.compress` says what each means.

    Attributes:
        strategy: by name, or `auto`; `None` is that of the settings.
        not_counted: tokens a provider charges for what is not given here, such as the system prompt
            of a host; a target that nobody named leaves room for them.
    """

    messages: Messages
    target_tokens: int | None = None
    system: Any = None
    tools: Any = None
    model: str | None = None
    counter: TextCounter | None = None
    strategy: str | None = None
    pins: Sequence[int | str] = ()
    focus: str | None = None
    force: bool = False
    settings: Settings | Mapping[str, Any] | None = None
    store: Keeper | None = None
    can_ask: bool = False
    not_counted: int = 0

    def check(self) -> None:
        """See that what the types cannot promise is so.

        Raises:
            InvalidTarget: the target is no positive whole number, or what is not counted none.
            InvalidSettings: the pins are one text, or one of them is empty.
        """
        target: Any = self.target_tokens
        if target is not None and (isinstance(target, bool) or not isinstance(target, int)):
            raise InvalidTarget(
                f"target_tokens is {target!r:.60}; it must be a whole number of tokens."
            )
        if target is not None and target < 1:
            raise InvalidTarget(f"target_tokens is {target:,}; it must be at least 1.")
        beside: Any = self.not_counted
        if isinstance(beside, bool) or not isinstance(beside, int) or beside < 0:
            raise InvalidTarget(
                f"not_counted is {beside!r:.60}; it must be a whole number of tokens."
            )
        pins: Any = self.pins
        if not is_array(pins) or not all(isinstance(pin, int | str) for pin in pins):
            raise InvalidSettings(
                f"pins is {pins!r:.60}; it must be a list of texts and numbers of messages."
            )
        if "" in pins:
            raise InvalidSettings("One of the pins is an empty text, which every message holds.")
