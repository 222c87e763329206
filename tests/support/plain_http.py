"""Plain HTTP in tests: requests to the application in this process, without a socket."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.types import Message

from context_compression.mcp_server.rest.endpoint import PlainHttp
from context_compression.mcp_server.web.gate import MEGABYTE, allowed_names
from context_compression.workspace import Workspace

JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Answered:
    """An answer: its status code, its headers, and the object in it."""

    status: int
    headers: Mapping[str, str]
    facts: dict[str, Any]

    @property
    def kind(self) -> str:
        """The type of the error; "" if there is none."""
        return self.facts["error"]["type"] if "error" in self.facts else ""

    @property
    def message(self) -> str:
        """The message of the error."""
        return self.facts["error"]["message"]


def asked(
    workspace: Workspace,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    most: int = MEGABYTE * 64,
    **query: str,
) -> Answered:
    """The answer to one request; with a body it is POST."""
    sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    given = {"host": "127.0.0.1:1", **({} if sent is None else JSON), **(headers or {})}
    scope: dict[str, Any] = {
        "type": "http", "method": method or ("GET" if sent is None else "POST"), "path": path,
        "query_string": urlencode(query).encode(), "scheme": "http", "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "server": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    messages: list[Message] = []
    asyncio.run(
        _answer(PlainHttp(workspace, allowed_names("127.0.0.1"), most), scope, sent, messages)
    )
    start, *rest = messages
    received = b"".join(each.get("body", b"") for each in rest)
    names = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answered(start["status"], names, json.loads(received))


async def _answer(
    app: PlainHttp, scope: dict[str, Any], body: bytes | None, messages: list[Message]
) -> None:
    waits, bodies = asyncio.Event(), [body or b""]

    async def receive() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        await waits.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
