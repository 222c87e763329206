"""Ids for calls that have none: results answer them in their order, or by the tool's name.

Gemini's `contents`, Ollama's messages and OpenAI's legacy `function_call` pair by order. An id of
ours stands for each such call while we work; it is never written.
"""

import re
from typing import Literal, TypeAlias

from context_compression.conversation.messages import UNNAMED, Role

Kind: TypeAlias = Literal["call", "function"]
"""Of an id of ours: an ordinary call's, or that of a legacy `function_call`."""

OURS = re.compile(rf"{UNNAMED}(call|function|result)-\d+")


def kind_of(call_id: str) -> str:
    """Of an id of ours its kind; empty for a provider's own."""
    found = OURS.fullmatch(call_id)
    return found[1] if found else ""


class Ids:
    """Gives ids to the calls of one conversation that have none, in its order."""

    def __init__(self) -> None:
        self._number = 0
        self._role: Role = "user"  # whose the message before was
        self._open: list[tuple[str, str]] = []  # ids and names of calls without a result so far

    def call(self, name: str, kind: Kind = "call") -> str:
        """An id for a call of a tool; before a `function_call`, always alone, none is open."""
        if kind == "function":
            self._open.clear()
        call_id = self._next(kind)
        self._open.append((call_id, name))
        return call_id

    def result(self, name: str = "") -> str:
        """The id of the call that a result answers: the first one open, of this name if it has one.

        `@result-…` where there is none.
        """
        found = next((one for one in self._open if name in ("", one[1])), None)
        if found is None:
            return self._next("result")
        self._open.remove(found)
        return found[0]

    def turn_of(self, role: Role) -> None:
        """Whose message is next: when the model speaks again, its calls are answered no more.

        What a stream brought may stand in several messages of the model's; they are one turn.
        """
        if role == "assistant" and self._role != "assistant":
            self._open.clear()
        self._role = role

    def unit(self) -> str:
        """An id for a call that the provider ran itself, and its result."""
        return self._next("unit")

    def _next(self, kind: str) -> str:
        self._number += 1
        return f"{UNNAMED}{kind}-{self._number}"
