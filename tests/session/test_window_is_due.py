"""`prepare` with the strategy `window`, which may be due below the threshold."""

from pathlib import Path
from typing import Any

import pytest
from written import talk

from context_compression import Session
from context_compression.hooks import view_to_send
from context_compression.session import Event

SETTINGS: dict[str, Any] = {"strategy": "window"}


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def session(tmp_path: Path, events: list[Event]) -> Session:
    return Session(tmp_path, "s", settings=SETTINGS, on_event=events.append)


@pytest.mark.parametrize(("turns", "due"), [(20, False), (21, True)])
def test_prepare_compresses_once_there_are_too_many_turns(
    session: Session, turns: int, due: bool
) -> None:
    session.record(*talk(turns))

    assert session.is_due() is due
    view = session.prepare()

    assert (len(view) < 2 * turns) is due
    assert session.view() == view


def test_it_is_due_again_only_after_keep_recent_further_turns(
    session: Session, events: list[Event]
) -> None:
    session.record(*talk(21))
    session.prepare()
    for turn in range(25):
        session.record(*talk(1))
        session.prepare()
        assert len(events) == 2 * (1 + (turn + 1) // 11)


def test_a_compression_that_frees_nothing_is_not_tried_at_every_request(
    tmp_path: Path, events: list[Event]
) -> None:
    settings = SETTINGS | {"importance_threshold": 0}
    session = Session(tmp_path, "s", settings=settings, on_event=events.append)
    session.record(*talk(21))

    view = session.prepare()
    session.prepare()
    session.prepare()

    assert view == talk(21)
    assert len(events) == 2


@pytest.mark.parametrize("settings", [{"strategy": "auto"}, {"auto_compress": False}])
def test_it_is_not_due_by_turns_with_other_settings(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    session = Session(tmp_path, "s", settings=SETTINGS | settings)
    session.record(*talk(40))

    assert not session.is_due()
    assert session.prepare() == talk(40)


def test_a_hook_that_sends_the_view_asks_for_the_hosts_history(session: Session) -> None:
    assert view_to_send(session, talk(20)) is None

    view = view_to_send(session, talk(21))

    assert view is not None
    assert len(view) < 42
    assert view_to_send(session, [*talk(21), *talk(1)]) == [*view, *talk(1)]
