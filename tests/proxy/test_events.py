"""Server-sent events are read from bytes that are cut anywhere, and can be written as they came."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.proxy.events import EventReader, ServerEvent


def events_in(*pieces: bytes) -> list[ServerEvent]:
    reader = EventReader()
    found = [event for piece in pieces for event in reader.feed(piece)]
    return [*found, *filter(None, [reader.end()])]


LINES = st.sampled_from(
    [
        b"data: one", b"data:two", b"data", b"data:", b"event: ping", b": data: no", b"", b"",
        b"id: 7", b"database: no", b"retry: 3", "data: é😀".encode(), b"\xef\xbb\xbfdata: x",
    ]
)  # fmt: skip
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=12).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(STREAMS, st.lists(st.integers(0, 150)))
def test_any_cut_gives_the_same_events_and_no_byte_is_lost(stream: bytes, cuts: list[int]):
    ends = sorted({*cuts, len(stream)})
    pieces = [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    assert events_in(*pieces) == events_in(stream)
    assert b"".join(event.raw for event in events_in(*pieces)) == stream


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_three_ways(end: bytes):
    stream = end.join(
        [b"event: a", b"data: {", b"data:}", b"", b": nothing", b"", b"data", b"", b""]
    )

    assert [event.data for event in events_in(stream)] == [b"{\n}", b"", b""]


def test_an_event_is_there_with_its_last_byte():
    reader = EventReader()

    assert list(reader.feed(b"data: 1\r\n\r")) == []
    assert [event.data for event in reader.feed(b"\n")] == [b"1"]


def test_a_mark_of_the_encoding_stands_before_the_first_line():
    assert events_in(b"\xef\xbb\xbfdata: 1\n\n")[0].data == b"1"


@pytest.mark.parametrize(
    ("raw", "changed"),
    [
        (b"event: a\ndata: 1\nid: 3\n\n", b"event: a\ndata: 2\nid: 3\n\n"),
        (b": 1\r\ndata:1\r\n\r\n", b": 1\r\ndata: 2\r\n\r\n"),
        (b"data:\ndata: 1\nevent: a\n\n", b"data: 2\nevent: a\n\n"),
        (b"\xef\xbb\xbfdata: 1\r\r", b"\xef\xbb\xbfdata: 2\r\r"),
    ],
)
def test_other_data_leaves_the_other_lines_as_they_came(raw: bytes, changed: bytes):
    (event,) = events_in(raw)

    assert event.with_data(b"2") == changed
    assert event.with_data(event.data) == raw


@given(st.text(alphabet=" 1\n", min_size=1), STREAMS)
def test_data_that_was_put_in_is_read_again(text: str, stream: bytes):
    for event in events_in(stream + b"\n\n"):
        if event.data:
            assert events_in(event.with_data(text.encode()) + b"\n\n")[0].data == text.encode()
