"""Ids for calls that have none; results are paired with such calls by order or by tool name.

Gemini's `contents`, Ollama's messages and OpenAI's legacy `function_call` pair results by order.
This package gives each such call an id of its own. That id is never written into a message.
"""

import re
from typing import Literal, TypeAlias

from context_compression.conversation.messages import UNNAMED, Role

Kind: TypeAlias = Literal["call", "function"]
"""Whether an id of this package is for an ordinary call or for a legacy `function_call`."""

OWN_ID = re.compile(rf"{UNNAMED}(call|function|result)-\d+")


def kind_of(call_id: str) -> str:
    """`"call"`, `"function"` or `"result"` for an id of this package, `""` for other ids."""
    own_id = OWN_ID.fullmatch(call_id)
    return own_id[1] if own_id else ""


class Ids:
    """Gives ids to the calls of one conversation that have none, in order."""

    def __init__(self) -> None:
        self._number = 0
        self._role: Role = "user"  # of the message before
        self._open: list[tuple[str, str]] = []  # ids and names of calls without a result so far

    def copy(self) -> "Ids":
        """One that goes on from here by itself."""
        copied = Ids()
        copied._number, copied._role, copied._open = self._number, self._role, [*self._open]
        return copied

    def call(self, name: str, kind: Kind = "call") -> str:
        """An id for a call of a tool; a `function_call` closes all earlier calls."""
        if kind == "function":
            self._open.clear()
        call_id = self._next(kind)
        self._open.append((call_id, name))
        return call_id

    def result(self, name: str = "") -> str:
        """The id of the call that a result answers, which is then closed.

        That is the first open call, or the first open call of this name if a name is given. Without
        such a call, the result gets an id of its own, `"@result-…"`.
        """
        call = next((each for each in self._open if name in ("", each[1])), None)
        if call is None:
            return self._next("result")
        self._open.remove(call)
        return call[0]

    def turn_of(self, role: Role) -> None:
        """Note the role of the next message; a new turn of the model closes its earlier calls.

        A streamed turn may consist of several messages of the model.
        """
        if role == "assistant" and self._role != "assistant":
            self._open.clear()
        self._role = role

    def unit(self) -> str:
        """An id for a call that the provider ran itself and for its result."""
        return self._next("unit")

    def _next(self, kind: str) -> str:
        self._number += 1
        return f"{UNNAMED}{kind}-{self._number}"
