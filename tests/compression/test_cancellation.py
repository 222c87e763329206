"""Cancelled at every await there is: all is as it was, or done; never anything in between."""

import asyncio
import json
import re
import shutil
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from pathlib import Path
from types import coroutine
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
import pytest
from generated import Messages
from provider import refused

from context_compression import Result, Session, acompress, compress, count_tokens
from context_compression.session.pacing import Event
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.testing import Run, tool_step
from context_compression.threads import in_thread

pytestmark = pytest.mark.anyio

TARGET = 3_000
SUMMARY = "## Goal\nMove every step.\n\n## Next Steps\nGo on with the next step."
SETTINGS = {"token_budget": 8_000, "keep_recent_tokens": 1_000}
TOO_LONG = "prompt is too long: 213462 tokens > 200000 maximum"


def work(turns: int = 24) -> Messages:
    """Turns of 300 tokens; the first holds a result that is offloaded."""
    messages: Messages = []
    for n in range(turns):
        messages.append({"role": "user", "content": f"Step {n}: move module_{n}."})
        lines = 300 if n == 0 else 40
        output = "\n".join(f"{k} part_{n} is being built" for k in range(lines))
        run = Run(f"run{n}", "Bash", {"command": f"mv src/module_{n}.py lib/"}, output)
        messages += tool_step([run], "anthropic")
        messages.append({"role": "assistant", "content": f"Answer {n}. It is where it should be."})
    return messages


class Model:
    """Writes a summary, after it has waited twice."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary."""
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        return SummaryReply(SUMMARY)


Doing: TypeAlias = Callable[[Session], Coroutine[Any, Any, object]]
DEEDS: dict[str, Doing] = {
    "by hand": lambda s: s.acompress(strategy="summarize", target_tokens=TARGET),
    "without a model": lambda s: s.acompress(strategy="extract", target_tokens=TARGET),
    "due": lambda s: s.aprepare(),
    "refused": lambda s: s.arecover(TOO_LONG),
    "before a loop": lambda s: s.acompress_loop(-4, target_tokens=TARGET),
    "held by the caller": lambda s: s.acompress(messages=work(25), target_tokens=TARGET),
    "through the library": lambda s: acompress(work(), target_tokens=TARGET, store=s),
}


@coroutine
def cancelled(
    work: Coroutine[Any, Any, object], at: int, cancel: Callable[[], object]
) -> Generator[Any, Any, int]:
    """Awaits `work`, and calls `cancel` when it waits for the `at`-th time; how often it waited."""
    waited = 0
    step: Callable[[], Any] = partial(work.send, None)
    while True:
        try:
            waiting_for = step()
        except StopIteration:
            return waited
        if waited == at:
            cancel()
        waited += 1
        try:
            answer = yield waiting_for
        except BaseException as error:
            step = partial(work.throw, error)
        else:
            step = partial(work.send, answer)


async def by_the_loop(work: Coroutine[Any, Any, object], at: int) -> bool:
    """Whether asyncio cancelled the task, as `asyncio.timeout` does."""

    async def run() -> None:
        task = asyncio.current_task()
        assert task
        await cancelled(work, at, task.cancel)

    task = asyncio.create_task(run())
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
    return task.cancelled()


async def by_a_scope(work: Coroutine[Any, Any, object], at: int) -> bool:
    """Whether a scope was left early, as `anyio.fail_after` does."""
    done = False
    with anyio.CancelScope() as scope:
        await cancelled(work, at, scope.cancel)
        await anyio.lowlevel.checkpoint()
        done = True
    return not done


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".locks" not in path.parts
    }


def without_times(found: dict[str, bytes]) -> dict[str, str]:
    """What two runs have in common: names and contents, but for times."""
    time = re.compile(r'\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\dZ|(?<="crc32":")[0-9a-f]{8}')
    return {time.sub("", name): time.sub("", data.decode()) for name, data in found.items()}


class Watch:
    """Counts as one session does; knows what it told, and whether it counted when it was over."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.over = False
        self.late = 0

    def count(self, text: str) -> int:
        """A quarter of the characters."""
        self.late += self.over
        return len(text) // 4


def opened(folder: Path, watch: Watch | None = None) -> Session:
    watch = watch or Watch()
    return Session(
        folder, "s", settings=SETTINGS, counter=watch.count, summarizer=Model(),
        on_event=watch.events.append,
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a session that is over its threshold, and has been compressed before."""
    folder = tmp_path_factory.mktemp("recorded")
    session = opened(folder)
    session.record(*work())
    session.compress(strategy="offload", force=True)
    return folder


@pytest.mark.parametrize("cancelling", [by_the_loop, by_a_scope])
@pytest.mark.parametrize("deed", DEEDS)
async def test_cancelled_at_any_await_a_compression_is_made_or_never_was(
    recorded: Path,
    tmp_path: Path,
    deed: str,
    cancelling: Callable[[Coroutine[Any, Any, object], int], Awaitable[bool]],
) -> None:
    before = files(recorded)
    whole = tmp_path / "whole"
    shutil.copytree(recorded, whole)
    await DEEDS[deed](opened(whole))
    after = without_times(files(whole))
    assert after != without_times(before)

    at, stopped, left_alone = 0, True, 0
    while stopped:
        folder = tmp_path / str(at)
        shutil.copytree(recorded, folder)
        watch = Watch()

        stopped = await cancelling(DEEDS[deed](opened(folder, watch)), at)

        watch.over = True
        found, events = files(folder), watch.events
        left_alone += found == before
        assert found == before or without_times(found) == after
        assert stopped or found != before
        assert [event.kind for event in events] in ([], ["start", "end"])
        assert not events or events[1].aborted == (found == before)
        session = opened(folder)
        made = session.status().compressions
        again = await session.acompress(strategy="window", target_tokens=1_000)
        assert again.target_met
        assert session.status().compressions == made + 1
        assert refused(session.view(), "anthropic") == []
        assert session.store.verify() == []
        assert watch.late == 0, "a thread went on behind our back"
        shutil.rmtree(folder)
        at += 1
    assert 0 < left_alone < at
    assert at > 5


@pytest.mark.parametrize("moment", [1, 20, 150, "before it writes"])
async def test_cancelled_while_its_thread_works_a_compression_ends_only_with_the_thread(
    recorded: Path, tmp_path: Path, moment: int | str
) -> None:
    folder = tmp_path / "s"
    shutil.copytree(recorded, folder)
    before, loop, watch = files(folder), asyncio.get_running_loop(), Watch()
    calls = 0

    def cancel() -> None:
        seen = threading.Event()
        loop.call_soon_threadsafe(task.cancel)
        loop.call_soon_threadsafe(lambda: loop.call_soon(seen.set))
        assert seen.wait(60)

    def count(text: str) -> int:
        nonlocal calls
        calls += 1
        if calls == moment:
            cancel()
        return watch.count(text)

    def now() -> None:
        if moment == "before it writes":
            cancel()

    session = opened(folder)
    session.counter = count
    task = asyncio.create_task(session.acompress(target_tokens=TARGET, before_writing=now))
    await asyncio.wait([task])
    watch.over, found = True, files(folder)

    assert task.cancelled()
    assert (found == before) == (moment != "before it writes")
    with session.store.session("s").locked(timeout=0):
        pass
    assert (await opened(folder).acompress(strategy="window", target_tokens=1_000)).changed
    assert watch.late == 0


async def test_cancelled_at_any_await_the_library_leaves_the_messages_as_they_are() -> None:
    messages = work()
    given = json.dumps(messages)
    at, stopped = 0, True
    while stopped:
        stopped = await by_the_loop(
            acompress(messages, target_tokens=TARGET, summarizer=Model()), at
        )

        assert json.dumps(messages) == given
        at += 1
    assert at > 5


async def test_counting_and_compressing_hold_no_event_loop_up(tmp_path: Path) -> None:
    threads: set[int] = set()

    def count(text: str) -> int:
        threads.add(threading.get_ident())
        return len(text) // 4

    session = Session(tmp_path, "s", settings=SETTINGS, counter=count, summarizer=Model())
    session.record(*work())

    await session.aprepare()
    await session.arecover(TOO_LONG)
    await session.acompress(strategy="summarize", target_tokens=1_500)
    await acompress(work(), target_tokens=TARGET, counter=count)
    await acompress(work(), target_tokens=TARGET, counter=count, store=tmp_path)

    assert threads
    assert threading.get_ident() not in threads


async def test_in_threads_the_same_input_gives_the_same_bytes() -> None:
    here = compress(work(), target_tokens=TARGET)

    found: list[Result] = []
    async with anyio.create_task_group() as group:

        async def one() -> None:
            found.append(await acompress(work(), target_tokens=TARGET))

        for _ in range(4):
            group.start_soon(one)

    assert [json.dumps(each.messages) for each in found] == [json.dumps(here.messages)] * 4
    assert found[0].tokens_after == count_tokens(found[0].messages)


async def test_what_fails_in_a_thread_fails_here() -> None:
    def fail() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        await in_thread(fail)
    assert await in_thread(lambda: 7) == 7
