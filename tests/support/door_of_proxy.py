"""The door of the proxy: what goes to the provider for the requests of a client."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from door import STORE, About, Ask, Door, Request, of_session
from generated import Messages
from mcp_door import workspace_in

from context_compression.errors import StoreError
from context_compression.integrations.apis import CHAT, MESSAGES, RESPONSES, Api
from context_compression.proxy import ProxySessions, RecentBodies, fitted
from context_compression.testing import Dialect

APIS: Mapping[Dialect, Api] = {"anthropic": MESSAGES, "openai": CHAT, "responses": RESPONSES}
OTHER_TOOL = {"name": "other", "type": "function", "function": {"name": "other"}}
CALLER = {"x-api-key": "key", "x-session-id": "one"}


def _proxy(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    environ = {
        f"CONTEXT_COMPRESSION_{name.upper()}": str(value) for name, value in asked.settings.items()
    }
    workspace = workspace_in(folder, environ | {"CONTEXT_COMPRESSION_DIR": str(folder / STORE)})
    bodies, api = RecentBodies(), APIS[dialect]
    try:
        sessions = ProxySessions(workspace)
    except StoreError as error:  # requests go out as they came, and its log says so
        yield from (Request(each, each, About([str(error)])) for each, _ in asked.growing(messages))
        return
    for history, system in asked.growing(messages):
        fields: dict[str, Any] = {"model": "any", api.messages: history}
        fields |= {api.system: system} if api.system and system else {}
        fields |= {"tools": [OTHER_TOOL]} if asked.restores else {}
        body = bodies.read(json.dumps(fields).encode())
        assert body
        fits = fitted(sessions, api, CALLER, body)
        if fits is None:  # it goes out as it came
            yield Request(history, history)
            continue
        view = json.loads(fits.raw)[api.messages]
        yield Request(history, view, of_session(fits.session))


PROXY = Door(
    "proxy", _proxy, grows=True, makes_own=True, answers=True, dialects=("anthropic", "openai")
)
