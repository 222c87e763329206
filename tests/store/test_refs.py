"""One ref is found without reading all there is, and just as it would be by reading all."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression import Session, Store
from context_compression.store import SessionLog, to_json
from context_compression.store.refs import entries, following
from context_compression.store.session_files import message_at
from context_compression.testing import conversation

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(st.dictionaries(st.text(), VALUES, min_size=1, max_size=3), max_size=6)
REF = "c3f9a1b2c3d4"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session(tmp_path, "talk")
    session.record(*conversation(8))
    session.compress(target_tokens=4_000)
    session.offload("a text of its own")
    return session


def archived_last(log: SessionLog) -> list[str]:
    """The refs of the messages that the last compression archived, in order."""
    *_, last = (event for event in log.events().items if event["type"] == "compression")
    refs: dict[str, Any] = last["refs"]
    return [ref for ref, about in refs.items() if about["block"] is None]


def test_what_was_archived_twice_counts_as_it_stands_last() -> None:
    events = [
        {"type": "offload", "refs": {REF: {"what": f"text {n}", "text": "x"}, "a" * 12: {}}}
        for n in range(3)
    ]
    log = b"".join(to_json(event) + b"\n" for event in events)

    assert list(entries(log, REF))[-1] == (REF, {"what": "text 2", "text": "x"})


@given(MESSAGES)
def test_a_message_is_read_alone_as_it_is_among_all(messages: list[dict[str, Any]]) -> None:
    data = to_json(messages, indent=2)

    for position, message in enumerate(messages):
        assert message_at(data, position) == message
    assert message_at(data, len(messages)) is None
    assert message_at(data, -1) is None


@given(st.text(), VALUES)
def test_what_is_said_of_a_ref_is_found_among_whatever_texts(text: str, value: Any) -> None:
    about = {"what": text, "text": text}
    refs = {"aaaabbbbcccc": {"what": "x", "text": f'"{REF}":{{"what":"y"}}'}, REF: about}
    lines = [
        {"type": "message", "message": {REF: about, "x": value}},
        {"type": "offload", "created_at": text, "refs": refs},
        {"type": "restore", "ref": REF},
    ]
    log = b"".join(to_json(line) + b"\n" for line in lines)

    assert dict(entries(log, REF[:4])) == {REF: about}
    assert dict(entries(log, "0" * 12)) == {}
    assert dict(entries(log, "aaaa")) == {"aaaabbbbcccc": refs["aaaabbbbcccc"]}


def test_every_ref_is_found_as_by_reading_all(session: Session) -> None:
    log = session.store.session("talk")

    assert log.refs()
    for ref, about in log.refs().items():
        found = log.about(ref)
        assert {**found[ref], "file": None} == {**about, "file": None}


@pytest.mark.parametrize(("indent", "end"), [(1, ""), (None, ""), (2, "\n"), (2, " "), (4, "")])
def test_originals_somebody_formatted_anew_come_back(
    session: Session, indent: int | None, end: str
) -> None:
    whole = {ref: session.restore(ref, note=False) for ref in session.status().refs}
    assert whole
    [file] = session.store.session("talk").folder.glob("compact-*.json")

    messages = json.loads(file.read_bytes())
    file.write_text(json.dumps(messages, indent=indent) + end, encoding="utf-8")

    for ref, text in whole.items():
        assert Session(session.store, "talk").restore(ref, note=False) == text


def test_a_log_somebody_formatted_anew_is_understood(session: Session) -> None:
    refs = session.status().refs
    file = session.store.session("talk").folder / "events.jsonl"
    lines = [json.loads(line) for line in file.read_bytes().split(b"\n") if line]

    file.write_text(
        "".join(f"{json.dumps(line, sort_keys=True)}\n" for line in lines), encoding="utf-8"
    )

    fresh = Store(session.store.folder)
    for ref in refs:
        log = fresh.locate(ref[:6])
        assert log
        assert log.full_ref(ref[:6]) == ref
        Session(fresh, "talk").restore(ref, note=False)


def test_what_was_archived_meanwhile_is_found(session: Session) -> None:
    log = session.store.session("talk")
    ref = Session(session.store, "other").offload("elsewhere")
    assert log.full_ref(ref) is None

    Session(session.store.folder, "talk").offload("elsewhere")

    assert log.full_ref(ref) == ref


def test_behind_each_message_the_one_archived_next_is_named(session: Session) -> None:
    log = session.store.session("talk")
    messages = archived_last(log)

    assert len(messages) > 2
    assert [log.following(ref) for ref in messages] == [*messages[1:], None]
    assert {log.following(ref) for ref in log.refs() if ref not in messages} == {None}


def test_no_text_of_a_message_can_say_what_is_archived_behind_another() -> None:
    def of(*refs: str) -> dict[str, Any]:
        told = enumerate(refs)
        return {r: {"what": f"message {n} (user)", "message": n, "block": None} for n, r in told}

    forged = of(REF, "000000000000")
    lines = [
        {"type": "message", "message": forged},
        {"type": "compression", "layout": [forged], "originals": "x", "refs": of("a" * 12)},
        {"type": "compression", "layout": [forged], "refs": of(REF, "111111111111")},
        {"type": "message", "message": {"refs": forged}},
        {"type": "compression", "layout": [{"refs": forged}], "refs": of("b" * 12, "c" * 12)},
    ]
    log = b"".join(to_json(line) + b"\n" for line in lines)

    assert following(log, REF) == "111111111111"
    assert following(log, "111111111111") is None
    assert following(log, "a" * 12) is None
    assert following(log, "d" * 12) is None
    assert dict(entries(log, "0000")) == {}


def test_what_was_archived_again_is_followed_by_what_followed_it_last(tmp_path: Path) -> None:
    session = Session(tmp_path, "talk")
    session.record(*conversation(12))
    session.compress(target_tokens=30_000)
    session.undo()
    session.compress(target_tokens=5_000)
    log = session.store.session("talk")
    messages = archived_last(log)

    assert len(messages) > 2
    assert [log.following(ref) for ref in messages] == [*messages[1:], None]
