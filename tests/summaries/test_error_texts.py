"""Reading an error never raises, whatever it holds, and what it says is found all the same."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.summaries.errors import (
    Provider,
    detail,
    explained,
    is_foreign_thinking,
    is_overflow,
    window_named,
)

TOO_LONG = "prompt is too long: 213462 tokens > 200000 maximum"
OF_API = Provider("KEY", "Client", "Set summary_model.")


class Refused(Exception):
    """An exception with a body, as clients raise it."""

    def __init__(self, body: Any) -> None:
        super().__init__("refused")
        self.body = body


class APIStatusError(Refused):
    """The same, by the name that clients give it."""

    status_code = 400
    code: Any = None
    type: Any = None
    response: Any = None


class Broken(Mapping[str, Any]):
    """A mapping that fails while it is read."""

    def __getitem__(self, key: str) -> Any:
        raise OSError("closed")

    def __iter__(self) -> Iterator[str]:
        raise OSError("closed")

    def __len__(self) -> int:
        return 1


class Unread(Exception):
    """An exception that fails when it is read."""

    def __str__(self) -> str:
        raise RuntimeError("not read")

    @property
    def body(self) -> Any:
        raise RuntimeError("not read")

    response = body


def nested(depth: int) -> Any:
    body: Any = [TOO_LONG]
    for _ in range(depth):
        body = {"error": body}
    return body


def cyclic() -> Any:
    body: dict[str, Any] = {}
    body |= {"again": [body, body], "error": body, "message": TOO_LONG}
    return body


def doubled(times: int) -> Any:
    body: Any = {"message": TOO_LONG}
    for _ in range(times):
        body = [body, body]
    return body


FOUND: dict[str, Callable[[], Any]] = {
    "nested": lambda: nested(20),
    "cyclic": cyclic,
    "keys of any type": lambda: {1: TOO_LONG, None: 2, (3, 4): 5, b"six": 7},
    "bytes": lambda: {"message": TOO_LONG.encode()},
    "a body of bytes": lambda: json.dumps({"message": TOO_LONG}).encode(),
    "bytes that are no text": lambda: {"a": b"\xff\xfe", "message": TOO_LONG},
    "a set": lambda: {"details": {1, 2}, "message": TOO_LONG},
    "a number without end": lambda: {"n": 10**9_000, "message": TOO_LONG},
    "broken parts": lambda: {"a": Broken(), "b": Unread(), "message": TOO_LONG},
}
UNREADABLE: dict[str, Callable[[], Any]] = {
    "nested without end": lambda: nested(100_000),
    "doubled again and again": lambda: doubled(200),
    "broken": Broken,
    "nothing": lambda: None,
    "a number": lambda: 413_000,
    "a type": lambda: Refused,
}


@pytest.mark.parametrize("make", FOUND.values(), ids=FOUND)
def test_an_odd_body_says_what_it_says(make: Callable[[], Any]) -> None:
    body = make()

    for error in (body, Refused(body)):
        assert is_overflow(error)
        assert window_named(error) == (200_000, 213_462)


@pytest.mark.parametrize("make", UNREADABLE.values(), ids=UNREADABLE)
def test_a_body_that_cannot_be_read_says_nothing(make: Callable[[], Any]) -> None:
    body = make()

    for error in (body, Refused(body)):
        assert not is_overflow(error)
        assert window_named(error) is None
        assert not is_foreign_thinking(error)


def test_an_exception_that_fails_when_it_is_read_is_judged_by_its_causes() -> None:
    error = Unread()
    error.__cause__ = ValueError(TOO_LONG)
    error.__cause__.__cause__ = error

    assert is_overflow(error)
    assert not is_overflow(Unread())


keys = st.one_of(st.text(), st.integers(), st.binary(), st.none(), st.tuples(st.booleans()))
leaves = st.one_of(keys, st.floats(), st.booleans(), st.just(Broken()), st.just(object()))
bodies = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner)
)


@given(body=bodies, code=bodies, kind=bodies)
def test_no_body_makes_reading_an_error_fail(body: Any, code: Any, kind: Any) -> None:
    error = APIStatusError(body)
    error.code, error.type, error.response = code, kind, kind

    for each in (body, error):
        is_overflow(each)
        window_named(each)
        is_foreign_thinking(each)
    assert isinstance(detail(error, None), str)
    assert explained(error, None, "a model", OF_API).text
