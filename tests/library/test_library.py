"""`compress` and `acompress` with a store: the originals are on disk, whatever names the place."""

from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, Store, acompress, compress
from context_compression.testing import conversation

pytestmark = pytest.mark.anyio


def mine(folder: Path) -> Session:
    return Session(folder, "mine")


@pytest.mark.parametrize("place", [str, Path, Store, mine])
async def test_with_a_store_the_originals_are_on_disk(place: Any, tmp_path: Path) -> None:
    messages = conversation(turns=8, seed=3)
    store = place(tmp_path / ".compression")

    result = compress(messages, target_tokens=2_000, store=store)

    assert result.changed
    kept = Store(tmp_path / ".compression")
    session = Session(kept, kept.sessions()[0])
    assert session.view() == result.messages
    assert all(session.original(ref) == whole for ref, whole in result.originals.items())
    again = await acompress(messages, target_tokens=2_000, store=store)
    assert again.messages == result.messages


def test_without_a_store_the_originals_are_in_the_result_alone() -> None:
    messages = conversation(turns=8, seed=3)

    result = compress(messages, target_tokens=2_000)

    assert result.originals
    assert "context_restore" not in str(result.messages)


async def test_auto_leaves_the_strategy_to_the_settings_as_nothing_does(tmp_path: Path) -> None:
    messages = conversation(turns=8, seed=3)
    session = Session(tmp_path, "mine", settings={"strategy": "truncate"})

    for place in ({"store": session}, {"settings": {"strategy": "truncate"}}):
        asked: dict[str, Any] = {"target_tokens": 2_000, "strategy": "auto", **place}
        assert compress(messages, **asked).strategy == "truncate"
        assert (await acompress(messages, **asked)).strategy == "truncate"


def test_an_empty_conversation_makes_no_folder(tmp_path: Path) -> None:
    result = compress([], store=tmp_path / ".compression", target_tokens=10)

    assert not result.changed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("plain", "twin"),
    [
        (compress, acompress),
        (Session.compress, Session.acompress),
        (Session.compress_loop, Session.acompress_loop),
    ],
    ids=["library", "session", "loop"],
)
def test_the_twin_for_event_loops_takes_the_same_arguments(plain: Any, twin: Any) -> None:
    assert signature(twin) == signature(plain)
    assert iscoroutinefunction(twin)


async def test_an_unknown_argument_is_refused_by_both() -> None:
    with pytest.raises(TypeError, match="goal"):
        compress([], goal=1)  # pyright: ignore[reportCallIssue]  # that is the test
    with pytest.raises(TypeError, match="goal"):
        await acompress([], goal=1)  # pyright: ignore[reportCallIssue]  # that is the test
