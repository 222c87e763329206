"""Answers that refuse a request, in the form that its path promises, and which path is whose.

`/mcp` speaks MCP, and everything else here is plain HTTP. A client of plain HTTP finds an error
under `error`, with its type and a message, whoever refuses: the gate, or what answers behind it.
"""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Scope

V1, OPENAPI = "/v1", "/openapi.json"
PATHS = ("/mcp", "/v1/compress", "/v1/fit", "/v1/restore", "/v1/status", OPENAPI)
"""What is answered, but for health; also the names that the access log knows."""


def is_plain_http(scope: Scope) -> bool:
    """Whether a request is for plain HTTP, not for MCP."""
    path: str = scope["path"]
    return path in (V1, OPENAPI) or path.startswith(f"{V1}/")


def refusal(
    scope: Scope,
    status: int,
    kind: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """The answer to a request that is refused.

    Args:
        scope: of the request.
        status: the status code.
        kind: what is wrong, in one word for programs; MCP has none.
        message: what was wrong, what is allowed, what to do next.
        headers: of the answer.
        more: further facts.
    """
    if not is_plain_http(scope):
        return JSONResponse({"error": message, **more}, status, headers=headers)
    return as_json({"error": {"type": kind, "message": message, **more}}, status, headers)


def as_json(
    value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in JSON. Half characters, which UTF-8 cannot carry, are escaped."""
    try:
        body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        body = json.dumps(value, allow_nan=False).encode()
    return Response(body, status, headers, "application/json")
