"""A trial of our server: it is started as a host would start it, and gets a few requests."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from context_compression.errors import SetupError

PATIENCE = 60  # seconds; hosts wait between 10 and 60
HELLO = [{"role": "user", "content": "How full is the context?"}]


@dataclass(frozen=True)
class Trial:
    """The answers of a server.

    Attributes:
        seconds: the time until it could be used.
        version: the server's version.
        protocol: the version of the protocol that client and server agreed on.
        tools: the names of its tools.
        status: the answer of `context_status` for a conversation of one message.
        refusal: the error in place of that answer; empty if there is none.
    """

    seconds: float
    version: str
    protocol: str
    tools: tuple[str, ...]
    status: Mapping[str, Any]
    refusal: str = ""


async def try_out(command: Sequence[str], environ: Mapping[str, str], cwd: Path) -> Trial:
    """Start a server, list its tools and call `context_status`.

    Raises:
        SetupError: the server did not answer within `PATIENCE` seconds, or failed in another way.
            After such a failure the text is the last line of its stderr, if there is one.
    """
    parameters = StdioServerParameters(
        command=command[0], args=[*command[1:]], env=dict(environ), cwd=cwd
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        began = monotonic()
        try:
            with anyio.fail_after(PATIENCE):
                async with Client(stdio_client(parameters, log)) as client:
                    seconds = monotonic() - began
                    tools = (await client.list_tools()).tools
                    status = await client.call_tool("context_status", {"messages": HELLO})
                    texts = [part.text for part in status.content if isinstance(part, TextContent)]
                    about = client.server_info
                    return Trial(
                        seconds,
                        about.version if about else "?",
                        client.protocol_version,
                        tuple(tool.name for tool in tools),
                        status.structured_content or {},
                        " ".join(texts) if status.is_error else "",
                    )
        except Exception as error:  # a server can fail in any way
            log.seek(0)
            lines = [line.strip() for line in log if line.strip()]
            if isinstance(error, TimeoutError):
                reason = f"no answer within {PATIENCE} seconds"
            else:
                reason = lines[-1] if lines else str(error) or type(error).__name__
            raise SetupError(reason) from error
