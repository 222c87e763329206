"""Every error raised on purpose, under one base.

    ContextCompressionError
    ├── InvalidConversation    what came in is not a conversation
    ├── InvalidTarget          a target that is not a positive number of tokens
    ├── InvalidCounter         a counter of the caller's that gives no number of tokens
    ├── BudgetTooSmall         the target lies below the floor; nothing was changed
    ├── IllegalEdit            a strategy proposed something that would break the view
    ├── InvalidSettings        an unknown setting, or a value it cannot have
    ├── TranscriptError        a file that cannot be read as a conversation
    │   ├── PathNotAllowed     it lies outside the folders we may read
    │   └── ConversationNotFound
    ├── ExportError            a session that cannot be written for a host
    ├── SummaryError           a summarizer gave no summary
    ├── SetupError             a host's configuration that cannot be read or changed
    ├── Unforeseen             anything else that went wrong at a door, in words
    └── StoreError             something about `.compression/`
        ├── StoreUnwritable    cannot be written: permissions, a full disk
        │   └── StoreNotDurable    was written, but may be gone after a power cut
        ├── StoreTooNew        written by a newer version
        ├── StoreDamaged       a file in it cannot be read
        ├── UnknownRef         nothing is archived under this ref
        ├── NothingToUndo
        └── PlanError          a summary for a plan that is unknown, too old or out of date

Messages say what was wrong, what is allowed and what to do next: a model reads them.
"""

from collections.abc import Mapping, Sequence

from context_compression.display.strings import one_line

LONGEST_CANDIDATE = 1_000  # characters; it may be a path


class ContextCompressionError(Exception):
    """Base of every error raised on purpose."""


class InvalidConversation(ContextCompressionError, ValueError):
    """What came in is not a conversation in a format we know."""


class InvalidTarget(ContextCompressionError, ValueError):
    """A target that is not a positive number of tokens."""


class InvalidCounter(ContextCompressionError, TypeError):
    """A counter of the caller's that cannot be called, or gives no number of tokens."""


class BudgetTooSmall(ContextCompressionError):
    """The target lies below the floor. Everything is as it was.

    Attributes:
        target_tokens: what was asked for.
        floor_tokens: the smallest target that can be met.
        parts: tokens of the floor by what they are spent on, largest first.
    """

    def __init__(self, target_tokens: int, floor_tokens: int, parts: Mapping[str, int]) -> None:
        self.target_tokens = target_tokens
        self.floor_tokens = floor_tokens
        self.parts = dict(sorted(parts.items(), key=lambda part: -part[1]))
        largest = ", ".join(f"{name} {tokens:,}" for name, tokens in list(self.parts.items())[:4])
        super().__init__(
            f"{floor_tokens:,} tokens is as small as this conversation gets; the target is "
            f"{target_tokens:,}. What cannot be removed: {largest}. Ask for {floor_tokens:,} or "
            "more, or remove pins, tools or system text. Nothing was changed."
        )


class IllegalEdit(ContextCompressionError):
    """A strategy proposed an edit that overlaps another or would break the conversation."""


class InvalidSettings(ContextCompressionError, ValueError):
    """An unknown setting, or a value it cannot have."""


class TranscriptError(ContextCompressionError):
    """A file that cannot be read as a conversation."""


class PathNotAllowed(TranscriptError):
    """A path outside the folders that may be read."""


class ConversationNotFound(TranscriptError):
    """No such conversation, or more than one it could be; `candidates` lists them."""

    def __init__(self, message: str, candidates: Sequence[str] = ()) -> None:
        self.candidates = list(candidates)
        listed = "".join(f"\n- {one_line(each, LONGEST_CANDIDATE)}" for each in self.candidates)
        super().__init__(message + (f" Candidates:{listed}" if listed else ""))


class ExportError(ContextCompressionError):
    """A session that cannot be written for a host; nothing was written."""


class SummaryError(ContextCompressionError):
    """A summarizer gave no summary.

    Attributes:
        retryable: whether asking again may help.
        too_long: whether the request itself was too long for the model.
        attempts: how many calls were made for it.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = True,
        too_long: bool = False,
        attempts: int = 1,
    ) -> None:
        self.retryable = retryable
        self.too_long = too_long
        self.attempts = attempts
        super().__init__(message)


class SetupError(ContextCompressionError):
    """A host's configuration that cannot be read or changed. It was left as it is."""


class Unforeseen(ContextCompressionError):
    """What nobody foresaw, told in words at a door; the exception itself is its cause."""


class StoreError(ContextCompressionError):
    """Something about the `.compression/` folder."""


class StoreUnwritable(StoreError):
    """The folder cannot be written. Nothing was changed."""


class StoreNotDurable(StoreUnwritable):
    """What the message names was written and is there; a power cut may take its name away."""


class StoreTooNew(StoreError):
    """A file in the folder was written by a newer version of context-compression."""


class StoreDamaged(StoreError):
    """A file in the folder cannot be read."""


class NotOurs(StoreError):
    """The folder is somebody else's, or may be. Nothing was read or changed."""


class UnknownRef(StoreError):
    """Nothing is archived under this ref."""


class PlanError(StoreError):
    """A summary was given for a plan that is unknown, too old, or no longer fits."""


class NothingToUndo(StoreError):
    """The conversation has no compression that could be undone."""
