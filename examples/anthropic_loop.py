"""A whole agent loop with the `anthropic` client: every request fits, and nothing is lost.

    ANTHROPIC_API_KEY=… python examples/anthropic_loop.py

`fit` makes what is sent small enough, `restore_tool` brings back what left, and `recover` mends a
refused request. `openai_loop.py` does the same in an event loop.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from anthropic import Anthropic, APIStatusError

from context_compression import Session, restore_tool
from context_compression.summaries.errors import silent_overflow
from context_compression.tokens import window_of

SAID = {"role": "user", "content": "Echo a word."}
ECHO = {"name": "echo", "input_schema": {"type": "object"}}


def answer_to(messages: Any, client: Any, session: Session, functions: Any, **request: Any) -> Any:
    """The model's last answer, after all tools that it calls; `messages` grows with each step.

    After a cancelled run, call it with the same messages, or in a new process with
    `session.view()`: calls without a result are made first. If the user says something instead,
    `fit` sends a note for each. `request` has the arguments of the client: `model`, `tools`, ….
    """
    restore = restore_tool(session)  # offered from the first request on: the cache stays valid
    request["tools"] = [*request.get("tools", ()), restore.anthropic]
    run = partial(result_of, {**functions, restore.name: restore.answer})
    while True:
        if calls := calls_in(messages[-1]):
            with ThreadPoolExecutor() as threads:
                messages.append({"role": "user", "content": [*threads.map(run, calls)]})
        answer = asked(messages, client, session, request)
        if not (content := [block.to_dict(mode="json") for block in answer.content]):
            return answer
        messages.append({"role": "assistant", "content": content})
        if answer.stop_reason != "pause_turn" and not calls_in(messages[-1]):
            return answer


def asked(messages: Any, client: Any, session: Session, request: dict[str, Any]) -> Any:
    """One answer. A refused request is sent again: smaller, or without thinking bound elsewhere."""
    sent = session.fit(messages, system=request.get("system"), tools=request["tools"])
    window = max(session.settings.token_budget, window_of(session.model) or 0)
    while True:
        system = {"system": session.system} if session.system else {}  # a summary may be in it
        try:
            answer = client.messages.create(**request | system, messages=sent)
        except APIStatusError as error:
            if (sent := session.recover(error)) is None:  # once until the model answers
                raise
            continue
        used = answer.usage
        read = used.input_tokens + (used.cache_read_input_tokens or 0)
        cut = silent_overflow(answer.stop_reason, read, used.output_tokens, window)
        if not cut or (sent := session.recover("context_length_exceeded")) is None:
            return answer


def calls_in(message: Any) -> list[Any]:
    """The calls of a message."""
    return [b for b in message["content"] if not isinstance(b, str) and b["type"] == "tool_use"]


def result_of(functions: Any, call: Any) -> dict[str, Any]:
    """The result of a call, or its error, which the model reads."""
    try:
        result = {"content": functions[call["name"]](call["input"])}
    except Exception as error:
        result = {"content": f"{type(error).__name__}: {error}", "is_error": True}
    return {"type": "tool_result", "tool_use_id": call["id"], **result}


if __name__ == "__main__":
    about = {"model": "claude-sonnet-5", "max_tokens": 999, "tools": [ECHO]}
    print(answer_to([SAID], Anthropic(), Session(".compression", "tour"), {"echo": str}, **about))
