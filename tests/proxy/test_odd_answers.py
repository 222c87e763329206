"""Answers of providers that do not keep to their API, or break off while our tool is answered."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
import pytest
from raw_provider import PATIENCE, Exchange, RawProvider
from replicas import Replica

from context_compression.integrations.apis import CHAT, MESSAGES, RESPONSES, Api
from context_compression.proxy.stitching import stitcher_for

pytestmark = pytest.mark.slow
CALL = {"type": "tool_use", "id": "t1", "name": "context_restore", "input": {"ref": "abcd"}}
TEXT = {"type": "text", "text": "Hi."}
PATHS = {MESSAGES: "/v1/messages", CHAT: "/v1/chat/completions", RESPONSES: "/v1/responses"}


@pytest.fixture
def client(proxy: Replica) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=proxy.url, timeout=PATIENCE) as client:
        yield client


def sent(body: bytes, kind: str = "application/json", status: int = 200, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}content-length: {len(body)}\r\n"
    return f"{head}\r\n".encode() + body


def said(*blocks: Any, stop: str = "tool_use") -> bytes:
    message = {"id": "m", "type": "message", "role": "assistant", "content": blocks}
    return json.dumps({**message, "stop_reason": stop, "usage": {"input_tokens": 1}}).encode()


def streamed(*blocks: Any) -> bytes:
    events: list[Any] = [{"type": "message_start", "message": json.loads(said())}]
    for index, block in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}
    ]  # fmt: skip
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def in_turn(answers: Sequence[bytes]) -> Any:
    left = iter(answers)

    def answer(exchange: Exchange) -> None:
        exchange.read()
        exchange.send(next(left))

    return answer


def asked(api: Api, text: str, **more: Any) -> dict[str, Any]:
    history = [{"role": "user", "content": text}]
    return {
        "model": "m",
        "tools": [{"type": "function", "name": "Read"}],
        api.messages: history,
        **more,
    }


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (MESSAGES, {"content": "a text", "stop_reason": "end_turn"}),
        (MESSAGES, {"content": [1, None], "stop_reason": "tool_use"}),
        (MESSAGES, {"content": [{**CALL, "id": None}, 7], "stop_reason": "tool_use"}),
        (CHAT, {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}),
        (CHAT, {"choices": [{"index": 0, "finish_reason": "stop"}]}),
        (RESPONSES, {"output": "a text", "status": "completed"}),
        (RESPONSES, {"output": [1], "status": "completed"}),
    ],
)
def test_an_answer_that_does_not_keep_to_its_api_reaches_the_client_as_it_is(
    provider: RawProvider, client: httpx2.Client, api: Api, body: dict[str, Any]
) -> None:
    odd = json.dumps(body).encode()
    provider.answer = sent(odd)

    answer = client.post(PATHS[api], json=asked(api, odd.decode()))

    assert (answer.status_code, answer.content) == (200, odd)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_in_a_coding_that_we_cannot_read_keeps_its_bytes_and_its_header(
    provider: RawProvider, client: httpx2.Client, kind: str, status: int
) -> None:
    coded = b"\x0b\x02\x80hello\x03"
    provider.answer = sent(coded, kind, status, "content-encoding: br\r\n")

    with client.stream("POST", "/v1/messages", json=asked(MESSAGES, kind)) as answer:
        raw = b"".join(answer.iter_raw())

    assert (answer.status_code, answer.headers.get("content-encoding"), raw) == (
        status, "br", coded,
    )  # fmt: skip


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_provider_that_breaks_off_before_an_answer_is_whole_is_told_as_its_error(
    provider: RawProvider, client: httpx2.Client, rounds: int
) -> None:
    broken = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
    provider.answer = in_turn([*[sent(said(CALL))] * rounds, broken])

    answer = client.post("/v1/messages", json=asked(MESSAGES, f"Broken {rounds}"))

    assert answer.status_code == 502
    assert provider.base_url in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (sent(b'{"type":"error","error":{"message":"Busy."}}', status=529), "Busy."),
        (sent(b"<html>", "text/html"), "No answer came."),
        (sent(said(TEXT)), "No answer came."),
        (sent(b"", "text/plain"), "No answer came."),
    ],
)
def test_a_stream_that_cannot_go_on_ends_with_an_error_and_not_as_if_all_were_said(
    provider: RawProvider, client: httpx2.Client, second: bytes, words: str
) -> None:
    provider.answer = in_turn([sent(streamed(TEXT, CALL), "text/event-stream"), second])

    answer = client.post("/v1/messages", json=asked(MESSAGES, repr(second), stream=True))

    assert answer.text.count("Hi.") == 1
    *_, error = answer.text.strip().split("\n\n")
    assert error.startswith("event: error\ndata: ")
    assert words in error
    assert "message_stop" not in answer.text


def test_two_calls_with_one_id_have_a_result_each(
    provider: RawProvider, client: httpx2.Client
) -> None:
    provider.answer = in_turn([sent(said(CALL, CALL)), sent(said(TEXT, stop="end_turn"))])

    client.post("/v1/messages", json=asked(MESSAGES, "Twice"))

    provider.next()
    _, calls, results = json.loads(provider.next().body)["messages"]
    assert [block["id"] for block in calls["content"]] == [
        block["tool_use_id"] for block in results["content"]
    ]
    assert len({block["id"] for block in calls["content"]}) == 2


def responded(id: str, *items: Any) -> bytes:
    """A stream of OpenAI Responses."""
    begun: dict[str, Any] = {"id": id, "object": "response", "status": "in_progress", "output": []}
    events: list[Any] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(items):
        place = {"output_index": index, "item": item}
        events += [{"type": f"response.output_item.{step}", **place} for step in ("added", "done")]
    ended: dict[str, Any] = {**begun, "status": "completed", "output": items}
    events.append({"type": "response.completed", "response": ended})
    data = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return sent(data.encode(), "text/event-stream")


@pytest.mark.parametrize("beside", [False, True])
def test_a_stitched_stream_has_one_id_and_a_request_goes_on_from_the_last_response(
    provider: RawProvider, client: httpx2.Client, beside: bool
) -> None:
    def call(id: str, name: str = "context_restore") -> dict[str, Any]:
        return {"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}

    last = [call("c2"), call("c3", "Read")] if beside else []
    first, second = f"resp_a{beside}", f"resp_b{beside}"
    provider.answer = in_turn([responded(first, call("c1")), responded(second, *last), sent(b"{}")])
    result = {"type": "function_call_output", "call_id": "c3", "output": "read"}

    answer = client.post("/v1/responses", json=asked(RESPONSES, f"On {beside}", stream=True))
    client.post("/v1/responses", json={"previous_response_id": first, "input": [result]})

    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line[:5] == "data:"]
    assert {event["response"]["id"] for event in events if "response" in event} == {first}
    _, _, on = (json.loads(provider.next().body) for _ in range(3))
    assert on["previous_response_id"] == second
    assert [item["call_id"] for item in on["input"]] == ["c2", "c3"][not beside :]


def test_an_event_nested_too_deep_to_be_read_passes_as_it_came() -> None:
    deep = b'data: {"type":"content_block_start","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n\n"

    assert stitcher_for(MESSAGES).feed(deep) == deep
