"""How many tokens compressions saved over all requests of a conversation, and their cost.

A request sends the complete view. So tokens that a compression freed are saved once in each later
request, and the definitions of our tools are paid once in each. Tokens are not money: a provider
charges a tenth for tokens that its cache still holds, and a compression invalidates a part of the
cache.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from context_compression.conversation.messages import is_array, is_by_model, is_object
from context_compression.tokens import family_of

SCHEMAS = 1_000
"""o200k tokens of our tools' definitions and instructions; a test keeps it within 5 % of the count.
"""
OWN_TOOL = re.compile(r"(^|_)context_(status|compress|config|summary|offload|restore)$")
"""Matches our tools, with any prefix a host adds to their names: `mcp__ctx__context_status`."""


@dataclass(frozen=True)
class Savings:
    """Tokens that a conversation's requests did not have to send, and tokens spent for that.

    Attributes:
        per_request: by how many tokens the next request is smaller.
        requests: how many requests were answered so far.
        kept_out: tokens that those requests would have sent in addition.
        brought_back: tokens that restores added to them.
        summaries: tokens of the calls that wrote summaries.
        cost: of those calls in US dollars, if prices are known.
        schemas: tokens of our tools' definitions in each request; 0 if it has none.
    """

    per_request: int = 0
    requests: int = 0
    kept_out: int = 0
    brought_back: int = 0
    summaries: int = 0
    cost: float = 0.0
    schemas: int = 0

    @property
    def schemas_sent(self) -> int:
        """Tokens of our tools' definitions in all requests."""
        return self.schemas * self.requests

    @property
    def net(self) -> int:
        """Total tokens saved; negative if compression cost more than it saved."""
        return self.kept_out - self.brought_back - self.summaries - self.schemas_sent

    @property
    def unsent(self) -> bool:
        """Whether no request was sent since tokens were freed, so that nothing is saved yet."""
        return self.per_request > 0 and not self.kept_out

    def as_answer(self) -> dict[str, int]:
        """The tokens by name, as answers show them: without zeros, except for `net`."""
        tokens_by_name = {
            "fewer_per_request": max(0, self.per_request),
            "kept_out": self.kept_out,
            "brought_back": self.brought_back,
            "spent_on_summaries": self.summaries,
            "spent_on_schemas": self.schemas_sent,
        }
        nonzero = {name: tokens for name, tokens in tokens_by_name.items() if tokens}
        return nonzero | {"net": self.net}

    def offering_tools(self, model: str | None) -> "Savings":
        """The same savings for a conversation whose requests offer our tools to `model`."""
        return replace(self, schemas=round(SCHEMAS * family_of(model).factor))


@dataclass
class Tally:
    """Adds up a session's log, event by event.

    Attributes:
        requests: how many requests were answered.
        kept_out: as in `Savings`.
        brought_back: as in `Savings`.
        restored: tokens that were restored, once each.
        summaries: as in `Savings`.
        cost: as in `Savings`.
        outside: tokens that a host's hook kept out, by the id of the tool call.
        at_source: the sum of `outside` over the calls whose tool results were recorded.
        answering: whether the last message was the model's.
        called: whether an agent called one of our tools, so that its requests offer them.
        by_caller: summaries that an agent wrote itself, in a call whose size we do not know.
    """

    requests: int = 0
    kept_out: int = 0
    brought_back: int = 0
    restored: int = 0
    summaries: int = 0
    cost: float = 0.0
    outside: dict[str, int] = field(default_factory=dict[str, int])
    at_source: int = 0
    answering: bool = False
    called: bool = False
    by_caller: list[str] = field(default_factory=list[str])

    def take(self, event: Mapping[str, Any], freed: int) -> None:
        """Add one event; `freed` is how many tokens compressions free in the view after it."""
        match event:
            case {"type": "message", "message": message} if is_object(message):
                self._take_message(message, freed)
            case {"type": "shortened", "message": message} if is_object(message):
                self.at_source += sum(self.outside.get(call, 0) for call in _answered(message))
            case {"type": "rewind"}:  # messages that are still in the history are recorded again
                self.at_source = 0
            case {"type": "offload", "call": str(call), "tokens_freed": int(tokens)}:
                self.outside[call] = tokens
            case {"type": "restore", "tokens": int(tokens)}:
                self.restored += tokens
            case {"type": "compression", "summary": str(text)}:
                spent = _number(event, "input_tokens") + _number(event, "output_tokens")
                self.summaries += int(spent)
                self.cost += _number(event, "cost")
                if not spent:
                    self.by_caller.append(text)
            case _:
                pass

    def _take_message(self, message: Mapping[str, Any], freed: int) -> None:
        """Count a message of the model as the answer to a request.

        Consecutive items without a role, as in OpenAI Responses, are one answer.
        """
        if not is_by_model(message):
            self.answering = False
            if self.outside:
                self.at_source += sum(self.outside.get(call, 0) for call in _answered(message))
            return
        self.called = self.called or any(map(OWN_TOOL.search, _calls(message)))
        if not self.answering or "role" in message:
            self.requests += 1
            self.kept_out += freed + self.at_source
            self.brought_back += self.restored
        self.answering = True

    def savings(self, freed: int, count: Callable[[str], int], model: str | None = None) -> Savings:
        """The sums of all events.

        Args:
            freed: tokens that compressions free in the view now.
            count: counts the tokens of a text.
            model: the model in whose tokens our tools' definitions are counted.
        """
        sums = Savings(
            per_request=freed + self.at_source - self.restored,
            requests=self.requests,
            kept_out=self.kept_out,
            brought_back=self.brought_back,
            summaries=self.summaries + sum(map(count, self.by_caller)),
            cost=self.cost,
        )
        return sums.offering_tools(model) if self.called else sums


def _calls(message: Mapping[str, Any]) -> Iterator[str]:
    """The names of the tools that a message calls, in any dialect."""
    yield str(message.get("name", ""))
    for key in ("content", "tool_calls", "parts"):
        blocks = message.get(key)
        if not is_array(blocks):
            continue
        for block in filter(is_object, blocks):
            inner = (
                block.get(of) for of in ("function", "functionCall", "function_call", "toolUse")
            )
            for call in filter(is_object, (block, *inner)):
                yield str(call.get("name", call.get("toolName", "")))


def _answered(message: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the calls that a message answers, in Anthropic's dialect, which hosts use."""
    content = message.get("content")
    for block in filter(is_object, content) if is_array(content) else ():
        yield str(block.get("tool_use_id", ""))


def _number(event: Mapping[str, Any], name: str) -> float:
    """A finite number of an event; 0 if the event has none under that name."""
    value = event.get(name)
    return value if isinstance(value, int | float) and abs(value) < math.inf else 0
