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
print(json.dumps({
    "without_proxy": without,
    "fitted": ours.sessions.store.sessions()[0],
    "session_of": ours.session_of(one, request).id,
    "of_another_key": ours.session_of(two, request).id,
}))  # fmt: skip
