"""The client sees one answer out of several responses, and nothing of `context_restore`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamed import Json, Style, as_read_by_the_sdk, events_of
from turns import APIS, OURS, STYLES, Turn, response, turns

from context_compression.integrations.apis import CHAT, MESSAGES, RESPONSES, Api
from context_compression.proxy.stitching import Reply, joined, reply_of, stitcher_for

API: dict[str, Api] = {api.name: api for api in (CHAT, MESSAGES, RESPONSES)}
PLAIN = Style()


def stream_of(api: str, response: Json, style: Style = PLAIN) -> bytes:
    return style.written(events_of(api, response))


def cut(data: bytes, places: Sequence[int]) -> Iterator[bytes]:
    """The bytes in pieces, cut at places that may lie behind their end."""
    ends = sorted({min(place, len(data)) for place in places} | {len(data)})
    yield from (data[start:end] for start, end in zip([0, *ends], ends, strict=False))


def stitched(api: str, streams: Sequence[bytes], cuts: Sequence[int] = ()) -> tuple[bytes, Reply]:
    """What the client gets of streams, and what the last one said."""
    stitcher, shown, reply = stitcher_for(API[api]), b"", None
    for number, stream in enumerate(streams):
        if number:
            stitcher.next()
        for piece in cut(stream, cuts):
            shown += stitcher.feed(piece)
        reply = stitcher.ended()
    assert reply is not None
    return shown + stitcher.finish(), reply


def stitched_turn(turn: Turn, style: Style = PLAIN, cuts: Sequence[int] = ()) -> bytes:
    streams = [stream_of(turn.api, each, style) for each in turn.responses]
    return stitched(turn.api, streams, cuts)[0]


def datas(shown: bytes) -> list[Any]:
    """The data of the events of a stream with lines that end in `\\n`."""
    lines = [line[6:] for line in shown.decode().split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def is_object(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def differing(expected: Any, actual: Any, place: str = "") -> Iterator[str]:
    """Where a value lacks what is expected; fields that the SDK adds do not count."""
    if is_object(expected) and is_object(actual):
        for key, value in expected.items():
            if value is not None:
                yield from differing(value, actual.get(key), f"{place}.{key}")
    elif is_list(expected) and is_list(actual) and len(expected) == len(actual):
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from differing(one, other, f"{place}.{number}")
    elif expected != actual:
        yield f"{place}: {expected!r} is {actual!r}"


@given(turns(), STYLES, st.lists(st.integers(0, 9_000), max_size=12))
def test_any_cut_of_the_bytes_gives_the_same_stream(turn: Turn, style: Style, cuts: list[int]):
    assert stitched_turn(turn, style, cuts) == stitched_turn(turn, style)


@given(turns(most=2))
def test_a_byte_at_a_time_gives_the_same_stream(turn: Turn):
    assert stitched_turn(turn, cuts=range(99_999)) == stitched_turn(turn)


@given(turns(), STYLES)
def test_no_byte_of_our_tool_reaches_the_client(turn: Turn, style: Style):
    assert b"context_restore" not in stitched_turn(turn, style)
    assert "context_restore" not in json.dumps(joined(API[turn.api], turn.responses))


@given(turns(most=0), STYLES)
def test_without_a_call_of_ours_the_client_gets_what_came_byte_for_byte(turn: Turn, style: Style):
    (only,) = turn.responses
    stream = stream_of(turn.api, only, style)

    if "context_restore" not in json.dumps(only):
        assert stitched_turn(turn, style) == stream
        assert joined(API[turn.api], turn.responses) is only


@given(st.sampled_from(APIS), st.binary(), st.lists(st.integers(0, 99)))
def test_what_is_no_stream_of_events_passes_byte_for_byte(api: str, data: bytes, cuts: list[int]):
    shown, reply = stitched(api, [data], cuts)

    assert shown == data
    assert not reply.goes_on


@given(turns(), STYLES)
def test_the_sdk_reads_the_same_from_the_stream_as_from_whole_responses(turn: Turn, style: Style):
    style = replace(style, named=True, start="")  # anthropic 2.14 reads no others
    read = as_read_by_the_sdk(turn.api, stitched_turn(turn, style))

    whole = {**joined(API[turn.api], turn.responses), "id": turn.responses[0]["id"]}
    assert list(differing(whole, read)) == []


@given(turns(), STYLES)
def test_a_stream_says_what_the_whole_response_says(turn: Turn, style: Style):
    api = API[turn.api]
    for each in turn.responses:
        _, streamed = stitched(turn.api, [stream_of(turn.api, each, style)])
        whole = reply_of(api, each)

        assert streamed.goes_on == whole.goes_on
        assert streamed.calls == whole.calls == api.calls(each)
        assert streamed.has_others == whole.has_others
        assert list(differing(each, streamed.message)) == []


def test_all_but_the_last_response_go_on():
    for api in APIS:
        assert reply_of(API[api], response(api, [("text", "Let me look."), OURS])).goes_on
        assert not reply_of(API[api], response(api, [OURS, ("call", "read")])).goes_on
        assert not reply_of(API[api], response(api, [("text", "Done.")])).goes_on


@given(turns())
def test_the_usage_of_all_responses_is_summed(turn: Turn):
    usage = joined(API[turn.api], turn.responses)["usage"]
    inputs = [10 + number for number in range(len(turn.responses))]

    assert usage.get("input_tokens", usage.get("prompt_tokens")) == sum(inputs)
    assert usage.get("output_tokens", usage.get("completion_tokens")) == 7 * len(inputs)


@given(turns())
def test_numbers_have_no_holes(turn: Turn):
    events = datas(stitched_turn(turn))
    key = {"messages": "index", "responses": "output_index"}.get(turn.api)
    begun = [
        event[key]
        for event in events
        if event.get("type") in ("content_block_start", "response.output_item.added")
    ]
    numbers = [event["sequence_number"] for event in events if turn.api == "responses"]
    starts = [
        event for event in events if event.get("type") in ("message_start", "response.created")
    ]

    assert begun == list(range(len(begun)))
    assert numbers == list(range(len(numbers)))
    assert len(starts) == (turn.api != "chat")
    assert len({event["id"] for event in events if turn.api == "chat"}) <= 1


@pytest.mark.parametrize("api", APIS)
def test_text_reaches_the_client_as_it_comes(api: str):
    stitcher = stitcher_for(API[api])
    stream = stream_of(api, response(api, [("text", "Let me look."), OURS]))
    end = stream.index(b'"Let "')
    end = stream.index(b"\n\n", end) + 2

    assert stitcher.feed(stream[:end]) == stream[:end]


@pytest.mark.parametrize("api", APIS)
@given(data=st.data())
def test_a_stream_that_breaks_off_is_not_complete_and_nothing_is_added(
    api: str, data: st.DataObject
):
    whole = stream_of(api, response(api, [("text", "Let me look."), OURS]))
    stop = {
        "messages": b"event: message_delta",
        "chat": b'"tool_calls"}',
        "responses": b"event: response.completed",
    }[api]
    kept = data.draw(st.integers(0, whole.index(stop)))
    shown, reply = stitched(api, [whole[:kept]])

    assert (reply.complete, reply.calls) == (False, [])
    assert b"context_" not in shown
    assert whole.startswith(shown)


JSON_VALUES = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", [], [1], {}, {"a": 1}, [{"index": 0}]]
)


def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """JSON in which some values are of other types."""
    if draw(st.integers(0, 19)) == 0:
        return draw(JSON_VALUES)
    if is_object(value):
        return {key: spoiled(draw, each) for key, each in value.items()}
    if is_list(value):
        return [spoiled(draw, each) for each in value]
    return value


@st.composite
def spoiled_streams(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """Streams of a provider that does not keep to its API."""
    turn = draw(turns(most=1))
    streams = [
        [spoiled(draw, event) for event in events_of(turn.api, each)] for each in turn.responses
    ]
    return turn.api, [PLAIN.written([json.dumps(event) for event in each]) for each in streams]


@given(spoiled_streams())
def test_events_of_any_shape_are_no_fault_of_ours(spoilt: tuple[str, list[bytes]]):
    api, streams = spoilt
    stitcher = stitcher_for(API[api])
    for stream in streams:
        stitcher.feed(stream)
        if not stitcher.ended().goes_on:
            break
        stitcher.next()
    stitcher.finish()
