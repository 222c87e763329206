"""Ids for calls that have none: results answer such calls in order, or by the tool's name.

Gemini's `contents`, Ollama's messages and OpenAI's legacy `function_call` pair by order. Each such
call gets an id of this package, which is never written into a message.
"""

import re
from typing import Literal, TypeAlias

from context_compression.conversation.messages import UNNAMED, Role

Kind: TypeAlias = Literal["call", "function"]
"""The kind of an id of this package: of an ordinary call, or of a legacy `function_call`."""

OWN_ID = re.compile(rf"{UNNAMED}(call|function|result)-\d+")


def kind_of(call_id: str) -> str:
    """The kind of an id of this package: `"call"`, `"function"`, `"result"`; `""` for other ids."""
    own_id = OWN_ID.fullmatch(call_id)
    return own_id[1] if own_id else ""


class Ids:
    """Gives ids to the calls of one conversation that have none, in order."""

    def __init__(self) -> None:
        self._number = 0
        self._role: Role = "user"  # of the message before
        self._open: list[tuple[str, str]] = []  # ids and names of calls without a result so far

    def call(self, name: str, kind: Kind = "call") -> str:
        """An id for a call of a tool; a `function_call` closes all earlier calls."""
        if kind == "function":
            self._open.clear()
        call_id = self._next(kind)
        self._open.append((call_id, name))
        return call_id

    def result(self, name: str = "") -> str:
        """The id of the call that a result answers: the first open one, of this name if given.

        `"@result-…"` if there is no such call.
        """
        call = next((each for each in self._open if name in ("", each[1])), None)
        if call is None:
            return self._next("result")
        self._open.remove(call)
        return call[0]

    def turn_of(self, role: Role) -> None:
        """Note the role of the next message: a new turn of the model closes its earlier calls.

        One turn may be several messages of the model's, where they were streamed.
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
