"""Whatever left a request can be brought back byte for byte, behind every door, after a restart."""

import json
import re
from collections.abc import Iterator
from typing import Any

from every_door import Ask, Door, Request, every_door, holds
from generated import Messages
from hypothesis import strategies as st
from talks import SMALL, Talk, broken_talks, shares, talks

from context_compression.conversation import canonical, ref_of
from context_compression.errors import ContextCompressionError


def named(messages: Messages) -> set[str]:
    """The refs that some messages name."""
    return {*re.findall(r"\bref (?:\\?\")?([0-9a-f]{12,64})\b", json.dumps(messages))}


def left(request: Request) -> Iterator[Any]:
    """The messages that are not in the view as they came."""
    shown = {canonical(message) for message in request.view}
    return (message for message in request.history if canonical(message) not in shown)


def brings_back(request: Request, original: Any) -> bool:
    try:
        return request.about.restore(ref_of(original)) == canonical(original)
    except (ContextCompressionError, KeyError):
        return False


def nothing_is_lost(door: Door, talk: Talk, asked: Ask) -> None:
    with door.opened(talk, asked) as requests:
        for request in requests:
            recorded = [canonical(message) for message in request.about.recorded()]
            for message in left(request):
                assert brings_back(request, message) or canonical(message) in recorded
            for ref in named(request.view) - named(request.history):
                assert request.about.restore(ref), (
                    f"the view names {ref}, which brings nothing back"
                )


@every_door
def test_whatever_left_a_request_can_be_brought_back(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        nothing_is_lost(door, talk, Ask(data.draw(shares), SMALL))

    holds(door, talks, law)


@every_door
def test_whatever_left_a_repaired_request_can_be_brought_back(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        nothing_is_lost(door, talk, Ask(data.draw(shares), SMALL))

    holds(door, broken_talks, law)


@every_door
def test_whatever_left_a_recorded_conversation_can_be_brought_back(
    door: Door, recorded: Talk
) -> None:
    nothing_is_lost(door, recorded, Ask(0.3, {"token_budget": 4_000}))
