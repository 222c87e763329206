# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# The framework is installed in an environment of its own.
"""Runs an example as it stands, before a fake provider of OpenAI's two APIs on loopback.

The first argument: its file; the model reads the logs of 20 builds, and answers. Or a page, whose
blocks run one after the other; there the model answers at once.
"""

import contextlib
import io
import json
import os
import re
import runpy
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from agent_providers import APIS, Upstream
from agent_runs import Call

FILE = Path(sys.argv[1])
IS_PAGE = FILE.suffix == ".md"
sizes = []


def answer(path, request):
    """The next call, or the end."""
    api = APIS[path]
    calls, results = api.ids(request[api.field])
    assert calls == results
    sizes.append(len(json.dumps(request[api.field])))
    number = len(sizes)
    call = (
        Call(f"c{number}", "read_log", {"build": number}) if number <= 20 and not IS_PAGE else None
    )
    return "application/json", json.dumps(api.response(call)).encode()


def run_page():
    """The blocks of a page, with what it takes as given."""
    names = {"mine": [], "messages": [{"role": "user", "content": "Why is the build red?"}]}
    with contextlib.suppress(ImportError):
        from agents import function_tool

        names["read_log"] = function_tool(lambda build: "red", name_override="read_log")
    for block in re.findall(r"(?ms)^```python\n(.*?)^```", FILE.read_text("utf-8")):
        exec(block, names)


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
    run_page() if IS_PAGE else runpy.run_path(str(FILE), run_name="__main__")
print(json.dumps({"sizes": sizes, "printed": printed.getvalue()}))
