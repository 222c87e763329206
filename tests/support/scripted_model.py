"""A model with a script, on loopback, in the protocols of OpenAI and Google: for other hosts.

    with ScriptedModel([calling("exec_command", cmd="seq 9"), "done"]) as model:
        codex.ask(model, "Count to nine.")
    assert "9" in model.turns[-1].results[-1]

The protocols are OpenAI's Responses API and Chat Completions, and Gemini's generateContent. The
entries of the script are those of `MessagesAPI`. Each request that offers tools takes the next
entry, and the last entry is repeated. Requests without tools (titles, summaries) are answered with
`aside`. The protocols follow platform.openai.com/docs/api-reference and
ai.google.dev/api/generate-content.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler
from threading import Condition, Thread
from typing import Any, Self

from context_compression.conversation import is_array, is_object
from context_compression.testing.chat_api import Completion, completion_events
from context_compression.testing.messages_api import Answer
from context_compression.testing.responses_api import ModelResponse, function_call, response_events
from context_compression.testing.scripted_api import LoopbackServer

Body = dict[str, Any]
Event = tuple[str, Body]
"""The name of an event, if the protocol names events, and its data."""


@dataclass(frozen=True)
class Turn:
    """The parts of a request that tests check.

    Attributes:
        body: the complete request.
        said: its messages in order, `role: text`, without calls and results.
        results: of the tools, in order.
        tools: the offered tools, by their full names (`mcp__server__tool`).
    """

    body: Body
    said: Sequence[str]
    results: Sequence[str]
    tools: Sequence[str]

    def __str__(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


Reply = Callable[[Sequence[Turn]], Answer]


class ScriptedModel:
    """The server; it runs inside `with`.

    Attributes:
        turns: the requests that offered tools.
        asides: the requests that offered none.
    """

    def __init__(self, script: Sequence["str | Answer | Reply"], *, aside: str = "As you say."):
        self.turns: list[Turn] = []
        self.asides: list[Turn] = []
        self._script = [Answer(entry) if isinstance(entry, str) else entry for entry in script]
        self._aside = Answer(aside)
        self._changed = Condition()
        self._server = LoopbackServer(("127.0.0.1", 0), partial(_Exchange, self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self.url: str = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, turn: Turn) -> Answer:
        """Record a request and return the answer to it."""
        with self._changed:
            if not turn.tools:
                self.asides.append(turn)
                return self._aside
            answer = self._script[min(len(self.turns), len(self._script) - 1)]
            self.turns.append(turn)
            return answer if isinstance(answer, Answer) else answer(self.turns)


class _Exchange(BaseHTTPRequestHandler):
    """One request and its answer; the connection is closed after it."""

    timeout = 5

    def __init__(self, model: ScriptedModel, *connection: Any) -> None:
        self.model = model
        super().__init__(*connection)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.partition("?")[0]
        if path.endswith("/responses"):
            answer = self.model.take(_responses_turn(body))
            self._send(_responses(answer, body), body.get("stream", False))
        elif path.endswith("/chat/completions"):
            answer = self.model.take(_chat_turn(body))
            self._send(_chat(answer, body), body.get("stream", False), end="[DONE]")
        elif path.endswith("enerateContent"):  # generateContent or streamGenerateContent
            answer = self.model.take(_gemini_turn(body))
            self._send([("", _gemini(answer))], ":stream" in path)
        else:
            self._whole(404, {"error": {"message": f"nothing at {path}"}})

    def do_GET(self) -> None:
        self._whole(200, {"object": "list", "data": [], "models": []})  # of models

    def _send(self, events: Sequence[Event], streamed: bool, end: str = "") -> None:
        if not streamed:
            last = events[-1][1]
            return self._whole(200, last.get("response", last))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for name, data in events:
            named = f"event: {name}\n" if name else ""
            self.wfile.write(f"{named}data: {json.dumps(data)}\n\n".encode())
        if end:
            self.wfile.write(f"data: {end}\n\n".encode())
        return None

    def _whole(self, status: int, body: Body) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: tests read `turns`."""


def text_in(content: Any) -> str:
    """The texts of a content of any shape."""
    if isinstance(content, str):
        return content
    if is_array(content):
        return "\n".join(filter(None, map(text_in, content)))
    if is_object(content):
        return text_in(content.get("text") or content.get("content") or content.get("output"))
    return ""


def _calls(answer: Answer) -> list[tuple[str, str, Mapping[str, Any]]]:
    """The calls of an answer: id, name, arguments."""
    return [(call["id"], call["name"], call["input"]) for call in answer.content]


def _text(answer: Answer) -> str:
    assert isinstance(answer.text, str)
    return answer.text


def _tokens(answer: Answer) -> int:
    return answer.usage.get("input_tokens", 100)


# OpenAI Responses: Codex


def _responses_turn(body: Body) -> Turn:
    said: list[str] = []
    results: list[str] = []
    for item in body["input"]:
        match item.get("type"):
            case "message":
                said.append(f"{item['role']}: {text_in(item['content'])}")
            case "function_call_output" | "custom_tool_call_output":
                results.append(text_in(item["output"]))
            case _:
                pass
    return Turn(body, said, results, [name for name, _ in _responses_tools(body)])


def _responses_tools(body: Body) -> Iterator[tuple[str, Body]]:
    """Tools by full name; Codex puts the tools of a server into a namespace."""
    for tool in body.get("tools", []):
        if tool["type"] == "namespace":
            for inside in tool["tools"]:
                called = {"name": inside["name"], "namespace": tool["name"]}
                yield f"{tool['name']}__{inside['name']}", called
        elif "name" in tool:
            yield tool["name"], {"name": tool["name"]}


def _responses(answer: Answer, body: Body) -> list[Event]:
    tools = dict(_responses_tools(body))
    calls = [
        function_call(id, name, **given) | tools.get(name, {"name": name})
        for id, name, given in _calls(answer)
    ]
    usage = {"input_tokens": _tokens(answer), "output_tokens": 10}
    events = response_events(ModelResponse(_text(answer), output=calls, usage=usage), body)
    return [(event["type"], event) for event in events]


# OpenAI Chat Completions: opencode, Pi


def _chat_turn(body: Body) -> Turn:
    messages = body["messages"]
    return Turn(
        body,
        [f"{m['role']}: {text_in(m['content'])}" for m in messages if m["role"] != "tool"],
        [text_in(m["content"]) for m in messages if m["role"] == "tool"],
        [tool["function"]["name"] for tool in body.get("tools", [])],
    )


def _chat(answer: Answer, body: Body) -> list[Event]:
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for id, name, given in _calls(answer)
    ]
    completion = Completion(
        _text(answer),
        finish_reason="tool_calls" if calls else "stop",
        message={"tool_calls": calls} if calls else {},
        usage={"prompt_tokens": _tokens(answer), "completion_tokens": 10},
    )
    return [("", data) for data in completion_events(completion, body)]


# Gemini


def _gemini_turn(body: Body) -> Turn:
    said: list[str] = []
    results: list[str] = []
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionResponse" in part:
                results.append(json.dumps(part["functionResponse"]["response"]))
            elif "text" in part:
                said.append(f"{content['role']}: {part['text']}")
    declared = [tool["functionDeclarations"] for tool in body.get("tools", [])]
    return Turn(body, said, results, [tool["name"] for tools in declared for tool in tools])


def _gemini(answer: Answer) -> Body:
    parts: list[Body] = [{"text": _text(answer)}] if _text(answer) else []
    parts += [
        {"functionCall": {"id": id, "name": name, "args": given}, "thoughtSignature": "c2ln"}
        for id, name, given in _calls(answer)
    ]
    tokens = _tokens(answer)
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 10}
    content = {"role": "model", "parts": parts}
    candidate = {"index": 0, "content": content, "finishReason": "STOP"}
    total = {"totalTokenCount": tokens + 10}
    return {"candidates": [candidate], "usageMetadata": usage | total, "modelVersion": "scripted"}
