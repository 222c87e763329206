"""What the readers of dialects share: plain JSON, providers' rules, roles, shapes, ids, calls.

An object of a provider's library is replaced by the result of its `model_dump`. "Half of a
character" means a lone surrogate: Python strings and JSON files may hold one, and providers refuse
it.

The module of each dialect states the rules in which its provider differs, with their sources.
`validity` repairs conversations by these rules, and the strategies follow them.

Shapes of JSON values are written like the values; `fits` compares them:

    {"parts": [{"type": str}], "role": str}   an object with both keys; a part has a type
    {"type": ("human", "ai"), "role": None}   its type is one of these, and it has no role
    {"id": object}                            an object with an id of any type

Gemini's `contents`, Ollama's messages and OpenAI's legacy `function_call` pair results by order.
Calls without an id get one of this package, which is never written into a message.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol, TypeAlias, cast

from context_compression.conversation.messages import (
    UNNAMED,
    Opaque,
    Role,
    ToolCall,
    as_object,
    is_array,
    is_object,
)


class LibraryObject(Protocol):
    """An object of a provider's library, such as `ChatCompletionMessage`."""

    def model_dump(self) -> dict[str, Any]:
        """Its JSON."""
        ...


AnyMessage: TypeAlias = Mapping[str, Any] | LibraryObject
"""A message as a program has it: a dict, or an object of its provider's library."""
DEEPEST = 200
"""Levels of nesting. Conversations have about ten; Python's recursion limit is a thousand."""
LONGEST_NUMBER = 14_000
"""Bits of an integer; Python refuses to write an integer of more than 4,300 digits."""
SCALARS = frozenset({str, int, float, bool, type(None)})


def why_not_json(value: Any) -> str | None:
    """Why a value cannot be sent as JSON, for "Message 3 holds …"; `None` if it can."""
    level: list[Any] = [value]
    for depth in range(DEEPEST + 1):
        below: dict[int, Any] = {}  # by id: a value may hold itself, and that more than once
        for item in level:
            if type(item) is str or item is None or isinstance(item, str | bool):
                continue
            if isinstance(item, int | float):
                if _is_unwritable(item):
                    return "a number that JSON cannot hold"
            elif depth == DEEPEST:
                return f"values nested deeper than {DEEPEST} levels"
            elif is_object(item):
                if any(not isinstance(key, str) for key in cast("Iterable[object]", item)):
                    return "a key that is not a string"
                below.update((id(part), part) for part in item.values() if type(part) is not str)
            elif is_array(item) and not isinstance(item, bytearray):
                below.update((id(part), part) for part in item if type(part) is not str)
            else:
                how = " (write it in base64)" if isinstance(item, bytes | bytearray) else ""
                return f"a {type(item).__name__}, which is no JSON value{how}"
        if not below:
            break
        level = [*below.values()]
    return None


def _is_unwritable(number: float) -> bool:
    if isinstance(number, int):
        return number.bit_length() > LONGEST_NUMBER
    return not math.isfinite(number)


def plain(messages: Any) -> Any:
    """Messages with each object of a provider's library replaced by its JSON.

    Such objects have a `model_dump`, as blocks and messages of the packages `anthropic` and
    `openai` do. A message without such objects is returned as the same object. If no message has
    any, the list itself is returned.
    """
    if not is_array(messages) or _is_plain(messages):
        return messages
    return [_plain(message, 0) for message in messages]


def _is_plain(value: Any) -> bool:
    """Whether a value consists of Python's own types only, above `DEEPEST`; makes no copy."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        below: dict[int, Any] = {}  # by id: a value may hold itself, and that more than once
        for item in level:
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
            if kind is dict:
                parts = item.values()
            elif kind is list or kind is tuple:
                parts = item
            elif kind in SCALARS:
                continue
            else:
                return False
            for part in parts:
                if type(part) not in SCALARS:
                    below[id(part)] = part
        level = [*below.values()]
        if not level:
            break
    return True


def _plain(value: Any, depth: int) -> Any:
    """The value without such objects; the same object if it has none, or below `DEEPEST`."""
    if value is None or isinstance(value, str | int | float) or depth > DEEPEST:
        return value
    if is_object(value):
        made = {key: _plain(item, depth + 1) for key, item in value.items()}
        return value if all(made[key] is value[key] for key in made) else made
    if is_array(value):
        items = [_plain(item, depth + 1) for item in value]
        return value if all(map(_is, items, value)) else items
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump(mode="json", by_alias=True, exclude_none=True)
    except Exception:  # any class may have a method of this name
        return value


def _is(one: object, other: object) -> bool:
    return one is other


def has_halves(value: Any) -> bool:
    """Whether parsed JSON has a lone surrogate in a text or a key."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and _is_half(item):
                return True
        elif item is None or type(item) is int:
            continue
        elif is_object(item):
            stack.extend(item.values())
            stack.extend(item)
        elif is_array(item):
            stack.extend(item)
    return False


def without_halves(value: Any) -> Any:
    """Parsed JSON with U+FFFD in place of each lone surrogate."""
    if isinstance(value, str):
        pairs = value.encode("utf-16", "surrogatepass")  # two halves side by side are one character
        return pairs.decode("utf-16", "replace") if _is_half(value) else value
    if is_object(value):
        return {without_halves(key): without_halves(item) for key, item in value.items()}
    if is_array(value):
        return [without_halves(item) for item in value]
    return value


def _is_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


Join: TypeAlias = Literal["nothing", "calls", "turns with calls", "all"]
"""Which neighbouring messages of one role are joined into one message:

nothing           none: the provider takes them separately, or joins them itself
calls             the assistant's from the first call on, if others of its turn follow that call
turns with calls  the assistant's if one of them calls a tool, and the results of a turn
all               all of them
"""


@dataclass(frozen=True)
class ProviderRules:
    """The rules of one provider.

    Attributes:
        user_first: the first message must be the user's.
        results_role: the role of messages with tool results.
        join: which neighbouring messages of one role must be joined into one.
        alternates: user and assistant messages must alternate. Messages with calls or results count
            if `results_role` is user; they do not count if results have a role of their own.
        one_text: a result holds at most one text.
        lone_reasoning: what may not consist of reasoning alone: a message, a turn of the
            assistant's, or its end. Reasoning that is apart has rules of its own.
        reasoning_apart: reasoning is a message of its own, before the item it belongs to. Neither
            may be sent without the other, unless the item has lost its id.
    """

    user_first: bool = False
    results_role: Literal["user", "tool"] = "tool"
    join: Join = "nothing"
    alternates: bool = False
    one_text: bool = False
    lone_reasoning: Literal["message", "turn", "end of a turn"] = "turn"
    reasoning_apart: bool = False


def anthropic_like() -> ProviderRules:
    """The rules of Anthropic Messages, for a plan without a dialect."""
    return ProviderRules(user_first=True, results_role="user", lone_reasoning="end of a turn")


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
