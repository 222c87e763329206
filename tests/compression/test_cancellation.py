"""Cancelled at any moment: all is as it was, or done; never anything in between."""

import asyncio
import json
import re
import shutil
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
import pytest
from generated import Messages
from provider import refused
from written import files_in

from context_compression import Result, Session, acompress, compress, count_tokens
from context_compression.session import Event
from context_compression.summaries import SummaryReply, SummaryRequest
from context_compression.testing import Run, tool_step
from context_compression.threads import before_writing, in_thread

pytestmark = pytest.mark.anyio

TARGET = 3_000
SUMMARY = "## Goal\nMove module_0 and all that follow to lib/.\n\n## Next Steps\nmodule_1."
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


class Watch:
    """Numbers the moments of one call, and cancels it at one of them.

    It counts as a session does, hears its events, and knows whether it counted when all was over.
    """

    def __init__(self, at: int | None = None) -> None:
        self.moments: list[str] = []
        self.events: list[Event] = []
        self.over = False
        self.late = 0
        self.cancel: Callable[[], object] = lambda: None
        self._at, self._loop = at, asyncio.get_running_loop()
        self._here = threading.get_ident()

    def now(self, what: str) -> None:
        """One more moment, in the event loop or in a thread."""
        self.moments.append(what)
        if self._at != len(self.moments) - 1:
            return
        if threading.get_ident() == self._here:
            self.cancel()
            return
        seen = threading.Event()
        self._loop.call_soon_threadsafe(self.cancel)
        self._loop.call_soon_threadsafe(lambda: self._loop.call_soon(seen.set))
        assert seen.wait(60)

    def count(self, text: str) -> int:
        """A quarter of the characters."""
        self.late += self.over
        self.now("count")
        return len(text) // 4

    def hear(self, event: Event) -> None:
        """Told in the event loop."""
        assert threading.get_ident() == self._here
        self.events.append(event)
        self.now(f"{event.kind} of a compression")

    def telling(self) -> list[int]:
        """The numbers of the moments at which to cancel: all but for most of the counting."""
        counted = [n for n, what in enumerate(self.moments) if what == "count"]
        few = {*counted[:: max(1, len(counted) // 4)]}
        return [n for n, what in enumerate(self.moments) if what != "count" or n in few]


class Model:
    """Writes a summary, after it has waited twice."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary."""
        for _ in range(2):
            self._watch.now("waiting for the model")
            await anyio.lowlevel.checkpoint()
        return SummaryReply(SUMMARY)


Doing: TypeAlias = Callable[[Session], Coroutine[Any, Any, object]]
ASKING = ("by hand", "due", "refused", "before a loop", "held by the caller", "through the library")
"""Those of the `DEEDS` that ask a model."""
DEEDS: dict[str, Doing] = {
    "by hand": lambda s: s.acompress(strategy="summarize", target_tokens=TARGET),
    "without a model": lambda s: s.acompress(strategy="extract", target_tokens=TARGET),
    "due": lambda s: s.aprepare(),
    "refused": lambda s: s.arecover(TOO_LONG),
    "before a loop": lambda s: s.acompress_loop(-4, target_tokens=TARGET),
    "held by the caller": lambda s: s.acompress(messages=work(25), target_tokens=TARGET),
    "through the library": lambda s: acompress(work(), target_tokens=TARGET, store=s),
}


async def by_the_loop(work: Coroutine[Any, Any, object], watch: Watch) -> bool:
    """Whether asyncio cancelled the task, as `asyncio.timeout` does."""
    task = asyncio.create_task(work)
    watch.cancel = task.cancel
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
    return task.cancelled()


async def by_a_scope(work: Coroutine[Any, Any, object], watch: Watch) -> bool:
    """Whether a scope was left early, as `anyio.fail_after` does."""
    done = False
    with anyio.CancelScope() as scope:
        watch.cancel = scope.cancel
        await work
        await anyio.lowlevel.checkpoint()
        done = True
    return not done


Cancelling: TypeAlias = Callable[[Coroutine[Any, Any, object], Watch], Awaitable[bool]]


def without_times(found: dict[str, bytes]) -> dict[str, str]:
    """What two runs have in common: names and contents, but for times."""
    time = re.compile(r'\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\dZ|(?<="crc32":")[0-9a-f]{8}')
    return {time.sub("", name): time.sub("", data.decode()) for name, data in found.items()}


def opened(folder: Path, watch: Watch | None = None) -> Session:
    watch = watch or Watch()
    return Session(
        folder, "s", settings=SETTINGS, counter=watch.count, summarizer=Model(watch),
        on_event=watch.hear,
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a session that is over its threshold, and has been compressed before."""
    folder = tmp_path_factory.mktemp("recorded")
    session = Session(folder, "s", settings=SETTINGS, counter=lambda text: len(text) // 4)
    session.record(*work())
    session.compress(strategy="offload", force=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("cancelling", [by_the_loop, by_a_scope])
@pytest.mark.parametrize("deed", DEEDS)
async def test_cancelled_at_any_moment_a_compression_is_made_or_never_was(
    recorded: Path, tmp_path: Path, deed: str, cancelling: Cancelling
) -> None:
    before, whole, watch = files_in(recorded), tmp_path / "whole", Watch()
    shutil.copytree(recorded, whole)
    await DEEDS[deed](opened(whole, watch))
    after = without_times(files_in(whole))
    assert after != without_times(before)
    moments, left_alone = watch.telling(), 0
    assert ("waiting for the model" in watch.moments) == (deed in ASKING)

    for at in moments:
        folder, watch = tmp_path / str(at), Watch(at)
        shutil.copytree(recorded, folder)

        stopped = await cancelling(DEEDS[deed](opened(folder, watch)), watch)

        watch.over = True
        found, events = files_in(folder), watch.events
        left_alone += found == before
        assert stopped
        assert found == before or without_times(found) == after
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
    assert 0 < left_alone < len(moments)


@pytest.mark.parametrize("cancelling", [by_the_loop, by_a_scope])
@pytest.mark.parametrize("deed", DEEDS)
async def test_a_cancellation_reaches_the_call_of_the_model(
    recorded: Path, tmp_path: Path, deed: str, cancelling: Cancelling
) -> None:
    """The model answers in an hour, in the event loop of the caller."""
    shutil.copytree(recorded, folder := tmp_path / "s")
    before, here = files_in(folder), threading.get_ident()
    ended: list[str] = []

    class Slow(Model):
        async def summarize(self, request: SummaryRequest) -> SummaryReply:
            assert threading.get_ident() == here
            asyncio.get_running_loop().call_soon(watch.cancel)
            try:
                await anyio.sleep(3_600)
            except BaseException as error:
                ended.append(type(error).__name__)
                raise
            return SummaryReply(SUMMARY)

    session = opened(folder, watch := Watch())
    session.summarizer = Slow(watch)

    stopped = await cancelling(DEEDS[deed](session), watch)

    assert stopped == (deed in ASKING)
    assert ended == ["CancelledError"] * stopped
    assert (files_in(folder) == before) == stopped


async def test_cancelled_before_it_writes_a_compression_writes_nothing(
    recorded: Path, tmp_path: Path
) -> None:
    shutil.copytree(recorded, folder := tmp_path / "s")
    before, watch = files_in(folder), Watch(0)
    session = Session(folder, "s", settings=SETTINGS)

    with before_writing(lambda: watch.now("about to write")):
        stopped = await by_the_loop(session.acompress(target_tokens=TARGET), watch)

    assert stopped
    assert watch.moments == ["about to write"]
    assert without_times(files_in(folder)) != without_times(before), "it was writing already"
    with session.store.session("s").locked(timeout=0):
        pass


@pytest.mark.parametrize("cancelling", [by_the_loop, by_a_scope])
async def test_cancelled_at_any_moment_the_library_leaves_the_messages_as_they_are(
    cancelling: Cancelling,
) -> None:
    def one(messages: Messages, watch: Watch) -> Coroutine[Any, Any, Result]:
        return acompress(
            messages, target_tokens=TARGET, counter=watch.count, summarizer=Model(watch)
        )

    messages, watch = work(), Watch()
    given = json.dumps(messages)
    await one(messages, watch)
    for at in watch.telling():
        watch = Watch(at)
        assert await cancelling(one(messages, watch), watch)
        assert json.dumps(messages) == given


async def test_counting_and_compressing_hold_no_event_loop_up(tmp_path: Path) -> None:
    threads: set[int] = set()

    def count(text: str) -> int:
        threads.add(threading.get_ident())
        return len(text) // 4

    session = Session(tmp_path, "s", settings=SETTINGS, counter=count, summarizer=Model(Watch()))
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
