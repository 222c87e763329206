"""What `serve --http` puts around the MCP server: who may ask, how much, and when it ends.

gate.py             lets requests in: health, tokens, limits, access log
tenant_tokens.py    which token is whose, from a file that may change meanwhile
workers.py          processes that answer, each one request at a time
worker.py           what runs in such a process
tenants.py          the MCP server of each tenant
limits.py           how much one tenant, and all together, may ask
access_log.py       one line per request, without content
health.py           `/healthz` and `/readyz`
draining.py         ends after SIGTERM without a failed request
names.py            the names under which the server may be addressed
"""
