"""What goes out is valid behind every door, whatever came in."""

from collections.abc import Sequence

import pytest
from every_door import Ask, Door, Request, every_door, holds
from generated import Messages
from hypothesis import strategies as st
from provider import refused, separated, undeclared
from talks import SMALL, UNKNOWN, Talk, broken_talks, shares, talks

from context_compression.testing import said_by_model, said_by_user

ALL_SHOWN = {"auto_compress": False}


def faults_of(request: Request, dialect: str) -> Sequence[str]:
    """Why the provider would refuse what goes out."""
    faults = refused(request.view, dialect)
    return [fault for fault in faults if not any(of in fault for of in UNKNOWN)]


@every_door
def test_what_goes_out_for_a_damaged_history_is_valid(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        dialect, _ = talk

        for request in door.requests(talk, Ask(data.draw(shares), SMALL)):
            assert faults_of(request, dialect) == []

    holds(door, broken_talks, law)


@pytest.mark.slow
@every_door
def test_half_a_character_in_a_users_words_goes_out_of_no_door(door: Door) -> None:
    for dialect in door.dialects:
        said = [said_by_user(f"Mend {n}, ok\ud83d", dialect) for n in range(2)]
        answers = (said_by_model("Done.", dialect, id=f"a{n}") for n in range(2))
        messages = [each for a, b in zip(said, answers, strict=True) for each in (a, *b)]

        for request in door.requests((dialect, messages), Ask(0.5, SMALL)):
            assert faults_of(request, dialect) == []


@every_door
def test_what_goes_out_for_a_valid_history_is_valid(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        dialect, _ = talk

        for request in door.requests(talk, Ask(data.draw(shares), SMALL)):
            if refused(request.history, dialect):
                continue  # a framework has no message for some, which tears what belongs to them
            assert refused(request.view, dialect) == []
            assert undeclared(request.view, request.history) == []
            if dialect == "responses":
                assert separated(request.history, request.view) == []

    holds(door, talks, law)


@every_door
def test_a_repair_is_told_and_what_is_not_repaired_stays_as_it_came(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        dialect, _ = talk

        for request in door.requests(talk, Ask(1.0, ALL_SHOWN)):
            if faults_of(Request(request.history, request.history), dialect):
                assert request.about.told or not door.tells, "nobody hears of the repair"
            elif door.tells and not (door.replaces or request.about.told):
                assert same(request.view, request.history)

    holds(door, broken_talks, law)


def same(view: Messages, history: Messages) -> bool:
    return len(view) == len(history) and all(a == b for a, b in zip(view, history, strict=True))
