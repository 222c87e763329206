"""The same blocks in another grouping are the same history, behind every door that is sent it."""

import re
from collections.abc import Callable, Collection
from random import Random
from typing import Any

import pytest
from every_door import DOORS, Ask, Door, Request, holds
from generated import Messages
from hypothesis import strategies as st
from talks import SMALL, Talk, shares, talks

from context_compression.conversation import canonical, is_array, without_marks
from context_compression.testing import Dialect

ADAPTERS = tuple(name for name in DOORS if name.startswith("adapter of "))
OF_BLOCKS: tuple[Dialect, ...] = ("anthropic", "bedrock", "vercel")
"""Dialects whose results are blocks, of which a message may hold any number."""
SENT_WHOLE = ("fit", "afit", "fit, reopened", "fit in memory", "recover", *ADAPTERS)
"""The doors whose program keeps the history and sends all of it."""


LANGCHAIN = "adapter of langchain_core"
"""It has a message for each result, and in a message all calls come last."""


def grouped(seed: int, joined: Collection[str], *, across: bool) -> Callable[[Messages], Messages]:
    """Puts random borders between the blocks of messages, and joins those of some roles.

    Args:
        seed: of the borders.
        joined: the roles.
        across: whether blocks of two messages may be joined, too.
    """

    def with_borders(messages: Messages) -> Messages:
        chance, made = Random(seed), Messages()
        for message in messages:
            held = "parts" if "parts" in message else "content"
            content: Any = message.get(held)
            if not is_array(content):
                made.append(message)
                continue
            rest = {key: value for key, value in message.items() if key != held}
            for at, block in enumerate(content):
                before = made[-1] if made else {}
                others = {key: value for key, value in before.items() if key != held}
                is_like = others == rest and is_array(before[held]) and rest["role"] in joined
                if is_like and (across or at) and chance.random() < 0.5:
                    made[-1] = {**before, held: [*before[held], block]}
                else:
                    made.append({**message, held: [block]})
        return made

    return with_borders


def with_results_alone(messages: Messages) -> Messages:
    """The messages in which each result of role `tool` has one of its own."""
    return [
        {**message, "content": content}
        for message in messages
        for content in (
            ([block] for block in message["content"])
            if message["role"] == "tool" and is_array(message.get("content"))
            else (message.get("content"),)
        )
    ]


def sent(request: Request) -> str:
    """What a request sends, whatever the folder of its store."""
    return re.sub(r"/[\w/.-]*/store\b", "store", canonical(request.view))


@pytest.mark.parametrize("name", SENT_WHOLE)
def test_a_history_in_another_grouping_is_sent_as_the_same_one_would_be(name: str) -> None:
    joined = ("user", "assistant", "model", *(() if name == LANGCHAIN else ("tool",)))

    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        dialect, messages = talk
        if name == LANGCHAIN:
            messages = with_results_alone(messages)
        share = data.draw(shares)
        borders = grouped(data.draw(st.integers(0, 99)), joined, across=name != LANGCHAIN)
        apart, again = (
            door.requests((dialect, without_marks(messages)), Ask(share, SMALL, regroups=regroups))
            for regroups in (borders, list)
        )
        assert [sent(request) for request in apart] == [sent(request) for request in again]

    holds(DOORS[name], lambda given: talks(given if name in ADAPTERS else OF_BLOCKS), law)
