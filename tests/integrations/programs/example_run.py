# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# The framework is installed in an environment of its own.
"""Runs an example as it stands, before a fake provider of OpenAI's two APIs on loopback.

The first argument: its file. The model reads the logs of 20 builds, and answers.
"""

import contextlib
import io
import json
import os
import runpy
import sys
from http.server import ThreadingHTTPServer
from threading import Thread

from agent_providers import APIS, Upstream
from agent_runs import Call

sizes = []


def answer(path, request):
    """The next call, or the end."""
    api = APIS[path]
    calls, results = api.ids(request[api.field])
    assert calls == results
    sizes.append(len(json.dumps(request[api.field])))
    number = len(sizes)
    call = Call(f"c{number}", "read_log", {"build": number}) if number <= 20 else None
    return "application/json", json.dumps(api.response(call)).encode()


server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
server.answer = answer
Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}/v1"
os.environ |= {
    "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": url, "OPENAI_API_BASE": url,
    "OPENAI_AGENTS_DISABLE_TRACING": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}  # fmt: skip
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    runpy.run_path(sys.argv[1], run_name="__main__")
print(json.dumps({"sizes": sizes, "printed": printed.getvalue()}))
