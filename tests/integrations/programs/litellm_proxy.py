# pyright: basic, reportMissingImports=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false
# The framework is installed in an environment of its own.
"""Agents behind the real proxy of LiteLLM, whose requests our callback fits, or not.

The first argument: `ours`, or `nothing`. Each API has an agent of its own, and a fake model behind
the proxy. The agents know one tool, `logs`; the models call `context_restore`, too.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import Thread

import httpx
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
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
ABOUT = {"name": "logs", "description": "The log of a build."}


class Chat:
    """OpenAI Chat Completions."""

    path, field, model = "/v1/chat/completions", "messages", "gpt"
    tools = ({"type": "function", "function": {**ABOUT, "parameters": SCHEMA}},)
    beside = ()

    @staticmethod
    def ids(messages):
        calls = [call["id"] for m in messages for call in m.get("tool_calls") or ()]
        return calls, [m["tool_call_id"] for m in messages if m["role"] == "tool"]

    @staticmethod
    def response(call):
        said = {"role": "assistant", "content": None if call else "Done."}
        if call:
            made = {"name": call.name, "arguments": json.dumps(call.arguments)}
            said["tool_calls"] = [{"id": call.id, "type": "function", "function": made}]
        choice = {"index": 0, "finish_reason": "tool_calls" if call else "stop", "message": said}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        about = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
        return {**about, "choices": [choice], "usage": usage}

    @staticmethod
    def stream(response):
        choice = {"index": 0, "finish_reason": "stop", "delta": {"content": "Done."}}
        chunk = {**response, "object": "chat.completion.chunk", "choices": [choice]}
        return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"

    @staticmethod
    def said(response):
        message = response["choices"][0]["message"]
        return [message], [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls") or ()
        ]

    @staticmethod
    def results(results):
        return [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results]


class Messages:
    """Anthropic Messages."""

    path, field, model = "/v1/messages", "messages", "claude"
    tools = ({**ABOUT, "input_schema": SCHEMA},)
    beside = (("max_tokens", 1000),)

    @staticmethod
    def ids(messages):
        blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
        calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        return calls, [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]

    @staticmethod
    def response(call):
        blocks = [{"type": "text", "text": "Done."}]
        if call:
            made = {"id": call.id, "name": call.name, "input": call.arguments}
            blocks = [
                {"type": "thinking", "thinking": "Hm.", "signature": f"sig-{call.id}"},
                {"type": "tool_use", **made},
            ]
        about = {"id": "x", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
        stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        return {
            **about,
            **stop,
            "content": blocks,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    @staticmethod
    def stream(response):
        events = [{"type": "message_start", "message": {**response, "content": []}}]
        for index, block in enumerate(response["content"]):
            at, kind = {"index": index}, block["type"]
            empty, delta = {
                "text": ({"text": ""}, {"type": "text_delta", "text": block.get("text")}),
                "thinking": ({"thinking": ""}, {"type": "thinking_delta", "thinking": "Hm."}),
                "tool_use": ({"input": {}}, {"type": "input_json_delta",
                                             "partial_json": json.dumps(block.get("input"))}),
            }[kind]  # fmt: skip
            start = {**block, **empty}
            events.append({"type": "content_block_start", **at, "content_block": start})
            events.append({"type": "content_block_delta", **at, "delta": delta})
            if kind == "thinking":
                signed = {"type": "signature_delta", "signature": block["signature"]}
                events.append({"type": "content_block_delta", **at, "delta": signed})
            events.append({"type": "content_block_stop", **at})
        stopped = {"stop_reason": response["stop_reason"], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 1}},
                   {"type": "message_stop"}]  # fmt: skip
        return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)

    @staticmethod
    def said(response):
        blocks = response["content"]
        calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        return [{"role": "assistant", "content": blocks}], calls

    @staticmethod
    def results(results):
        blocks = [{"type": "tool_result", "tool_use_id": i, "content": text} for i, text in results]
        return [{"role": "user", "content": blocks}]


class Responses:
    """OpenAI Responses."""

    path, field, model = "/v1/responses", "input", "gpt"
    tools = ({"type": "function", **ABOUT, "parameters": SCHEMA},)
    beside = ()

    @staticmethod
    def ids(items):
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        return calls, [i["call_id"] for i in items if i.get("type") == "function_call_output"]

    @staticmethod
    def response(call):
        part = {"type": "output_text", "text": "Done.", "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "content": [part]}
        if call:
            made = {"name": call.name, "arguments": json.dumps(call.arguments)}
            item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, **made}
        about = {"id": "resp_x", "object": "response", "created_at": 1, "model": "gpt-4o"}
        beside = {"error": None, "incomplete_details": None, "instructions": None, "metadata": {}}
        more = {"parallel_tool_calls": True, "temperature": 1, "tool_choice": "auto", "tools": []}
        done = {"status": "completed", "output": [{**item, "status": "completed"}], "top_p": 1}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return {**about, **beside, **more, **done, "usage": usage}

    @staticmethod
    def said(response):
        items = response["output"]
        return items, [
            (item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in items
            if item["type"] == "function_call"
        ]

    @staticmethod
    def results(results):
        return [
            {"type": "function_call_output", "call_id": id, "output": text} for id, text in results
        ]


APIS = {api.path: api for api in (Chat, Messages, Responses)}


class Upstream(BaseHTTPRequestHandler):
    """The provider behind the proxy."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_): ...

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kind, body = self.server.answer(self.path, request)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


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
            stderr=subprocess.STDOUT,
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


def special(address, model, history, ref):
    """What happens in requests of other kinds, after the run with the key `sk-one`."""
    ours = {"Authorization": "Bearer sk-one", "x-litellm-session-id": "build-claude"}
    hello = [{"role": "user", "content": "Hello."}]
    restoring = [Call(f"again{number}", RESTORE, {"ref": ref}) for number in range(12)]

    def ask(headers, api=Messages, messages=None, script=(None,), **more):
        model.script[:], model.seen[:] = script, []
        request = {"model": api.model, api.field: messages or history, "tools": api.tools}
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
    ask(ours, Chat, hello, stream=True)
    yield "tools_of_a_chat_stream", len(model.seen[-1]["tools"])
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
    model, report = Model(), {}
    for run in model.runs.values():
        run.restores = HOW == "ours"
    callback = "context_compression.integrations.litellm.proxy_handler_instance"
    with proxy(model.answer, callback if HOW == "ours" else None) as address:
        for path, api in APIS.items() if HOW == "ours" else [(Chat.path, Chat)]:
            began = time.perf_counter()
            given = {} if api is Responses else {"x-litellm-session-id": f"build-{api.model}"}
            history = agent(address, api, {"Authorization": "Bearer sk-one", **given})
            ended = {"seconds": time.perf_counter() - began, "history": len(history)}
            id = next(iter(STORE.sessions()), "none")  # the one that was written last
            report[api.__name__] = model.runs[path].report(Session(STORE, id)) | ended
            if api is Messages:
                [ref, *_] = Session(STORE, id).state().refs
                report["special"] = dict(special(address, model, history, ref))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
