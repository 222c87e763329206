"""What OpenAI's Chat Completions refuse, `function_call` of old included; and strict templates.

Sources: the API reference "Create chat completion" (messages, tool_calls, function_call); texts of
its 400 answers.
"""

from collections.abc import Iterator

from provider.reading import Json, Messages, blocks, call_ids, kind, twice

LONGEST_ID = 64
"""Characters ("string too long. Expected a string with maximum length 64")."""
SPEAKING = ("content", "tool_calls", "refusal", "function_call")


def rules(messages: Messages) -> Iterator[str]:
    """Every rule of this API."""
    yield from _ids(messages)
    yield from _shapes(messages)
    yield from _pairs(messages)
    yield from _functions(messages)


def _ids(messages: Messages) -> Iterator[str]:
    """Each call has its own id, of 1 to 64 characters."""
    ids = [call.get("id") for m in messages for call in m.get("tool_calls") or ()]
    yield from (f"a call id is used twice: {call_id}" for call_id in twice(ids))
    for call_id in ids:
        if not isinstance(call_id, str) or not 1 <= len(call_id) <= LONGEST_ID:
            yield f"no call id: {call_id!r}"


def _shapes(messages: Messages) -> Iterator[str]:
    """Only a tool answers, only the assistant calls; no message and no text part is empty."""
    for number, message in enumerate(messages):
        role = message["role"]
        if "tool_call_id" in message and role != "tool":
            yield f"message {number} of role {role} has a tool_call_id"
        if role != "assistant" and ("tool_calls" in message or "function_call" in message):
            yield f"message {number} of role {role} makes calls"
        if any(kind(b) == "text" and not b.get("text") for b in blocks(message)):
            yield f"message {number} has an empty text"
        if role not in ("tool", "function") and not any(message.get(key) for key in SPEAKING):
            yield f"message {number} is empty"


def _pairs(messages: Messages) -> Iterator[str]:
    """An assistant message with `tool_calls` is followed at once by a tool message for each."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"message {number} answers {message.get('tool_call_id')}, not just called"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"calls without result: {waiting}"
        waiting = call_ids(message)


def _functions(messages: Messages) -> Iterator[str]:
    """A `function_call` is followed by one message of role function that bears its name."""
    waiting: str | None = None
    for number, message in enumerate(messages):
        if message["role"] == "function":
            if waiting is None or message.get("name") != waiting:
                yield f"function message {number} answers {message.get('name')}, not just called"
            waiting = None
            continue
        if waiting is not None:
            yield f"function call without result: {waiting}"
        call: Json | None = message.get("function_call")
        waiting = str(call.get("name")) if call else None


def alternates(messages: Messages) -> list[str]:
    """What the chat templates of Mistral and Gemma refuse, which many servers run.

    After an optional system message, user and assistant take turns, the user first; tool messages
    and assistant messages with calls are not looked at ("Conversation roles must alternate
    user/assistant/user/assistant/…").
    """
    begins = int(bool(messages) and messages[0]["role"] == "system")
    speaking = [
        (number, message["role"])
        for number, message in enumerate(messages)
        if number >= begins and message["role"] != "tool" and not message.get("tool_calls")
    ]
    expected = ("user", "assistant")
    return [
        f"message {number} of role {role} where {expected[turn % 2]} takes a turn"
        for turn, (number, role) in enumerate(speaking)
        if role != expected[turn % 2]
    ][:1]
