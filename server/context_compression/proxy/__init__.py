"""The proxy: it stands between any client and its provider, and fits each request.

serving      the application, who may use it, and how it ends
turn         one request: fitted, sent, and its answer
stitching    one answer for the client, out of several of the provider
sessions     the session of a request
folding      the history as the provider saw it
passing      a request passed on as it came
upstream     where a request goes, and with which headers
requests     the body of a request, by its fields and their bytes
events       the events of a stream
"""

import context_compression.mcp_server as _server  # where that cannot run, its error says why
from context_compression.proxy.requests import RecentBodies
from context_compression.proxy.serving import ProxyOptions, serve_proxy
from context_compression.proxy.sessions import ProxySessions
from context_compression.proxy.turn import fitted

_ = _server
__all__ = ["ProxyOptions", "ProxySessions", "RecentBodies", "fitted", "serve_proxy"]
