"""The MCP server: six tools for agents, over stdio or HTTP; and plain HTTP for programs.

The server:
    server.py             its tools, its instructions, the check of tool names; runs it over stdio
    serving.py            runs it over HTTP behind tokens
    rest/                 plain HTTP: fit, compress, restore and status for programs in any language
    web/gate.py           the gate of `serve --http`: under which names, who may ask, and how much
    web/tenants.py        the tenants of `serve --http`: which bearer token is whose, and the server
                          of each
    web/workers.py        processes that answer requests, so that no request can hold the one that
                          lets them in
    web/running.py        how `serve --http` lives and ends: its health, its access log, time
                          limits, and draining
    invalid_messages.py   repairs lines on stdin that are not a valid message, or answers them
    resources.py          what people attach and pick in their client: the archive, the prompts, and
                          the panel
    icon.svg              the icon beside its name

A call:
    arguments.py     the arguments of each tool, their schemas, and the answers to wrong ones
    calls.py         one tool call: its settings, its worker thread, and the form of its answer
    compressing.py   opens the conversation of a call, and runs the compression that the call
                     requests
    tools/           the six tools, a module for each

An answer, whose facts and headline `report.facts` makes and `calls.py` writes as text:
    checkpoints.py         summaries for a new chat, with title and time
    sessions.py            earlier sessions of this project, for a new chat
    summary_by_caller.py   a summary that the calling agent writes

Not here: `hosts` resolves a conversation's name and answers hooks, `session` compresses it.
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand
from context_compression.hosts.setup.machine import unavailable

if error := unavailable():
    raise error

if TYPE_CHECKING:
    from context_compression.mcp_server.server import create_server, serve_stdio
    from context_compression.mcp_server.serving import serve_http

__all__ = ["create_server", "serve_http", "serve_stdio"]

__getattr__ = on_demand(  # a host needs no HTTP
    __name__,
    {"mcp_server.server": ("create_server", "serve_stdio"), "mcp_server.serving": ("serve_http",)},
)
