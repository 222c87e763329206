"""What the checks of `backends` write into a store, and how they say that it must refuse."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeAlias

from context_compression.conversation import digest_of, ref_of
from context_compression.errors import ContextCompressionError
from context_compression.store import Backend, file_name

Make: TypeAlias = Callable[[], Backend]
Check: TypeAlias = Callable[[Make], None]

NOON = "2026-11-21T12:00:00Z"
NAME = file_name(NOON, 1)
TEXTS = (
    "plain", "", 'say "a\\b"\tand\u2028', "\U0001f525 我们", "half \ud83d of one", "a\r\nb\x00",
)  # fmt: skip


def name_of(check: Check) -> str:
    """The sentence that a check proves, for the ids of tests."""
    return check.__name__


def said(text: str) -> dict[str, Any]:
    """An event that records a message."""
    return {"type": "message", "created_at": NOON, "message": {"role": "user", "content": text}}


def archived(*texts: str, n: int = 1) -> dict[str, Any]:
    """The event of a compression that archived these messages as the originals `n`."""
    messages = [said(text)["message"] for text in texts]
    refs = {
        ref_of(message): {
            "what": "message", "message": at, "block": None, "sha256": digest_of(message)
        }
        for at, message in enumerate(messages)
    }  # fmt: skip
    about = {"type": "compression", "created_at": NOON, "n": n, "originals": file_name(NOON, n)}
    return {**about, "refs": refs}


def lock_or_refusal(make: Make, name: str) -> type[BaseException] | None:
    """Takes a lock that is free at once; returns the class of the error if it is not."""
    try:
        with make().lock(name, "somebody works", 0):
            return None
    except ContextCompressionError as error:
        return type(error)


@contextmanager
def refused(kind: type[ContextCompressionError]) -> Generator[None]:
    """Raises `AssertionError` if no error of this kind is raised inside."""
    try:
        yield
    except kind:
        return
    raise AssertionError(f"no {kind.__name__} was raised")
