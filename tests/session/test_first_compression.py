"""The first compression in a project: computed once, and nothing is written if it is refused."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from context_compression import BudgetTooSmall, Result, Session
from context_compression.conversation import assistant
from context_compression.planning import Edit, Plan
from context_compression.testing import conversation
from context_compression.threads import before_writing

pytestmark = pytest.mark.anyio
TALK = conversation(12, 3, "anthropic")


class Shortening:
    """Shortens what the assistant says, and calls something when it is asked to."""

    name = "shortening"

    def __init__(self, call: Callable[[], object] = lambda: None) -> None:
        self.times, self._call = 0, call

    def propose(self, plan: Plan) -> Sequence[Edit]:
        self.times += 1
        self._call()
        return [
            Edit(at, at + 1, (assistant(f"[{plan.archive.ref_of(each.text)}]"),), "shortened")
            for at, each in enumerate(plan.messages)
            if each.role == "assistant" and not each.calls and at not in plan.anchored
        ]


async def compressed(session: Session, colour: str, **options: Any) -> Result:
    if colour == "sync":
        return session.compress(**options)
    return await session.acompress(**options)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_first_compression_is_computed_once(tmp_path: Path, colour: str) -> None:
    strategy, session = Shortening(), Session(tmp_path / "store", "first")

    result = await compressed(session, colour, messages=TALK, target_tokens=1, strategy=strategy)

    assert result.changed
    assert strategy.times == 1
    assert Session(tmp_path / "store", "first").view() == result.messages


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_whoever_records_meanwhile_comes_first(tmp_path: Path, colour: str) -> None:
    """Two processes compress a conversation for the first time: none fails, none is lost."""
    other = Session(tmp_path / "store", "first")
    strategy = Shortening(lambda: None if other.log.exists() else other.record(*TALK[:4]))

    result = await compressed(
        Session(tmp_path / "store", "first"),
        colour,
        messages=TALK,
        target_tokens=1,
        strategy=strategy,
    )

    assert strategy.times == 2
    assert Session(tmp_path / "store", "first").view() == result.messages
    assert other.state().recorded == TALK


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_first_compression_that_may_not_write_leaves_no_folder(
    tmp_path: Path, colour: str
) -> None:
    def refuse() -> None:
        raise InterruptedError

    session = Session(tmp_path / "store", "first")

    with pytest.raises(InterruptedError), before_writing(refuse):
        await compressed(session, colour, messages=TALK, target_tokens=1, strategy=Shortening())
    with pytest.raises(BudgetTooSmall):
        await compressed(session, colour, messages=TALK, target_tokens=1)

    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_the_lock_of_a_first_compression_is_free_afterwards(
    tmp_path: Path, colour: str
) -> None:
    session = Session(tmp_path / "store", "first")
    await compressed(session, colour, messages=TALK, target_tokens=1, strategy=Shortening())

    with session.log.locked(0):
        pass
