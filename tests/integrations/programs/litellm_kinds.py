# pyright: basic, reportMissingImports=false, reportArgumentType=false
# The framework is installed in an environment of its own.
"""What the callback for LiteLLM does without a running proxy."""

import asyncio
import json
import sys
from importlib import import_module
from types import SimpleNamespace

from context_compression.errors import MissingExtra

ADAPTER = "context_compression.integrations.litellm"


def without_proxy():
    """What is said where only LiteLLM itself is installed."""
    sys.modules["websockets"] = None
    try:
        return import_module(ADAPTER).__name__
    except MissingExtra as error:
        return str(error)
    finally:
        del sys.modules["websockets"]


without = without_proxy()
ours = import_module(ADAPTER).ContextCompression()
one, two = (SimpleNamespace(api_key=key) for key in ("sk-one", "sk-two"))
request = {
    "model": "gpt-4o",
    "litellm_session_id": "build",
    "messages": [{"role": "user", "content": "Why is the build red?"}],
}
asyncio.run(ours.async_pre_call_hook(one, None, request, "acompletion"))
fitted = ours.sessions.store.sessions()[0]


def without_id(*names):
    """The ids of the session of a long request without a session id, before and after it was
    fitted; whether its messages became others, and whether our tool would be answered."""
    talk = [{"role": "user", "content": f"Why is build {names} red?"}]
    for n in range(20):
        function = {"name": "logs", "arguments": json.dumps({"n": n})}
        call = {"id": f"call_{names}_{n}", "type": "function", "function": function}
        talk += [
            {"role": "assistant", "content": "I read on. " * 200, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": f"line {n} word\n" * 400},
            {"role": "user", "content": f"And part {n}? " * 100},
        ]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    data = {"model": "gpt-4o", "messages": talk, "metadata": {}, "tools": tools}
    strict = import_module(ADAPTER).ContextCompression(settings={
        "token_budget": 20_000, "strategy": "window"
    }, summarizer=None)  # fmt: skip
    before = strict.session_of(one, data).id
    asyncio.run(strict.async_pre_call_hook(one, None, data, "acompletion"))
    function = {"name": "context_restore", "arguments": '{"ref": "abcd"}'}
    message = {"tool_calls": [{"id": "call_r", "type": "function", "function": function}]}
    runs, _ = asyncio.run(strict.async_should_run_agentic_loop(
        {"choices": [{"message": message}]}, "gpt-4o", [], None, False, "openai", data
    ))  # fmt: skip
    return {
        "same": strict.session_of(one, data).id == before,
        "recorded": strict.session_of(one, data).status().messages_recorded,
        "changed": data["messages"] != talk,
        "other_key": strict.session_of(two, data).id == before,
        "answered": runs,
    }


print(json.dumps({
    "without_proxy": without,
    "fitted": fitted,
    "session_of": ours.session_of(one, request).id,
    "of_another_key": ours.session_of(two, request).id,
    "without_id": {
        "no tools": without_id(), "tools": without_id("logs"),
        "its own": without_id("logs", "context_restore"),
    },
}))  # fmt: skip
