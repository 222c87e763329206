"""The door for agents: an MCP server with six tools, over stdio or HTTP.

serving.py    stdin and stdout, or HTTP behind a token
patience.py   connections over HTTP that bring no request in time
mending.py    lines over stdin that are no message, mended or answered
server.py     the server: its tools, its instructions, what it checks before a tool is called
tools/        the six tools, a module for each
opening.py    which conversation a call is about
account.py    a compression carried out, and what is said of it
two_calls.py  a summary that the calling agent writes
prompts.py    what a user can pick from a menu
arguments.py  what a tool may be asked, and how a wrong call is answered
answers.py    the same facts as text and as structured content
quoting.py    archived text on its way back: pages, and a fence it cannot close
search.py     what a search over everything archived answers
call.py       one call while it runs: threads, progress, cancellation, errors
"""

from context_compression.mcp_server.server import create_server
from context_compression.mcp_server.serving import serve_http, serve_stdio

__all__ = ["create_server", "serve_http", "serve_stdio"]
