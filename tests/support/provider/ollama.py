"""What Ollama's chat cannot make sense of: it pairs calls and results by their order.

Sources: Ollama's API reference "Generate a chat message" and its `Message` (role, content,
thinking, images, tool_calls with an object for arguments, tool_name).
"""

from collections.abc import Iterator

from provider.reading import Json, Messages, is_object


def rules(messages: Messages) -> Iterator[str]:
    """As many tool messages as calls stand right behind them, of the same names; nobody has ids."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if "tool_call_id" in message or any("id" in call for call in _calls(message)):
            yield f"message {number} has an id"
        if message["role"] == "tool":
            name = waiting.pop(0) if waiting else None
            if name is None or message.get("tool_name", name) != name:
                yield f"tool message {number} answers {message.get('tool_name')}, not just called"
            continue
        if waiting:
            yield f"calls without result: {waiting}"
        waiting = [str(_function(call).get("name")) for call in _calls(message)]
        yield from _shape(number, message)


def _shape(number: int, message: Json) -> Iterator[str]:
    if waiting := _calls(message):
        if message["role"] != "assistant":
            yield f"message {number} of role {message['role']} makes calls"
        if not all(is_object(_function(call).get("arguments")) for call in waiting):
            yield f"message {number} has arguments that are no object"
    elif not any(message.get(key) for key in ("content", "images")):
        yield f"message {number} is empty"
    if not isinstance(message.get("content") or "", str):
        yield f"the content of message {number} is no string"


def _calls(message: Json) -> list[Json]:
    return [call for call in message.get("tool_calls") or () if is_object(call)]


def _function(call: Json) -> Json:
    function = call.get("function")
    return function if is_object(function) else {}
