"""The MCP server: six tools for agents, over stdio or HTTP.

The server:
    server.py              its tools, its instructions, and the check of tool names
    serving.py             runs it over stdin and stdout, or over HTTP behind tokens
    web/                   what HTTP needs around it: tenants, limits, health, access log
    invalid_messages.py    repairs lines on stdin that are not a valid message, or answers them
    request_timeout.py     closes HTTP connections that are too slow with a request
    prompts.py             the prompts in a host's menu
    resources.py           checkpoints and archived texts, to attach to a chat
    icon.svg               the icon beside its name
    panel.py panel.html    the panel of `context_status`, for clients that show one (MCP Apps)

A call:
    call.py                worker threads, progress, cancellation, errors for the model
    arguments.py           argument schemas, and the answer to wrong arguments
    call_settings.py       the settings of a call, and which of them a tool may set
    conversation.py        opens the conversation that a call is about
    tools/                 the six tools, a module for each

An answer:
    answers.py             its form: the same facts as text and as structured content
    compressing.py         runs a compression and answers with its report
    report.py              the report of a compression
    without_conversation.py  what helps where the client does not share its conversation
    checkpoints.py         what to write into a checkpoint, and those that are kept
    newest_refs.py         refs of sessions, newest first
    next_steps.py          what an agent can do with a compacted context
    summary_by_caller.py   a summary that the calling agent writes

Not here: `doors` resolves a conversation's name, `session` compresses it, `hosts` answers hooks.
"""

from context_compression.setup.mcp_package import unavailable

if error := unavailable():
    raise error

from context_compression.mcp_server.server import create_server
from context_compression.mcp_server.serving import serve_http, serve_stdio

__all__ = ["create_server", "serve_http", "serve_stdio"]
