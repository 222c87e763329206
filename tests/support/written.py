"""Conversations written by hand, for tests that must know their content."""

from typing import Any

from generated import Messages

from context_compression import BudgetTooSmall, Session
from context_compression.testing import Run, tool_step

ASK: dict[str, Any] = {"role": "user", "content": "Why does the login fail?"}
TELL: dict[str, Any] = {"role": "assistant", "content": "I do not know yet."}
MORE: dict[str, Any] = {"role": "user", "content": "Then go on looking."}
LOG = "\n".join(f"{n} info handled request {n * 31} 三" for n in range(500))
LAST = Run("last", "Read", {"path": "a.py"}, "x = 1")


def worked(*outputs: str, dialect: Any = "anthropic") -> Messages:
    """One step for each output, then a small newest step."""
    runs = [Run(f"r{n}", "Bash", {"command": "make"}, out) for n, out in enumerate(outputs)]
    steps = [message for run in (*runs, LAST) for message in tool_step([run], dialect)]
    return [ASK, *steps, TELL]


def talk(turns: int) -> Messages:
    """Turns that only the last strategies can shorten, because they have no tool results."""
    words = "It is what it is, and nobody can say why it should be otherwise. " * 6
    return [
        message
        for n in range(turns)
        for message in (
            {"role": "user", "content": f"Question {n}?"},
            {"role": "assistant", "content": f"Answer {n}. {words}"},
        )
    ]


def reopened(session: Session) -> Session:
    """The same session as another process would see it."""
    return Session(session.store.folder, session.id)


def squeeze(session: Session) -> None:
    """Compress a session to its minimum size, so that all removable content is archived."""
    try:
        session.compress(target_tokens=1)
    except BudgetTooSmall as error:
        session.compress(target_tokens=error.floor_tokens)
