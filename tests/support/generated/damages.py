"""Damages: what programs do to conversations before they bring them to us, in every dialect."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, TypeAlias

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from provider.reading import blocks, call_ids, is_list, is_object, kind, result_ids, under

from context_compression.testing import Dialect, said_by_model
from generated.conversations import conversations
from generated.shapes import within_marks
from generated.talk import Messages, dialects

Damage: TypeAlias = Callable[[Dialect, Messages, int, int], None]

KEYED = ("gemini", "bedrock")
"""Dialects whose blocks are known by their key and have no type."""
SAID = {"text", "content", "output", "value", "arguments", "thinking", "error", "note", "input"}
"""Keys whose strings somebody wrote."""


def _drop(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    del messages[at]


def _repeat(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    messages.insert(to, deepcopy(messages[at]))


def _move(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    messages.insert(to, messages.pop(at))


def _empty(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    text = {"text": ""} if dialect in KEYED else {"type": "text", "text": ""}
    empties: list[Any] = [[], [text]] if dialect in KEYED else ["", [], None, [text]]
    if key := _content_key(messages[at]):
        messages[at][key] = empties[to % len(empties)]


def _content_key(message: dict[str, Any]) -> str:
    """Where its blocks stand; an item without blocks has none."""
    return next((key for key in ("parts", "content", "output") if key in message), "")


def _model_first(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    messages[:0] = said_by_model("As I said before.", dialect)


def _unknown(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    waves = {"waves": [1, 2, 3]}
    block: dict[str, Any] = (
        {"hologram": waves} if dialect in KEYED else {"type": "hologram"} | waves
    )
    key = _content_key(messages[at])
    if dialect == "ollama":
        return  # its content is a text, where nothing unknown can stand
    if dialect == "responses" and key != "content":
        after_reasoning = at > 0 and messages[at - 1].get("type") == "reasoning"
        messages.insert(at - after_reasoning, block)
        return
    content = messages[at].get(key)
    messages[at][key] = [*content, block] if isinstance(content, list) else [block]


def _same_ids(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    for message in messages[min(at, to) : max(at, to) + 1]:
        for call, key in _calls(message):
            call[key] = "id0"


def _calls(message: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Where the id of each call stands; calls without ids have none to change."""
    yield from ((call, "id") for call in message.get("tool_calls") or () if "id" in call)
    if kind(message) == "function_call":
        yield message, "call_id"
    for block in blocks(message):
        for name, key in (("tool_use", "id"), ("tool-call", "toolCallId")):
            if kind(block) == name:
                yield block, key
        if used := under(block, "toolUse"):
            yield used, "toolUseId"
        call = under(block, "functionCall", "function_call")
        if call and "id" in call:
            yield call, "id"


def _other_id(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    for result, key in _results(messages[at]):
        result[key] = f"nobody{to}"


def _results(message: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Where each result tells what it answers: an id, or else a name."""
    yield from ((message, key) for key in ("tool_call_id", "tool_name") if key in message)
    if message.get("role") == "function":
        yield message, "name"
    if kind(message) == "function_call_output":
        yield message, "call_id"
    for block in blocks(message):
        for name, key in (("tool_result", "tool_use_id"), ("tool-result", "toolCallId")):
            if kind(block) == name:
                yield block, key
        if result := under(block, "toolResult"):
            yield result, "toolUseId"
        if response := under(block, "functionResponse", "function_response"):
            yield response, "id" if "id" in response else "name"


def _mixed(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    if (key := _content_key(messages[at])) and _content_key(messages[to]) == key:
        messages[at][key] = [*blocks(messages[at])[::-1], *blocks(messages[to])[:1]]


def _halve(dialect: Dialect, messages: Messages, at: int, to: int) -> None:
    """Half of a character stands behind something that was said, as after a cut in UTF-16."""
    if places := [*_places(messages[at])]:
        said, key = places[to % len(places)]
        said[key] += "\ud83d"


def _places(value: Any) -> Iterator[tuple[Any, str]]:
    if is_object(value):
        for key, item in value.items():
            if key in SAID and isinstance(item, str):
                yield value, key
            yield from _places(item)
    elif is_list(value):
        for item in value:
            yield from _places(item)


DAMAGES: Sequence[Damage] = (
    _drop, _repeat, _move, _empty, _model_first, _unknown, _same_ids, _other_id, _mixed,
)  # fmt: skip


@st.composite
def broken(
    draw: DrawFn,
    dialect: SearchStrategy[Dialect] = dialects,
    spread: bool = False,
    halves: bool = False,
) -> Messages:
    """A conversation with one to four damages; some of them leave it valid.

    With `halves` one damage may be half a character, which nothing can send.
    """
    kind = draw(dialect)
    messages = deepcopy(draw(conversations(st.just(kind), spread=spread)))
    if not spread:
        messages = [_without_server_tools(message) for message in messages]
    damages = (*DAMAGES, *([_halve] if halves else ()))
    for _ in range(draw(st.integers(1, 4))):
        if not messages:
            break
        at, to = (draw(st.integers(0, len(messages) - 1)) for _ in range(2))
        draw(st.sampled_from(damages))(kind, messages, at, to)
    within_marks(messages)
    assume(spread or not _answered_from_afar(messages))
    return messages


def _without_server_tools(message: dict[str, Any]) -> dict[str, Any]:
    """They are halves of pairs within one message, which a damage could tear."""
    if not isinstance(message.get("content"), list):
        return message
    others = [block for block in message["content"] if not _is_of_server(block)]
    return message | {"content": others}


def _answered_from_afar(messages: Messages) -> bool:
    """Whether results answer, or could still answer, an assistant message that another follows."""
    far = set[str]()
    for one, other in pairwise(messages):
        both = one.get("role") == other.get("role") == "assistant"
        far = far | {*call_ids(one)} if both else far
        if far & {*result_ids(other)}:
            return True
        far = far if both or other.get("role") == "user" else set[str]()
    return bool(far)


def _is_of_server(block: dict[str, Any]) -> bool:
    name = kind(block)
    return name in ("server_tool_use", "mcp_tool_use") or name.endswith("_tool_result")
