"""The form of a client's requests and answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from context_compression.loops.calling import Ran
from context_compression.loops.restoring import DESCRIPTION, RESTORE, SCHEMA

Body: TypeAlias = dict[str, Any]
Ending: TypeAlias = tuple[str | None, int, int]
"""Why an answer ended, tokens of the full request, tokens of the answer; 0 if unknown."""


@dataclass(frozen=True)
class Dialect:
    """The form of a client's requests and answers.

    Attributes:
        send: the client and a request -> the answer, or an awaitable for it.
        stream: the client, a request, and a function that takes each chunk -> the answer.
        astream: the same for a client of an event loop.
        ending_of: an answer -> how it ended.
        message_of: an answer -> the message to record, or `None` if it is empty.
        results_of: calls that were run -> the messages with their results, in the same order.
        tool_of: name, description and JSON schema -> the definition of a tool.
        name_of: the definition of a tool -> its name.
        with_system: a request and a system prompt -> the request with the prompt.
    """

    send: Callable[[Any, Body], Any]
    stream: Callable[[Any, Body, Callable[[Any], object]], Any]
    astream: Callable[[Any, Body, Callable[[Any], Awaitable[object]]], Awaitable[Any]]
    ending_of: Callable[[Any], Ending]
    message_of: Callable[[Any], Body | None]
    results_of: Callable[[Sequence[Ran]], list[Body]]
    tool_of: Callable[[str, str, Body], Body]
    name_of: Callable[[Mapping[str, Any]], str | None]
    with_system: Callable[[Body, Any], Body]

    def offering(self, request: Body) -> Body:
        """The request with our tool, unless the caller has a tool of that name."""
        given: list[Any] = list(request.get("tools") or ())
        if not any(self.name_of(tool) == RESTORE for tool in given):
            given.append(self.tool_of(RESTORE, DESCRIPTION, SCHEMA))
        return {**request, "tools": given}
