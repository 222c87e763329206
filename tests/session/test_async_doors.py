"""Each async method is the plain one in a thread: same answers, same files, same errors.

And whoever waits, for a lock or for a model, stops nobody else.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import pytest
from generated import Messages, conversations
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import Session, acompress, compress, restore_tool
from context_compression.errors import ContextCompressionError
from context_compression.testing import ScriptedSummarizer
from context_compression.threads import AT_ONCE

SMALL = {"token_budget": 3_000, "keep_recent_tokens": 300}
TOO_LONG = "prompt is too long: 213462 tokens > 200000 maximum"
SUMMARY = "## Goal\nMove every module.\n\n## Next Steps\nGo on with the next one."
WAITING = 60
"""More than there are worker threads by default."""
PATIENCE = 120
"""Seconds until a call that hangs fails its test."""
Door: TypeAlias = tuple[Callable[[Session, Messages], Any], Callable[[Session, Messages], Any]]
DOORS: dict[str, Door] = {
    "fit": (lambda s, m: s.fit(m), lambda s, m: s.afit(m)),
    "fit with tools": (
        lambda s, m: s.fit(m, system="Be brief.", tools=[{"name": "a"}]),
        lambda s, m: s.afit(m, system="Be brief.", tools=[{"name": "a"}]),
    ),
    "fit no list": (lambda s, m: s.fit("no list"), lambda s, m: s.afit("no list")),
    "prepare": (lambda s, m: s.prepare(), lambda s, m: s.aprepare()),
    "recover": (lambda s, m: s.recover(TOO_LONG), lambda s, m: s.arecover(TOO_LONG)),
    "recover no": (lambda s, m: s.recover("no"), lambda s, m: s.arecover("no")),
    "compress": (lambda s, m: s.compress(force=True), lambda s, m: s.acompress(force=True)),
    "too small": (
        lambda s, m: s.compress(target_tokens=1), lambda s, m: s.acompress(target_tokens=1),
    ),
    "of a host": (
        lambda s, m: s.compress(messages=m[:-1], target_tokens=900),
        lambda s, m: s.acompress(messages=m[:-1], target_tokens=900),
    ),
    "before a loop": (
        lambda s, m: s.compress_loop(-1, target_tokens=900),
        lambda s, m: s.acompress_loop(-1, target_tokens=900),
    ),
    "in memory": (
        lambda s, m: compress(m, target_tokens=900),
        lambda s, m: acompress(m, target_tokens=900),
    ),
    "in a store": (
        lambda s, m: compress(m, store=s, target_tokens=900),
        lambda s, m: acompress(m, store=s, target_tokens=900),
    ),
    "going on": (
        lambda s, m: compress(m, store=s, settings=SMALL),
        lambda s, m: acompress(m, store=s, settings=SMALL),
    ),
    "the tool": (
        lambda s, m: restore_tool(s).answer({"query": "module"}),
        lambda s, m: restore_tool(s).aanswer({"query": "module"}),
    ),
    "the tool, wrongly": (
        lambda s, m: restore_tool(s).answer("no"), lambda s, m: restore_tool(s).aanswer("no"),
    ),
    "close": (lambda s, m: s.close(), lambda s, m: s.aclose()),
}  # fmt: skip


def without_times(text: str) -> str:
    return re.sub(r'\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d\S*Z|(?<="crc32":")[0-9a-f]{8}', "", text)


def told(answer: Any) -> str:
    """What a caller sees of an answer."""
    if hasattr(answer, "messages"):
        answer = (answer.messages, answer.tokens_after, answer.refs, answer.originals, answer.notes)
    return without_times(repr(answer))


def outcome(
    door: Callable[[Session, Messages], Any], messages: Messages, model: bool
) -> tuple[str, dict[str, str]]:
    """What a door answers or raises, and what is then on disk."""
    with TemporaryDirectory() as place:
        summarizer = ScriptedSummarizer(SUMMARY) if model else None
        session = Session(Path(place) / "store", "s", settings=SMALL, summarizer=summarizer)
        session.record(*messages)
        try:
            answer = door(session, messages)
            if isawaitable(answer):
                answer = asyncio.run(_awaited(answer))
            said = told(answer)
        except ContextCompressionError as error:
            said = f"{type(error).__name__}: {error}"
        files = {
            without_times(path.name): without_times(path.read_text("utf-8"))
            for path in sorted((Path(place) / "store").rglob("*.json*"))
        }
        return said.replace(place, ""), files


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
@given(messages=conversations(), model=st.booleans())
@settings(max_examples=4)
def test_an_async_door_gives_what_the_plain_one_gives(
    door: str, messages: Messages, model: bool
) -> None:
    plain, beside = DOORS[door]

    assert outcome(beside, messages, model) == outcome(plain, messages, model)


def long() -> Messages:
    return [
        {"role": role, "content": f"{n} " + "move module_1 to lib/ " * 30}
        for n in range(20)
        for role in ("user", "assistant")
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["compress", "fit", "prepare"])
async def test_sixty_calls_that_wait_for_a_lock_stop_nobody_and_end_when_cancelled(
    tmp_path: Path, way: str
) -> None:
    busy = Session(tmp_path, "busy", settings=SMALL)
    busy.record(*long())
    calls = {
        "compress": lambda: busy.acompress(target_tokens=900),
        "fit": lambda: busy.afit(long()),
        "prepare": lambda: busy.aprepare(),
    }
    lock = busy.log.fitting if way == "fit" else busy.log.locked
    before = busy.log.events().items

    with anyio.fail_after(PATIENCE), lock(0):
        async with anyio.create_task_group() as group:
            for _ in range(WAITING):
                group.start_soon(calls[way])
            await anyio.wait_all_tasks_blocked()

            other = Session(tmp_path, "other", settings=SMALL)
            assert await other.afit(long()) != long()
            assert (await acompress(long(), target_tokens=900)).changed
            assert await anyio.to_thread.run_sync(lambda: 7) == 7
            assert await asyncio.to_thread(lambda: 7) == 7
            group.cancel_scope.cancel()

    assert busy.log.events().items == before


@pytest.mark.anyio
async def test_sixty_calls_that_wait_for_a_model_stop_nobody(tmp_path: Path) -> None:
    asked, may_answer = anyio.Semaphore(0), anyio.Event()

    async def write(_: object) -> str:
        asked.release()
        await may_answer.wait()
        return SUMMARY

    call = partial(acompress, long(), target_tokens=900, strategy="summarize", summarizer=write)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            for _ in range(WAITING):
                group.start_soon(call)
            for _ in range(WAITING):
                await asked.acquire()
            assert WAITING > AT_ONCE

            assert (await acompress(long(), target_tokens=900)).changed
            assert await anyio.to_thread.run_sync(lambda: 7) == 7
            may_answer.set()


@pytest.mark.anyio
async def test_a_wait_for_a_lock_that_takes_too_long_is_told_as_by_the_plain_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_compression.session.compressing.LOCK_SECONDS", 0.05)
    session = Session(tmp_path, "s", settings=SMALL)
    session.record(*long())

    with session.log.locked(0):
        with pytest.raises(ContextCompressionError) as plain:
            session.compress(target_tokens=900)
        with pytest.raises(ContextCompressionError) as beside:
            await session.acompress(target_tokens=900)

    assert str(beside.value) == str(plain.value)
    assert "waited 0.05 s" in str(plain.value)
