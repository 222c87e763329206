# pyright: basic, reportAttributeAccessIssue=false
# JSON as it comes over the wire.
"""Fake providers on loopback, for agents: three APIs, whose model calls what it is told.

    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    server.answer = lambda path, request: ("application/json", body)

This module runs in the environments of frameworks: it imports nothing but the standard library.
"""

import json
from http.server import BaseHTTPRequestHandler

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
        [choice] = response["choices"]
        message = choice["message"]
        calls = [{"index": at, **call} for at, call in enumerate(message.get("tool_calls") or ())]
        text = [{"content": part} for part in ("Let me ", "see. ")]
        deltas = [{"role": "assistant"}, *text, {"tool_calls": calls} if calls else {}]
        about = {**response, "object": "chat.completion.chunk"}
        chunks = [{"index": 0, "finish_reason": None, "delta": delta} for delta in deltas]
        chunks.append({"index": 0, "finish_reason": choice["finish_reason"], "delta": {}})
        events = [json.dumps({**about, "choices": [chunk]}) for chunk in chunks]
        return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])

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
    def stream(response):
        event = json.dumps({"type": "response.completed", "response": response})
        return f"event: response.completed\ndata: {event}\n\n"

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
