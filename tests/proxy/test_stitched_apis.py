"""What is special to the streams of each API."""

import json
from typing import Any

import pytest
from inline_snapshot import snapshot
from streamed import Json, Style, events_of
from turns import OURS, response

from context_compression.integrations.apis import CHAT, MESSAGES, RESPONSES, Api
from context_compression.proxy.stitching import Reply, fields, joined, reply_of, stitcher_for


def stitched(api: Api, *streams: list[Any]) -> tuple[list[Any], Reply]:
    """The data that the client gets of streams, and what the last response said."""
    stitcher, shown, reply = stitcher_for(api), b"", None
    for number, events in enumerate(streams):
        if number:
            stitcher.next()
        shown += stitcher.feed(Style().written(events))
        reply = stitcher.ended()
    assert reply is not None
    lines = (shown + stitcher.finish()).decode().split("\n")
    datas = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [data if data == "[DONE]" else json.loads(data) for data in datas], reply


def streamed(api: Api, *parts: tuple[str, str], number: int = 0, **fields: Any) -> list[Any]:
    return events_of(api.name, response(api.name, parts, number, **fields))


def kinds(events: list[Json]) -> list[str]:
    return [event["type"] for event in events]


RESTORES = ("text", "Let"), OURS


def test_a_message_goes_on_with_the_next_block_and_the_usage_of_all():
    first = streamed(MESSAGES, *RESTORES)
    second = streamed(MESSAGES, ("text", "Done"), number=1)

    shown, _ = stitched(MESSAGES, first, second)

    assert shown[0]["message"]["id"] == "msg_0"
    assert shown[2:] == snapshot(
        [
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Let"},
            },
            {"type": "content_block_stop", "index": 0},
            {"type": "ping"},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "text_delta", "text": "Done"},
            },
            {"type": "content_block_stop", "index": 1},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {
                    "input_tokens": 21,
                    "cache_read_input_tokens": 200,
                    "output_tokens": 14,
                    "server_tool_use": {"web_search_requests": 1},
                },
            },
            {"type": "message_stop"},
        ]
    )


def test_a_chat_goes_on_in_the_same_completion():
    shown, _ = stitched(
        CHAT,
        streamed(CHAT, *RESTORES),
        streamed(CHAT, ("text", "Done"), ("call", "read"), number=1),
    )

    assert [
        event if event == "[DONE]" else event["choices"] or event["usage"] for event in shown
    ] == snapshot(
        [
            [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "content": "", "refusal": None},
                    "logprobs": None,
                    "finish_reason": None,
                }
            ],
            [{"index": 0, "delta": {"content": "Let"}, "logprobs": None, "finish_reason": None}],
            [{"index": 0, "delta": {"content": "Done"}, "logprobs": None, "finish_reason": None}],
            [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {
                                "id": "call_1_1",
                                "type": "function",
                                "function": {"name": "read", "arguments": ""},
                                "index": 0,
                            }
                        ]
                    },
                    "logprobs": None,
                    "finish_reason": None,
                }
            ],
            [
                {
                    "index": 0,
                    "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"re'}}]},
                    "logprobs": None,
                    "finish_reason": None,
                }
            ],
            [
                {
                    "index": 0,
                    "delta": {"tool_calls": [{"index": 0, "function": {"arguments": 'f": '}}]},
                    "logprobs": None,
                    "finish_reason": None,
                }
            ],
            [
                {
                    "index": 0,
                    "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"11"'}}]},
                    "logprobs": None,
                    "finish_reason": None,
                }
            ],
            [
                {
                    "index": 0,
                    "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
                    "logprobs": None,
                    "finish_reason": None,
                }
            ],
            [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "tool_calls"}],
            {
                "prompt_tokens": 21,
                "completion_tokens": 14,
                "total_tokens": 35,
                "prompt_tokens_details": {"cached_tokens": 6},
            },
            "[DONE]",
        ]
    )
    assert {event["id"] for event in shown[:-1]} == {"chatcmpl-0"}
    assert {event["created"] for event in shown[:-1]} == {100}
    assert {event["system_fingerprint"] for event in shown[:-1]} == {"fp_0"}


def test_a_response_goes_on_with_the_next_item():
    shown, _ = stitched(
        RESPONSES, streamed(RESPONSES, *RESTORES), streamed(RESPONSES, ("text", "Done"), number=1)
    )

    assert [(event["type"], event.get("output_index")) for event in shown] == snapshot(
        [
            ("response.created", None),
            ("response.in_progress", None),
            ("response.output_item.added", 0),
            ("response.content_part.added", 0),
            ("response.output_text.delta", 0),
            ("response.output_text.done", 0),
            ("response.content_part.done", 0),
            ("response.output_item.done", 0),
            ("response.output_item.added", 1),
            ("response.content_part.added", 1),
            ("response.output_text.delta", 1),
            ("response.output_text.done", 1),
            ("response.content_part.done", 1),
            ("response.output_item.done", 1),
            ("response.completed", None),
        ]
    )
    assert shown[-1]["response"] == snapshot(
        {
            "id": "resp_0",
            "object": "response",
            "created_at": 100,
            "status": "completed",
            "model": "m",
            "output": [
                {
                    "type": "message",
                    "id": "text_0_0",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Let", "annotations": []}],
                },
                {
                    "type": "message",
                    "id": "text_1_0",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Done", "annotations": []}],
                },
            ],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 21,
                "input_tokens_details": {"cached_tokens": 6},
                "output_tokens": 14,
                "total_tokens": 35,
            },
        }
    )


@pytest.mark.parametrize("api", [MESSAGES, CHAT, RESPONSES])
def test_the_clients_own_call_beside_ours_ends_the_turn_as_the_provider_ended_it(api: Api):
    shown, reply = stitched(api, streamed(api, ("call", "read"), OURS, ("call", "bash")))

    assert (reply.has_others, reply.goes_on, len(reply.calls)) == (True, False, 1)
    assert "context_restore" not in json.dumps(shown)
    assert json.dumps(shown).count('"read"') == json.dumps(shown).count('"bash"') > 0
    if api is not RESPONSES:
        assert '_reason": "tool_' in json.dumps(shown)


@pytest.mark.parametrize("api", [MESSAGES, CHAT])
def test_an_answer_of_which_only_our_call_is_left_out_does_not_end_with_a_call(api: Api):
    """A client would wait for the results of calls that it never saw."""
    only = response(api.name, RESTORES)

    for shown in (stitched(api, events_of(api.name, only))[0], joined(api, [only])):
        assert "tool_calls" not in json.dumps(shown)
        assert '"tool_use"' not in json.dumps(shown)


@pytest.mark.parametrize(
    ("api", "end"),
    [
        (MESSAGES, {"stop_reason": "max_tokens"}),
        (MESSAGES, {"stop_reason": "refusal"}),
        (RESPONSES, {"status": "incomplete"}),
        (RESPONSES, {"status": "failed"}),
    ],
)
def test_a_call_that_was_cut_off_is_not_answered(api: Api, end: Json):
    shown, reply = stitched(api, streamed(api, *RESTORES, **end))

    assert (reply.complete, reply.calls, reply.goes_on) == (True, [], False)
    assert all(value in json.dumps(shown[-2:]) for value in end.values())
    assert "context_restore" not in json.dumps(shown)


def test_a_chat_that_was_cut_off_is_not_answered():
    events = json.loads(json.dumps(streamed(CHAT, *RESTORES)).replace('"tool_calls"}', '"length"}'))

    shown, reply = stitched(CHAT, events)

    assert (reply.complete, reply.goes_on) == (True, False)
    assert shown[-3]["choices"][0]["finish_reason"] == "length"


def test_unknown_events_pings_and_errors_pass_where_they_came():
    first = streamed(MESSAGES, *RESTORES)
    first.insert(-1, {"type": "ping", "late": True})
    second = streamed(MESSAGES, ("text", "Done"), number=1)
    second.insert(2, {"type": "news", "index": 40})
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    shown, reply = stitched(MESSAGES, first, [*second[:5], error])

    assert {"type": "ping", "late": True} in shown
    assert {"type": "news", "index": 40} in shown
    assert shown[-1] == error
    assert not reply.complete
    assert "message_stop" not in kinds(shown)


def test_iterations_and_unknown_numbers_of_usage_are_joined_too():
    one = {"output_tokens": 1, "iterations": [{"input_tokens": 3}], "cost": 0.5, "tier": "a"}
    two = {"output_tokens": 2, "iterations": [{"input_tokens": 4}], "cost": 0.25, "tier": "b"}
    responses = [
        response("messages", RESTORES, usage=one), response("messages", [("text", "x")], usage=two)
    ]  # fmt: skip

    assert joined(MESSAGES, responses)["usage"] == {
        "output_tokens": 3, "iterations": [{"input_tokens": 3}, {"input_tokens": 4}],
        "cost": 0.75, "tier": "b",
    }  # fmt: skip


def test_blocks_of_all_kinds_are_untouched():
    blocks = [
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"index": 9}]},
        {"type": "compaction", "content": "What was."},
        {"type": "text", "text": "See", "citations": [{"cited_text": "x", "start": 1}]},
    ]
    ours = response("messages", [OURS])["content"]
    first = response("messages", [], content=[*blocks, *ours], stop_reason="tool_use")
    second = response("messages", [], 1, content=blocks)

    shown, _ = stitched(MESSAGES, events_of("messages", first), events_of("messages", second))
    starts = [each["content_block"] for each in shown if each["type"] == "content_block_start"]

    assert reply_of(MESSAGES, first).goes_on
    assert starts[:5] == starts[5:]
    assert joined(MESSAGES, [first, second])["content"] == [*blocks, *blocks]
    assert stitched(MESSAGES, events_of("messages", first))[1].message == first


def test_arguments_that_are_no_json_are_none():
    events = streamed(MESSAGES, OURS)
    deltas = [each for each in events if each["type"] == "content_block_delta"]
    deltas[-1]["delta"]["partial_json"] = "and so on"

    _, reply = stitched(MESSAGES, events)

    assert [call.arguments for call in reply.calls] == [{}]


def chunk(delta: Json, reason: str | None = None, number: int = 0, **fields: Any) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": f"c{number}", "choices": [choice], **fields}


def call(name: str, index: int | None = 0, arguments: str = "{}") -> Json:
    place = {} if index is None else {"index": index}
    return {**place, "id": f"call_{name}", "function": {"name": name, "arguments": arguments}}


def test_text_that_comes_with_the_call_and_the_end_reaches_the_client():
    """Some providers send a whole answer as one chunk."""
    both = {"role": "assistant", "content": "Let me", "tool_calls": [call("context_restore")]}

    shown, _ = stitched(CHAT, [chunk(both, "tool_calls")], [chunk({"content": "Done"}, "stop")])

    deltas = [(each["choices"][0]["delta"], each["choices"][0]["finish_reason"]) for each in shown]
    assert deltas == snapshot(
        [({"role": "assistant", "content": "Let me"}, None), ({"content": "Done"}, "stop")]
    )


def test_calls_without_an_index_are_known_by_their_ids():
    calls = [call("read", None), call("context_restore", None)]

    shown, reply = stitched(CHAT, [chunk({"tool_calls": calls}), chunk({}, "tool_calls")])

    assert shown[0]["choices"][0]["delta"] == {"tool_calls": calls[:1]}
    assert (reply.has_others, [call.id for call in reply.calls]) == (True, ["call_context_restore"])


def test_usage_in_every_chunk_goes_on_from_that_of_the_first_response():
    usage = [{"completion_tokens": number} for number in range(4)]
    first = [chunk({"tool_calls": [call("context_restore")]}, "tool_calls", usage=usage[3])]
    second = [
        chunk({"content": "Do"}, usage=usage[1]),
        chunk({"content": "ne"}, "stop", usage=usage[2]),
    ]

    shown, _ = stitched(CHAT, first, second)

    assert [each["usage"]["completion_tokens"] for each in shown] == [4, 5]


def test_details_of_reasoning_get_places_of_their_own():
    def thought(text: str, number: int) -> Json:
        return chunk({"reasoning_details": [{"index": 0, "text": text}]}, number=number)

    first = [thought("a", 0), chunk({"tool_calls": [call("context_restore")]}, "tool_calls")]

    shown, _ = stitched(CHAT, first, [thought("b", 1), thought("c", 1), chunk({}, "stop")])

    details = [each["choices"][0]["delta"].get("reasoning_details") for each in shown]
    assert details == snapshot(
        [
            [{"index": 0, "text": "a"}],
            [{"index": 1, "text": "b"}],
            [{"index": 1, "text": "c"}],
            None,
        ]
    )


def test_several_choices_pass_as_they_came():
    choices = [{"index": 1, "delta": {"tool_calls": [call("context_restore")]}}]
    events = [
        chunk({"role": "assistant"}),
        {"id": "c", "choices": choices},
        chunk({}, "tool_calls"),
    ]

    shown, reply = stitched(CHAT, events)

    assert shown == events
    assert not reply.goes_on
    stream, stitcher = Style().written(events), stitcher_for(CHAT)
    assert b"".join(stitcher.feed(bytes([byte])) for byte in stream) == stream
    whole: Json = {"choices": [{"index": number, "message": {}} for number in range(2)]}
    assert joined(CHAT, [whole]) is whole


def test_a_function_call_of_old_is_one_of_the_client():
    events = [
        chunk({"function_call": {"name": "read", "arguments": "{}"}}),
        chunk({}, "function_call"),
    ]

    shown, reply = stitched(CHAT, events)

    assert shown == events
    assert reply.has_others


def test_a_custom_tool_is_one_of_the_client():
    own = {"type": "custom_tool_call", "id": "ct", "call_id": "x", "name": "patch", "input": "***"}
    ours = response("responses", [OURS])["output"]
    only = response("responses", [], output=[own, *ours])

    shown, reply = stitched(RESPONSES, events_of("responses", only))

    assert reply.has_others
    assert shown[-1]["response"]["output"] == [own]


def test_a_call_that_the_provider_answered_is_none_of_the_client():
    ran: Json = {"type": "shell_call", "id": "sh", "call_id": "x", "action": {}}
    answered: Json = {"type": "shell_call_output", "id": "so", "call_id": "x", "output": []}
    ours = response("responses", [OURS])["output"]

    _, reply = stitched(RESPONSES, streamed(RESPONSES, output=[ran, answered, *ours]))

    assert reply.goes_on


@pytest.mark.parametrize("output", [{}, {"output": []}])
def test_a_provider_that_does_not_repeat_the_items_is_understood(output: Json):
    """Seen with Codex's backend: the last event has an id and usage."""
    first = streamed(RESPONSES, *RESTORES)
    first[-1] = {"type": "response.completed", "response": {"id": "resp_0", **output}}
    second = streamed(RESPONSES, ("text", "Done"), number=1)
    second[-1] = {"type": "response.completed", "response": {"id": "resp_1", **output}}

    _, reply = stitched(RESPONSES, first)
    shown, _ = stitched(RESPONSES, first, second)

    assert reply.goes_on
    assert shown[-1]["response"]["id"] == "resp_0"
    texts = [item["content"][0]["text"] for item in shown[-1]["response"].get("output", ())]
    assert texts == (["Let", "Done"] if output else [])


def test_a_piece_of_text_is_not_read_as_json(monkeypatch: pytest.MonkeyPatch):
    """Fifty thousand pieces cost little."""
    for api in (MESSAGES, CHAT, RESPONSES):
        events = streamed(api, ("text", "x" * 40))
        pieces = [
            each for each in events if "xxxx" in json.dumps(each) and "delta" in json.dumps(each)
        ]
        stream = Style().written(pieces[1:-1])
        with monkeypatch.context() as patch:
            patch.setattr(fields.json, "loads", None)

            assert stitcher_for(api).feed(stream) == stream
