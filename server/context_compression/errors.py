"""Every error raised on purpose, under one base.

    ContextCompressionError
    ├── InvalidConversation    the input is not a conversation
    ├── InvalidTarget          the target is not a positive number of tokens
    ├── NoSuchMessage          the conversation has no message with this index
    ├── InvalidCounter         the caller's counter does not return a number of tokens
    ├── BudgetTooSmall         the target is below the minimum size; nothing was changed
    ├── IllegalEdit            a strategy proposed an edit that would break the conversation
    ├── InvalidSettings        a setting is unknown, or its value is not allowed
    ├── TranscriptError        a file cannot be read as a conversation
    │   ├── PathNotAllowed     it lies outside the folders that may be read
    │   └── ConversationNotFound   there is no such conversation, or more than one
    ├── ExportError            a session cannot be written for a host
    ├── SummaryError           a summarizer returned no summary
    ├── SetupError             a host's configuration cannot be read or changed
    ├── MissingExtra           a package of an extra is not installed
    ├── ServerUnavailable      the package `mcp` is older than the server needs
    ├── Unforeseen             any other exception, reported in plain words
    └── StoreError             a problem with the folder `.compression/`, or with the database
        ├── StoreUnwritable    it cannot be written: permissions, a full disk
        │   └── StoreNotDurable    it was written, but a power cut may undo that
        ├── StoreUnreachable   its database or its objects are away
        │   └── ObjectsLeft    not all was deleted: sessions, or objects of theirs, stay
        ├── StoreBusy          another process goes on writing what is needed
        ├── StoreTooNew        a newer version wrote it
        ├── StoreDamaged       something in it cannot be read
        ├── NotOurs            it belongs to another user
        ├── UnknownRef         nothing is archived under this ref
        ├── NothingToUndo      no compression can be undone
        └── PlanError          the plan of a summary is unknown, expired or outdated

A message says what was wrong, what is allowed and what to do next, because a model reads it.
"""

import re
from collections.abc import Mapping, Sequence

from context_compression.strings import one_line

LONGEST_CANDIDATE = 1_000  # characters; a candidate may be a path
LISTED_PARTS = 4  # of the minimum size, in a message


class ContextCompressionError(Exception):
    """Base of every error raised on purpose."""


class InvalidConversation(ContextCompressionError, ValueError):
    """The input is not a conversation in a known format.

    Attributes:
        index: of the message that cannot be read; `None` if the input is no list of messages.
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index

    def at(self, index: int) -> "InvalidConversation":
        """The same error for a message with another index, in a longer conversation."""
        text = re.sub(rf"\b([Mm]essage) {self.index}\b", rf"\1 {index}", str(self), count=1)
        return InvalidConversation(text, index)


class InvalidTarget(ContextCompressionError, ValueError):
    """The target is not a positive number of tokens."""


class NoSuchMessage(ContextCompressionError, IndexError):
    """The conversation has no message with this index."""


class InvalidCounter(ContextCompressionError, TypeError):
    """The caller's counter cannot be called, or does not return a number of tokens."""


def largest_parts(parts: Mapping[str, int]) -> str:
    """The largest parts of a size: `"system prompt 9,000, last user message 310"`."""
    largest = sorted(parts.items(), key=lambda part: -part[1])[:LISTED_PARTS]
    return ", ".join(f"{name} {tokens:,}" for name, tokens in largest)


class BudgetTooSmall(ContextCompressionError):
    """The target is below the minimum size of the conversation. Nothing was changed.

    The minimum size has these parts: system prompt, tools, pinned messages, last user message, open
    tool step, the user's rules, a note with a ref.

    Attributes:
        target_tokens: the requested target.
        floor_tokens: the minimum size: the smallest target that can be met.
        parts: the tokens of the minimum size by what they are spent on, largest first.
    """

    def __init__(self, target_tokens: int, floor_tokens: int, parts: Mapping[str, int]) -> None:
        self.target_tokens = target_tokens
        self.floor_tokens = floor_tokens
        self.parts = dict(sorted(parts.items(), key=lambda part: -part[1]))
        listed = largest_parts(parts)
        super().__init__(
            f"The minimum size is {floor_tokens:,} tokens; the target is {target_tokens:,}. What "
            f"must stay: {listed}. Set a target of {floor_tokens:,} or more, or remove pins, tools "
            "or system text. Nothing was changed."
        )


class IllegalEdit(ContextCompressionError):
    """A strategy proposed an edit that overlaps another or would break the conversation."""


class InvalidSettings(ContextCompressionError, ValueError):
    """A setting is unknown, or its value is not allowed."""


class TranscriptError(ContextCompressionError):
    """A file cannot be read as a conversation."""


class PathNotAllowed(TranscriptError):
    """A path lies outside the folders that may be read."""


class ConversationNotFound(TranscriptError):
    """There is no such conversation, or there are several; `candidates` lists them."""

    def __init__(self, message: str, candidates: Sequence[str] = ()) -> None:
        self.candidates = list(candidates)
        listed = "".join(f"\n- {one_line(each, LONGEST_CANDIDATE)}" for each in self.candidates)
        super().__init__(message + (f" Candidates:{listed}" if listed else ""))


class ExportError(ContextCompressionError):
    """A session cannot be written for a host. Nothing was written."""


class SummaryError(ContextCompressionError):
    """A summarizer returned no summary.

    Attributes:
        retryable: whether another attempt may succeed.
        too_long: whether the request was too long for the model.
        attempts: how many calls to the model were made.
        window: the tokens of the window that the provider named; 0 if it named none.
        used: the tokens of the request by its count; 0 if it named none.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = True,
        too_long: bool = False,
        attempts: int = 1,
        window: int = 0,
        used: int = 0,
    ) -> None:
        self.retryable = retryable
        self.too_long = too_long
        self.attempts = attempts
        self.window, self.used = window, used
        super().__init__(message)


class SetupError(ContextCompressionError):
    """A host's configuration cannot be read or changed. It was left unchanged."""


class MissingExtra(ContextCompressionError, ImportError):
    """A package of an extra is not installed."""


class ServerUnavailable(ContextCompressionError, ImportError):
    """The package `mcp` is older than the server needs. Everything else works with it.

    Attributes:
        why: what the server needs, and what is installed.
        remedy: what to do.
    """

    def __init__(self, why: str, remedy: str) -> None:
        self.why, self.remedy = why, remedy
        super().__init__(f"The server cannot run here: {why}. {remedy}")


class Unforeseen(ContextCompressionError):
    """An unexpected exception, reported in plain words; `__cause__` is the exception itself."""


class StoreError(ContextCompressionError):
    """A problem with the store."""


class StoreUnwritable(StoreError):
    """The store cannot be written. Nothing was changed."""


class StoreNotDurable(StoreUnwritable):
    """The file was written, but a power cut may still remove it; the message names the file."""


class StoreUnreachable(StoreError):
    """The database, or the storage of objects, does not answer. Nothing was changed."""


class ObjectsLeft(StoreUnreachable):
    """Not all was deleted that should have been.

    Large messages of deleted sessions are still in the storage of objects, or other sessions could
    not be deleted.

    Attributes:
        deleted: the ids of the sessions, as far as they are known here.
    """

    def __init__(self, message: str, deleted: Sequence[str] = ()) -> None:
        self.deleted = [*deleted]
        super().__init__(message)


class StoreBusy(StoreError):
    """Another process works on the same, or recorded something meanwhile. Nothing was changed."""


class StoreTooNew(StoreError):
    """A newer version of context-compression wrote a file of the store, or made its tables."""


class StoreDamaged(StoreError):
    """Something in the store cannot be read."""


class NotOurs(StoreError):
    """The folder belongs to another user, or may. Nothing was read or changed."""


class UnknownRef(StoreError):
    """Nothing is archived under this ref."""


class PlanError(StoreError):
    """A summary was passed for a plan that is unknown, expired or outdated."""


class NothingToUndo(StoreError):
    """The conversation has no compression that can be undone."""
