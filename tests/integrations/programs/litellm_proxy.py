# pyright: basic, reportMissingImports=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false
# The framework is installed in an environment of its own.
"""Agents behind the real proxy of LiteLLM, whose requests our callback fits, or not.

The first argument: `ours`, or `nothing`. Each API has an agent of its own, and a fake model behind
the proxy. The agents know one tool, `logs`; the models call `context_restore`, too.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import Thread

import httpx
from agent_providers import APIS, Chat, Messages, Responses, Upstream
from agent_runs import REF, RESTORE, TASK, WINDOW, AgentRun, Call, log

from context_compression import Session, Store

HOW = sys.argv[1]
STORE = Store(".compression")
AUTH = """
from litellm.proxy._types import UserAPIKeyAuth

async def check(request, api_key):
    if api_key not in ("sk-one", "sk-two"):
        raise ValueError("unknown key")
    return UserAPIKeyAuth(api_key=api_key)
"""


def end_with_us():
    """Let Linux end this process when its parent is killed, for example after a timeout."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # 1 is PR_SET_PDEATHSIG


@contextmanager
def proxy(answer, callback):
    """The address of a real proxy, before a provider that answers with `answer(path, request)`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    server.answer = answer
    Thread(target=server.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{server.server_address[1]}"
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    models = [
        {"model_name": "gpt", "litellm_params": {
            "model": "openai/gpt-4o", "api_base": f"{upstream}/v1", "api_key": "x"}},
        {"model_name": "claude", "litellm_params": {
            "model": "anthropic/claude-sonnet-4-5", "api_base": upstream, "api_key": "x"}},
    ]  # fmt: skip
    general = {"custom_auth": "own_auth.check", "master_key": "sk-master"}
    config = {"model_list": models, "general_settings": general}
    if callback:
        config["litellm_settings"] = {"callbacks": callback}
    Path("config.yaml").write_text(json.dumps(config), "utf-8")
    Path("own_auth.py").write_text(AUTH, "utf-8")
    environ = os.environ | {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True", "CONTEXT_COMPRESSION_TOKEN_BUDGET": str(WINDOW),
    }  # fmt: skip
    command = [str(Path(sys.executable).parent / "litellm"), "--config", "config.yaml"]
    with open("proxy.log", "wb") as output:
        running = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], env=environ, stdout=output,
            stderr=subprocess.STDOUT, preexec_fn=end_with_us,
        )  # fmt: skip
        address = f"http://127.0.0.1:{port}"
        try:
            while running.poll() is None:
                try:
                    httpx.get(f"{address}/health/liveliness")
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            assert running.poll() is None, Path("proxy.log").read_text("utf-8")[-3000:]
            yield address
        finally:
            running.terminate()
            running.wait()
            server.shutdown()


def agent(address, api, headers):
    """An agent's loop over the proxy; returns its history."""
    history = [{"role": "user", "content": TASK}]
    with httpx.Client(base_url=address, timeout=60, headers=headers) as client:
        while True:
            request = {
                "model": api.model,
                api.field: history,
                "tools": api.tools,
                **dict(api.beside),
            }
            answered = client.post(api.path, json=request)
            assert answered.status_code == 200, answered.text
            said, calls = api.said(answered.json())
            history += said
            if not calls:
                return history
            assert {name for _, name, _ in calls} == {"logs"}, calls
            history += api.results([(id, log(given["n"])) for id, _, given in calls])


class Short(AgentRun):
    """A run of 27 steps, in which the model restores once."""

    def __init__(self):
        super().__init__(steps=27)

    def _restoring(self, number, messages):
        if number != 25:
            return None
        self._asked = "ref"
        return Call("c25", RESTORE, {"ref": newest_ref(messages)})


def newest_ref(texts):
    """The ref in the last note of some texts."""
    return [match[1] for text in texts for match in REF.finditer(text)][-1]


class Model:
    """The fake models: each path has a run, unless a script says what comes next.

    Attributes:
        seen: the requests that were answered from the script.
    """

    def __init__(self):
        self.runs = {path: AgentRun() if api is Chat else Short() for path, api in APIS.items()}
        self.script, self.seen = [], []

    def answer(self, path, request):
        api = APIS[path]
        if self.script:
            self.seen.append(request)
            response = api.response(self.script.pop(0))
        else:
            items = request[api.field]
            calls, results = api.ids(items)
            texts = [json.dumps(item) for item in items]
            response = api.response(self.runs[path].next(texts, calls=calls, results=results))
        if request.get("stream"):
            return "text/event-stream", api.stream(response).encode()
        return "application/json", json.dumps(response).encode()


def special(address, model, histories, refs):
    """What happens in requests of other kinds, after the runs with the key `sk-one`."""
    ours = {"Authorization": "Bearer sk-one", "x-litellm-session-id": "build-claude"}
    hello = [{"role": "user", "content": "Hello."}]
    restoring = [Call(f"again{n}", RESTORE, {"ref": refs[Messages]}) for n in range(12)]

    def ask(headers, api=Messages, messages=None, script=(None,), **more):
        model.script[:], model.seen[:] = script, []
        request = {"model": api.model, api.field: messages or histories[api], "tools": api.tools}
        body = request | dict(api.beside) | more
        answered = httpx.post(address + api.path, json=body, headers=headers, timeout=60)
        assert answered.status_code == 200, answered.text
        return answered.text

    def answer():
        return json.dumps(model.seen[-1]["messages"][-1])

    yield "streamed", ask(ours, script=[restoring[0], None], stream=True)
    yield "answer_streamed", answer()
    ask(ours, script=restoring)
    yield "rounds", [len(request["tools"]) for request in model.seen]
    ask(ours | {"Authorization": "Bearer sk-two"}, messages=hello, script=[restoring[0], None])
    yield "answer_other_key", answer()
    ask(ours | {"x-litellm-session-id": "other"}, messages=hello, script=[restoring[0], None])
    yield "answer_other_session", answer()
    chat = ours | {"x-litellm-session-id": "build-gpt"}
    call = Call("again", RESTORE, {"ref": refs[Chat]})
    yield "chat_streamed", ask(chat, Chat, script=[call, None], stream=True)
    yield "answer_chat_streamed", answer()
    call = Call("c", "logs", {"n": 1})
    yield "client_call_streamed", ask(chat, Chat, script=[call], stream=True)
    own = {**Messages.tools[0], "name": RESTORE}
    call = Call("own", RESTORE, {"n": 7})
    yield "own_tool_streamed", ask(ours, Messages, hello, [call], tools=[own], stream=True)
    made = {"type": "tool_use", "id": "long", "name": "logs", "input": {"n": 777}}
    went_on = [
        *histories[Messages], *hello, {"role": "assistant", "content": [made]},
        *Messages.results([("long", log(777))]),
    ]  # fmt: skip
    ask(ours, Messages, went_on, tools=[own])
    yield "result_beside_own_tool", answer()
    malformed = {"model": "gpt", "messages": hello, "tools": [None, "logs"]}
    yield "malformed", httpx.post(address + Chat.path, json=malformed, headers=ours).text
    ask(ours, Responses, hello, stream=True)
    yield "tools_of_a_responses_stream", len(model.seen[-1]["tools"])
    ask(ours, Messages, hello, model="gpt")
    yield "tools_when_translated", len(model.seen[-1]["tools"])
    ask(ours, Chat, hello, tools=None)
    yield "tools_of_no_tools", model.seen[-1].get("tools")
    unknown = [
        *hello,
        {"role": "assistant", "content": "Hm."},
        {"role": "critic", "content": "No."},
    ]
    ask(ours | {"x-litellm-session-id": "odd"}, Chat, [*unknown, *hello])
    yield "unknown", [message["role"] for message in model.seen[-1]["messages"]]


def main():
    model, report, histories, refs = Model(), {}, {}, {}
    for run in model.runs.values():
        run.restores = HOW == "ours"
    callback = "context_compression.integrations.litellm.proxy_handler_instance"
    with proxy(model.answer, callback if HOW == "ours" else None) as address:
        for path, api in APIS.items() if HOW == "ours" else [(Chat.path, Chat)]:
            began = time.perf_counter()
            given = {} if api is Responses else {"x-litellm-session-id": f"build-{api.model}"}
            histories[api] = agent(address, api, {"Authorization": "Bearer sk-one", **given})
            seconds = time.perf_counter() - began
            ended = {
                "seconds": seconds / model.runs[path].requests, "history": len(histories[api]),
                "method": "all is sent",
            }  # fmt: skip
            if HOW == "own":
                ended["lost"] = 0
            id = next(iter(STORE.sessions()), "none")  # the one that was written last
            session = Session(STORE, id)
            report[api.__name__] = model.runs[path].report(session) | ended
            refs[api] = next(iter(session.state().refs), None)
            if api is Messages:
                report["special"] = dict(special(address, model, histories, refs))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
