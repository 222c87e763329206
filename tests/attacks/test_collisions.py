"""Texts made so that their hashes begin alike, as anybody can in half a minute.

Each of the two gets a ref of its own, and each comes back, byte for byte, through every door.
"""

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, compress
from context_compression.conversation import Refs, ToolCall, ref_of
from context_compression.errors import StoreDamaged, UnknownRef
from context_compression.session import AnsweredCall, offload_result
from context_compression.settings import StrategyName
from context_compression.store import Store
from context_compression.testing import Run, tool_step

pytestmark = pytest.mark.slow

LOG = "".join(
    f"{n:03} worker-{n % 7} handled request {n * 37 % 1009} in {n % 90} ms\n" for n in range(400)
)
ONE, OTHER = f"{LOG}checksum 5108028", f"{LOG}checksum 33679295"
SHORT = ref_of(ONE)
LONG = sha256(OTHER.encode()).hexdigest()[:16]


def talk(*texts: str) -> list[dict[str, Any]]:
    """A conversation in which each text is what a tool answered, and more than enough follows."""
    steps = [
        tool_step([Run(f"c{n}", "Bash", {"command": f"make {n}"}, text)], "anthropic")
        for n, text in enumerate((*texts, "fine", "fine"))
    ]
    return [
        {"role": "user", "content": "Why is the build slow?"},
        *(message for step in steps for message in step),
        {"role": "user", "content": "Go on."},
    ]


def test_the_two_have_the_same_first_digits() -> None:
    assert ONE != OTHER
    assert ref_of(OTHER) == SHORT
    assert LONG.startswith(SHORT)


def test_the_second_of_two_gets_more_digits_whichever_it_is() -> None:
    for first, second in ((ONE, OTHER), (OTHER, ONE)):
        refs = Refs()

        assert refs(first) == SHORT
        assert refs(second) == sha256(second.encode()).hexdigest()[:16]
        assert refs(first) == SHORT


def test_both_come_back_when_offloaded_one_after_the_other(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")

    assert (session.offload(ONE), session.offload(OTHER)) == (SHORT, LONG)
    assert (session.offload(ONE), session.offload(OTHER)) == (SHORT, LONG)

    again = Session(tmp_path, "s")
    assert (again.restore(SHORT), again.restore(LONG)) == (ONE, OTHER)
    assert {again.store.locate(SHORT), again.store.locate(LONG)} == {again.store.session("s")}
    assert again.store.verify() == []


@pytest.mark.parametrize("strategy", ["auto", "offload", "truncate", "extract", "window"])
def test_both_come_back_from_one_compression(tmp_path: Path, strategy: StrategyName) -> None:
    messages = talk(ONE, OTHER)

    alone = compress(messages, strategy=strategy, target_tokens=1_500, force=True)
    kept = compress(messages, strategy=strategy, target_tokens=1_500, force=True, store=tmp_path)

    for result in (alone, kept):
        assert {ONE, OTHER} <= {text for text in result.originals.values() if isinstance(text, str)}
        for ref, original in result.originals.items():
            text = original if isinstance(original, str) else json.dumps(original)
            assert result.refs[ref].sha256 == sha256(text.encode()).hexdigest()
    store = Store(tmp_path)
    session = Session(store, store.sessions()[0])
    both = {session.original(ref) for ref in kept.refs if ref.startswith(SHORT)}
    assert both == {ONE, OTHER}
    assert store.verify() == []


def test_what_a_compression_takes_out_later_is_not_taken_for_the_first(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.offload(ONE)
    session.record(*talk(OTHER))

    session.compress(strategy="offload", target_tokens=1_500, force=True)

    assert f"ref {LONG}" in json.dumps(session.view())
    assert (session.restore(SHORT), session.restore(LONG)) == (ONE, OTHER)
    path = tmp_path / "sessions/s/offloaded" / f"{LONG}.txt"
    assert path.read_text("utf-8") == OTHER


def test_what_a_hook_keeps_is_not_taken_for_the_first(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"offload_min_tokens": 100})
    calls = [ToolCall("c", "Bash", {"command": f"make {part}"}) for part in ("one", "other")]

    shown = [
        offload_result(session, AnsweredCall(call, text))
        for call, text in zip(calls, (ONE, OTHER), strict=True)
    ]

    assert [SHORT in str(shown[0]), LONG in str(shown[1])] == [True, True]
    assert (session.restore(SHORT), session.restore(LONG)) == (ONE, OTHER)


def test_a_text_whose_archive_was_damaged_is_archived_anew(tmp_path: Path) -> None:
    about = {"what": "text", "text": OTHER, "message": None, "block": None}
    event = {"type": "offload", "created_at": "2026-11-01T12:00:00Z", "refs": {SHORT: about}}
    Store(tmp_path).session("s").append(
        {**event, "refs": {SHORT: {**about, "sha256": sha256(ONE.encode()).hexdigest()}}}
    )
    session = Session(tmp_path, "s")
    with pytest.raises(StoreDamaged):
        session.restore(SHORT)

    assert session.offload(ONE) == SHORT

    assert Session(tmp_path, "s").restore(SHORT) == ONE


def test_of_two_sessions_with_the_same_ref_the_one_meant_must_be_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one, other = Session(store, "one"), Session(store, "other")
    assert one.offload(ONE) == other.offload(OTHER) == SHORT

    with pytest.raises(UnknownRef, match="different things in"):
        store.locate(SHORT)

    assert (one.restore(SHORT), other.restore(SHORT)) == (ONE, OTHER)


def test_the_same_in_two_sessions_is_one_thing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name in ("one", "other"):
        Session(store, name).offload(ONE)

    found = store.locate(SHORT)

    assert found is not None
    assert Session(store, found.id).restore(SHORT) == ONE


def test_a_search_finds_both_of_two_sessions(tmp_path: Path) -> None:
    store = Store(tmp_path)
    Session(store, "one").offload(ONE)
    Session(store, "other").offload(OTHER)

    found = store.search("checksum")

    assert {hit.session for hit in found.hits} == {"one", "other"}


def test_what_a_session_refers_to_by_more_digits_is_not_pruned(tmp_path: Path) -> None:
    store = Store(tmp_path)
    old, new = Session(store, "old"), Session(store, "new")
    assert [old.offload(ONE), old.offload(OTHER), new.offload(ONE)] == [SHORT, LONG, SHORT]
    new.record({"role": "user", "content": f"See ref {LONG}."})
    os.utime(tmp_path / "sessions/old/events.jsonl", (0, 0))

    store.prune(3_600)

    assert Session(store, "old").restore(LONG) == OTHER
