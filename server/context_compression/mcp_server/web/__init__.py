"""What `serve --http` puts around the MCP server: who may ask, how much, and when it ends.

gate.py      the gate of `serve --http`: under which names, who may ask, and how much
tenants.py   the tenants of `serve --http`: which bearer token is whose, and the server of each
workers.py   processes that answer requests, so that no request can hold the one that lets them in
refusals.py  answers that refuse a request, in the form that its path promises
running.py   how `serve --http` lives and ends: its health, its access log, time limits, and
             draining
"""
