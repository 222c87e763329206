"""What the readers of dialects share: roles, shapes, ids, arguments of calls, opaque blocks.

Shapes of JSON values, which are written like the values, and `fits`, which compares them.

{"parts": [{"type": str}], "role": str}   an object with both keys; one of the parts has a type
{"type": ("human", "ai"), "role": None}   its type is one of these texts, and it has no role
{"id": object}                            an object with an id of any type

Ids for calls that have none; results are paired with such calls by order or by tool name.

Gemini's `contents`, Ollama's messages and OpenAI's legacy `function_call` pair results by order.
This package gives each such call an id of its own. That id is never written into a message.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias

from context_compression.conversation.formats.plain import why_not_json
from context_compression.conversation.messages import (
    UNNAMED,
    Opaque,
    Role,
    ToolCall,
    as_object,
    is_array,
    is_object,
)

Shape: TypeAlias = "dict[str, Any] | list[Any] | tuple[str, ...] | type | None"
"""A dict: an object with these keys. A list: an array with such an item. A tuple: one of its texts.
A type: a value of that type. `None`: the key is absent."""
LOOKED_AT = 20
"""How many items at the beginning of an array are compared with a shape; chosen to limit time."""


def fits(value: Any, shape: Shape) -> bool:
    """Whether a value has a shape; keys and items that the shape does not name may be anything."""
    if isinstance(shape, dict):
        if not is_object(value):
            return False
        for key, inner in shape.items():
            if not (fits(value[key], inner) if key in value else inner is None):
                return False
        return True
    if isinstance(shape, tuple):
        return isinstance(value, str) and value in shape
    if isinstance(shape, list):
        if not is_array(value):
            return False
        return any(fits(item, inner) for item in islice(value, LOOKED_AT) for inner in shape)
    if shape is None:
        return False
    if shape is dict or shape is list:
        return is_object(value) if shape is dict else is_array(value)
    return isinstance(value, shape)


ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "developer", "user": "user", "assistant": "assistant",
    "model": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Each role by the names that dialects have for it."""


def role_of(message: Mapping[str, Any]) -> Role:
    """The role of a message: `{"role": "model", …}` -> `"assistant"`."""
    return ROLES[message["role"]]


COMPACTION = "compaction"
"""The type of a block, or of an item of OpenAI Responses, with the earlier conversation."""
OPTIONS = ("providerOptions", "providerMetadata")
"""The keys of a part of the AI SDK under which each provider's own values are."""


def opaque(block: Any) -> Opaque:
    """The block as a value; one with the conversation that a provider compacted always stays.

    OpenAI encrypts that conversation. Anthropic writes it as a text, and ignores all that is before
    the block (its page on compaction).
    """
    if not is_object(block) or not is_compaction(block):
        return Opaque(block)
    text = next((block[key] for key in ("content", "text") if isinstance(block.get(key), str)), "")
    return Opaque(block, stays=True, stands_for=True, text=text)


def is_compaction(block: Mapping[str, Any]) -> bool:
    """Whether a block holds the conversation that a provider compacted, by its type or options."""
    given = (option for key in OPTIONS for option in as_object(block.get(key)).values())
    return any(as_object(each).get("type") == COMPACTION for each in (block, *given))


def parsed(arguments: Any) -> Any:
    """The arguments of a call as a dict if they are the JSON of an object, else unchanged.

    `None` becomes `""`. JSON that a dict does not hold completely stays a string, such as `NaN` or
    a key that occurs twice.
    """
    if not isinstance(arguments, str):
        return arguments if arguments is not None else ""
    try:
        value = json.loads(arguments, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return arguments
    return value if is_object(value) and why_not_json(value) is None else arguments


def as_written(arguments: Any) -> str:
    """The text that arguments came as; `""` if they came as an object."""
    return arguments if isinstance(arguments, str) else ""


def stays(call: ToolCall, there: Any) -> bool:
    """Whether a call has the arguments that came as `there`."""
    return (call.written or call.arguments) == ("" if there is None else there)


def given(call: ToolCall, there: Any) -> Any:
    """The arguments of a call in the form in which they came as `there`: a text or an object."""
    if stays(call, there):
        return there
    is_text = there is None or isinstance(there, str)
    return (call.written or call.arguments_text) if is_text else call.arguments


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("A key occurs twice.")
    return made


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
