"""How much one tenant, and all together, may ask of a process."""

from contextlib import ExitStack

import pytest

from context_compression.errors import InvalidSettings
from context_compression.mcp_server.web.gate import Admission, Exceeded, RequestLimits


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def refused(admission: Admission, tenant: str) -> tuple[int, int] | None:
    """The status and the seconds to wait; `None` for a request that is let in."""
    try:
        with admission.admitted(tenant):
            return None
    except Exceeded as exceeded:
        answer = exceeded.response({"type": "http", "path": "/mcp"})
        assert answer.headers["Retry-After"] == str(exceeded.seconds)
        return exceeded.status, exceeded.seconds


def test_a_tenant_waits_for_its_own_requests_and_not_for_those_of_others() -> None:
    admission = Admission(RequestLimits(at_once=2, in_all=3), Clock())
    with ExitStack() as running:
        for _ in range(2):
            running.enter_context(admission.admitted("ann"))
        of_ann, of_bob = refused(admission, "ann"), refused(admission, "bob")
        running.enter_context(admission.admitted("bob"))
        of_cyd = refused(admission, "cyd")

    assert (of_ann, of_bob, of_cyd) == ((429, 1), None, (503, 1))
    assert refused(admission, "ann") is None


def test_a_minute_has_so_many_requests_and_the_answer_says_when_the_next_is_due() -> None:
    clock = Clock()
    admission = Admission(RequestLimits(per_minute=6), clock)
    burst = [refused(admission, "ann") for _ in range(7)]
    clock.now = 3
    early = refused(admission, "ann")
    clock.now = 10
    in_time = refused(admission, "ann")
    clock.now = 10_000
    full_again = [refused(admission, "ann") for _ in range(7)]

    assert burst == [None] * 6 + [(429, 10)]
    assert early == (429, 7)
    assert in_time is None
    assert full_again == [None] * 6 + [(429, 10)]


def test_a_refused_request_counts_for_nothing() -> None:
    clock = Clock()
    admission = Admission(RequestLimits(per_minute=1), clock)
    asked = [refused(admission, "ann") for _ in range(100)]
    clock.now = 60

    assert asked.count(None) == 1
    assert refused(admission, "ann") is None


def test_limits_by_which_one_tenant_could_take_all_are_refused() -> None:
    with pytest.raises(InvalidSettings, match="Make --in-all larger"):
        RequestLimits(at_once=8, in_all=8)

    assert RequestLimits(at_once=8).most == 32
