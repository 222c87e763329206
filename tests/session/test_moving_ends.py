"""`Session.fit` where the end of a history changes with each request, as caches and notes do it."""

from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from context_compression import Session
from context_compression.conversation import canonical, said
from context_compression.testing import Dialect, Run, said_by_user, tool_step

pytestmark = pytest.mark.slow

WINDOW = {"token_budget": 20_000}
TOOLS: list[Any] = [{"name": "context_restore", "input_schema": {"type": "object"}}]
MARK = {"type": "ephemeral"}
Messages: TypeAlias = list[Any]
Mark: TypeAlias = Callable[[dict[str, Any]], None]


def blocks(message: dict[str, Any]) -> list[Any]:
    """The content of a message as a list, as programs make it for a mark."""
    content = message["content"]
    if isinstance(content, str):
        message["content"] = content = [{"type": "text", "text": content}]
    return content


def anthropic(message: dict[str, Any]) -> None:
    blocks(message)[-1]["cache_control"] = MARK


def bedrock(message: dict[str, Any]) -> None:
    message["content"].append({"cachePoint": {"type": "default"}})


def vercel(message: dict[str, Any]) -> None:
    message["providerOptions"] = {"anthropic": {"cacheControl": MARK}}


MARKS: dict[Dialect, Mark] = {"anthropic": anthropic, "bedrock": bedrock, "vercel": vercel}


def log(number: int) -> str:
    return "\n".join(f"src/{number}.c:{line}: warning: unused v{line}" for line in range(60))


def step(number: int, dialect: Dialect) -> Messages:
    return tool_step([Run(f"c{number}", "logs", {"n": number}, log(number))], dialect)


def marked(history: Messages, mark: Mark, places: tuple[int, ...] = (-1,)) -> Messages:
    """The history as it goes out: with marks on some messages, and no others."""
    copied = deepcopy(history)
    for message in {id(copied[at]): copied[at] for at in places if -at <= len(copied)}.values():
        mark(message)
    return copied


def number_of_marks(messages: Messages) -> int:
    text = canonical(messages)
    return sum(text.count(name) for name in ('"cache_control"', '"cachePoint"', '"cacheControl"'))


def kept(requests: list[Messages]) -> tuple[int, float]:
    """How many requests changed what the one before sent; the share that was sent before."""
    broken = shared = sent = 0
    for before, now in pairwise([[canonical(said(m)) for m in each] for each in requests]):
        pairs = zip(before, now, strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(now)))
        broken += same < len(before)
        shared += sum(map(len, now[:same]))
        sent += sum(map(len, now))
    return broken, shared / sent


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("places", [(-1,), (-1, -3)])
@pytest.mark.parametrize("dialect", MARKS)
def test_a_mark_that_moves_with_the_newest_message_changes_nothing(
    tmp_path: Path, dialect: Dialect, places: tuple[int, ...], *, background: bool
):
    session = Session(tmp_path, "s", settings=WINDOW, background=background)
    history, requests = [said_by_user("Fix the build.", dialect)], list[Messages]()
    for number in range(50):
        given = marked(history, MARKS[dialect], places)
        requests.append(session.fit(given, tools=TOOLS))
        assert 1 <= number_of_marks(requests[-1]) <= len(places)
        history += step(number, dialect)
    session.close()

    broken, shared = kept(requests)
    assert session.state().compressions
    assert broken <= (10 if background else 6)
    assert shared > (0.7 if background else 0.75)  # with threads, it is not known when one is done
