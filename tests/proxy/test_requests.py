"""The body of a request: what does not change keeps its bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.proxy.requests import Body, RecentBodies

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=6)
SPACES = st.sampled_from(["", " ", "\n  ", "\t\r\n"])


def spaced(value: Any, space: str) -> bytes:
    """A value as JSON, with space where JSON may have it."""
    written = json.dumps(value, separators=(f"{space},{space}", f"{space}:{space}"))
    return f"{space}{written}{space}".encode()


@given(OBJECTS, SPACES)
def test_an_unchanged_body_keeps_its_bytes(fields: dict[str, Any], space: str) -> None:
    raw = spaced(fields, space)
    body = Body.read(raw)

    assert body
    assert body.fields == fields
    assert body.changed({}) == raw
    assert body.changed(body.fields) == raw


@given(OBJECTS, OBJECTS, SPACES)
def test_a_changed_body_has_the_new_fields_and_the_others(
    fields: dict[str, Any], new: dict[str, Any], space: str
) -> None:
    body = Body.read(spaced(fields, space))

    assert body
    assert json.loads(body.changed(new)) == {**fields, **new}


@given(st.lists(VALUES, max_size=6), st.lists(VALUES, max_size=3), st.data(), SPACES)
def test_items_that_stay_keep_their_bytes(
    items: list[Any], new: list[Any], data: st.DataObject, space: str
) -> None:
    body = Body.read(spaced({"before": 1.50, "messages": items, "after": [1, 2]}, space))
    assert body
    stays = data.draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    kept = [each for each, stay in zip(body.fields["messages"], stays, strict=True) if stay]
    changed = body.changed({"messages": [*kept, *new]})

    assert json.loads(changed) == {"before": 1.50, "messages": [*kept, *new], "after": [1, 2]}
    assert all(spaced(item, space).strip() in changed for item in kept)


@given(st.lists(VALUES, max_size=8), st.integers(0, 8), st.lists(VALUES, max_size=4), SPACES)
def test_a_body_read_after_another_is_the_same(
    items: list[Any], kept: int, new: list[Any], space: str
) -> None:
    recent = RecentBodies()
    first = spaced({"messages": items, "a": 1}, space)
    second = spaced({"messages": [*items[:kept], *new], "a": 1}, space)

    for raw in (first, second, first):
        body = recent.read(raw)
        assert body
        assert body.fields == json.loads(raw)
        assert body.changed({"messages": [*body.fields["messages"]]}) == raw


def test_what_both_bodies_begin_with_is_read_once() -> None:
    recent = RecentBodies()
    history = [{"role": "user", "content": "x" * 600}, {"role": "assistant", "content": "y"}]
    first = recent.read(json.dumps({"messages": history}).encode())
    second = recent.read(json.dumps({"messages": [*history, {"role": "user"}]}).encode())

    assert first
    assert second
    both = zip(first.fields["messages"], second.fields["messages"], strict=False)
    assert all(one is other for one, other in both)


def test_escapes_numbers_and_lone_surrogates_stay_as_they_were_written() -> None:
    raw = b'{"n": 1e999, "m": 1.0, "messages": ["\\ud800 \\u00e9", 1000000000000000000], "x": {}}'
    body = Body.read(raw)

    assert body
    changed = body.changed({"messages": [*body.fields["messages"], "new"]})
    assert changed == raw.replace(b"000], ", b'000, "new"], ')


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"[]", b"7", b'"{}"', b'{"a": 1,}', b'{"a": [1,]}', b'{"a": [,1]}', b'{"a": 1}{',
        b'{"a": 1, "a": 2}', b'{"a" 1}', b"{1: 2}", b"\xff", b"\xef\xbb\xbf{}", b'{"a": [1 2]}',
        b'{"a":' + b"[" * 100_000, b'{"a": [' + b'{"b":' * 100_000, b'{"a": nope}', b'{"a": [',
    ],
)  # fmt: skip
def test_what_is_no_object_is_not_read(raw: bytes) -> None:
    assert Body.read(raw) is None
    assert RecentBodies().read(raw) is None
