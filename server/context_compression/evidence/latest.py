"""What was last: the last outcome of a run, and the last command that took changes back."""

import re
from collections.abc import Sequence

from context_compression.conversation.messages import Message, Text
from context_compression.evidence.facts import commands_of, outcome_lines

UNDO = re.compile(r"\bgit (?:-\S+ \S+ ){0,5}(?:checkout|restore|stash|reset|revert|clean)\b")
"""A command that takes changes back, or puts them aside."""


def last_outcome(messages: Sequence[Message]) -> int | None:
    """The index of the last message with a result that tells how a run ended, or `None`."""
    for index in range(len(messages) - 1, -1, -1):
        if any(outcome_lines(result.text) for result in messages[index].results):
            return index
    return None


def refused(messages: Sequence[Message]) -> frozenset[int]:
    """The indices of messages with commands that the harness did not run, and of its refusals.

    A refusal is a result that holds only what the harness repeats.
    """
    refusals = {
        result.call_id
        for message in messages
        for result in message.results
        if result.content
        and all(isinstance(part, Text) and part.by_harness for part in result.content)
    }
    return frozenset(
        index
        for index, message in enumerate(messages)
        if any(call.id in refusals for call in message.calls)
        or any(result.call_id in refusals for result in message.results)
    )


def last_undo(messages: Sequence[Message]) -> str | None:
    """The id of the last call that took changes back, or `None`."""
    for message in reversed(messages):
        for call in reversed(message.calls):
            if any(map(UNDO.search, commands_of(call))):
                return call.id
    return None
