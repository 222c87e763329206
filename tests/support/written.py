"""Conversations written by hand, for tests that must know their content."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from generated import Messages

from context_compression import BudgetTooSmall, Session, Settings
from context_compression.testing import Run, said_by_user, tool_step

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


SMALL = Settings(
    token_budget=3_000, keep_recent_tokens=300, keep_recent=1, offload_min_tokens=80,
    offload_preview_tokens=30, max_tool_output=300, min_recent_messages=2, preserve_messages=1,
)  # fmt: skip
"""Settings with which `built` is soon compressed."""


def begin() -> list[Any]:
    """The request that `build` answers."""
    return [said_by_user("Fix the build. Never touch src/vendor.", "openai")]


def build(number: int, lines: int = 30) -> list[Any]:
    """A call and its result, a log."""
    log = "\n".join(f"src/part_{n % 7}.c:{n}: warning {number * n}" for n in range(lines))
    return tool_step([Run(f"c{number}", "logs", {"n": number}, log)], "openai")


def built(steps: int, lines: int = 30) -> list[Any]:
    """A request and so many steps."""
    return [*begin(), *(message for number in range(steps) for message in build(number, lines))]


def broken_prefixes(requests: list[list[Any]]) -> int:
    """How many requests do not begin with the one before."""
    return sum(now[: len(before)] != before for before, now in pairwise(requests))


def files_in(folder: Path) -> dict[str, bytes]:
    """What is on disk, but for the locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".locks" not in path.parts
    }


def reopened(session: Session) -> Session:
    """The same session as another process would see it."""
    return Session(session.store.folder, session.id)


def squeeze(session: Session) -> None:
    """Compress a session to its minimum size, so that all removable content is archived."""
    try:
        session.compress(target_tokens=1)
    except BudgetTooSmall as error:
        session.compress(target_tokens=error.floor_tokens)
