"""What goes out is valid behind every door, whatever came in."""

from collections.abc import Sequence

import pytest
from every_door import DOORS, Ask, Door, Request
from generated import Messages
from hypothesis import given, settings
from hypothesis import strategies as st
from provider import refused, separated, undeclared
from talks import SMALL, UNKNOWN, broken_talks, shares, talks

every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
ALL_SHOWN = {"auto_compress": False}
FEW = settings().max_examples // 10
"""How many examples each door gets: there are many doors."""


def faults_of(request: Request, dialect: str) -> Sequence[str]:
    """Why the provider would refuse what goes out."""
    faults = refused(request.view, dialect)
    return [fault for fault in faults if not any(of in fault for of in UNKNOWN)]


@every_door
@settings(max_examples=FEW)
@given(law=st.data(), share=shares)
def test_what_goes_out_for_a_damaged_history_is_valid(
    door: Door, law: st.DataObject, share: float
) -> None:
    talk = law.draw(broken_talks(door.dialects))
    dialect, _ = talk

    for request in door.requests(talk, Ask(share, SMALL)):
        assert faults_of(request, dialect) == []


@every_door
@settings(max_examples=FEW)
@given(law=st.data(), share=shares)
def test_what_goes_out_for_a_valid_history_is_valid(
    door: Door, law: st.DataObject, share: float
) -> None:
    talk = law.draw(talks(door.dialects))
    dialect, _ = talk

    for request in door.requests(talk, Ask(share, SMALL)):
        if refused(request.history, dialect):
            continue  # a framework has no message for some, which tears what belongs to them
        assert refused(request.view, dialect) == []
        assert undeclared(request.view, request.history) == []
        if dialect == "responses":
            assert separated(request.history, request.view) == []


@every_door
@settings(max_examples=FEW)
@given(law=st.data())
def test_a_repair_is_told_and_what_is_not_repaired_is_the_very_object(
    door: Door, law: st.DataObject
) -> None:
    talk = law.draw(broken_talks(door.dialects))
    dialect, _ = talk

    for request in door.requests(talk, Ask(1.0, ALL_SHOWN)):
        if faults_of(Request(request.history, request.history), dialect):
            assert request.told or not door.tells, "nobody hears of the repair"
        elif door.tells and not (door.makes_own or request.told):
            assert same(request.view, request.history)


def same(view: Messages, history: Messages) -> bool:
    return len(view) == len(history) and all(a == b for a, b in zip(view, history, strict=True))
