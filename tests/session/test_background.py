"""`Session(background=True)`: summaries beside the agent's work. The model answers when told to."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from logging import LogRecord, getLogger
from logging.handlers import QueueHandler
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import Any, Literal, TypeAlias

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from generated import Messages
from hypothesis import given, settings
from hypothesis import strategies as st
from provider import refused
from written import files_in

from context_compression import Session
from context_compression.conversation import canonical
from context_compression.errors import StoreUnwritable, SummaryError
from context_compression.session import Event
from context_compression.session.background import EARLY, latest
from context_compression.store import SessionLog
from context_compression.summaries import SummaryReply, SummaryRequest
from context_compression.testing import Run, ScriptedSummarizer, tool_step

Door: TypeAlias = Literal["prepare", "aprepare", "fit", "afit"]
DOORS: tuple[Door, ...] = ("prepare", "aprepare", "fit", "afit")
SUMMARY = "## Goal\nMove every module.\n\n## Next Steps\nGo on with the next one."
logger = getLogger("context_compression")
SECONDS = 60
"""How long a test waits for what must come before it fails."""
SMALL = {"token_budget": 10_000, "keep_recent_tokens": 1_000}


class HeldModel(ScriptedSummarizer):
    """Answers when the test lets it; `asked` gets an item whenever it is asked and must wait."""

    def __init__(self, *script: str | SummaryReply | Exception) -> None:
        super().__init__(*(script or (SUMMARY,)))
        self.asked: Queue[SummaryRequest] = Queue()
        self.cancelled = Flag()
        self._is_open = False
        self._by: list[asyncio.AbstractEventLoop] = []
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @property
    def count(self) -> int:
        """How many compressions asked, each in an event loop of its own."""
        return len({*self._by})

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self._by.append(asyncio.get_running_loop())
        if not self._is_open:
            answered = asyncio.Event()
            self._waiting.append((asyncio.get_running_loop(), answered))
            self.asked.put(request)
            try:
                await answered.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        return await super().summarize(request)

    def hold(self) -> None:
        """Let requests wait from now on."""
        self._is_open = False

    def answer(self) -> None:
        """Answer what waits, and what comes until the next `hold`."""
        self._is_open = True
        while self._waiting:
            loop, answered = self._waiting.pop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(answered.set)


def turn(n: int) -> Messages:
    """Four messages, 300 tokens together."""
    command = {"command": f"mv src/module_{n}.py lib/module_{n}.py && make part_{n}"}
    output = "\n".join(f"{line} part_{n} is being built" for line in range(40))
    return [
        {"role": "user", "content": f"Step {n}: move module_{n}."},
        *tool_step([Run(f"run{n}", "Bash", command, output)], "anthropic"),
        {"role": "assistant", "content": f"Answer {n}. It is where it should be."},
    ]


class Agent:
    """A program with a session, which sends a request after each turn.

    Its background events come to `told`, all others to `events`.
    """

    def __init__(
        self,
        folder: Path,
        model: Any,
        door: Door = "prepare",
        portal: "BlockingPortal | LoopOfEachCall | None" = None,
        **values: Any,
    ) -> None:
        self.model, self.door, self.portal = model, door, portal
        self.told: Queue[Event] = Queue()
        self.events: list[Event] = []
        self.history: list[Any] = []
        self.turns = 0
        self.session = Session(
            folder, "s", settings=SMALL | values, summarizer=model, on_event=self._tell,
            background=True,
        )  # fmt: skip

    def _tell(self, event: Event) -> None:
        if event.reason == "background":
            self.told.put(event)
        else:
            self.events.append(event)

    @property
    def used(self) -> int:
        return self.session.usage().used_tokens.upper

    @property
    def threshold(self) -> int:
        return self.session.settings.threshold_tokens

    def say(self) -> None:
        """One more turn, without a request."""
        more = turn(self.turns)
        self.turns += 1
        self.history += more
        if self.door in ("prepare", "aprepare"):
            self.session.record(*more)

    def request(self) -> list[Any]:
        """What the next request sends, which the provider must accept."""
        view = self._through_door()
        assert refused(view, "anthropic") == []
        return view

    def _through_door(self) -> list[Any]:
        if self.door == "prepare":
            return self.session.prepare()
        if self.door == "fit":
            return self.session.fit(self.history)
        assert self.portal
        if self.door == "aprepare":
            return self.portal.call(self.session.aprepare)
        return self.portal.call(self.session.afit, self.history)

    def go_on(self) -> list[Any]:
        self.say()
        return self.request()

    def go_on_until(self, tokens: float) -> list[Any]:
        """Go on until so many tokens are in use; returns what the last request sent."""
        if not self.history:  # most of the way, quickly
            for _ in range(10):
                self.say()
        view = self.go_on()
        while self.used < tokens:
            view = self.go_on()
        return view

    def go_on_until_compressed(self) -> list[Any]:
        """Go on until one more compression counts; returns what the last request sent."""
        before = len(self.compressions())
        view = self.go_on()
        while len(self.compressions()) == before:
            view = self.go_on()
        return view

    def start(self) -> Event:
        """Go on until the model is asked, and holds; returns the event of the start."""
        self.model.hold()
        self.go_on_until(EARLY * self.threshold)
        event = self.told.get(timeout=SECONDS)
        self.model.asked.get(timeout=SECONDS)
        return event

    def end(self) -> Event:
        """Let the model answer; returns the event of the end."""
        self.model.answer()
        return self.told.get(timeout=SECONDS)

    def compressions(self) -> list[dict[str, Any]]:
        return self.session.state().compressions


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    """An event loop in another thread."""
    with start_blocking_portal() as started:
        yield started


@pytest.fixture
def model() -> HeldModel:
    return HeldModel()


@pytest.fixture(params=DOORS)
def agent(
    request: pytest.FixtureRequest, tmp_path: Path, model: HeldModel, portal: BlockingPortal
) -> Agent:
    return Agent(tmp_path, model, request.param, portal)


@pytest.fixture(params=["prepare", "afit"])
def either(
    request: pytest.FixtureRequest, tmp_path: Path, model: HeldModel, portal: BlockingPortal
) -> Agent:
    return Agent(tmp_path, model, request.param, portal)


def is_archived(session: Session, messages: list[Any]) -> bool:
    """Whether every message is in the view, or restored as it came."""
    originals = {canonical(original) for _, _, original in session.archived()}
    shown = [*map(canonical, session.view())]
    return all(
        canonical(message) in shown or canonical(message) in originals for message in messages
    )


def test_no_request_waits_for_the_model(agent: Agent):
    agent.start()

    view = agent.go_on_until(agent.threshold)

    assert view == agent.history
    assert agent.model.count == 1
    assert not agent.events


def test_a_summary_that_is_ready_waits_until_it_is_due(either: Agent):
    either.start()
    either.end()

    view = either.go_on()

    assert either.used < either.threshold
    assert view == either.history
    assert not either.compressions()


def test_a_summary_is_written_when_it_is_due_and_messages_that_came_meanwhile_stay(agent: Agent):
    agent.start()
    meanwhile = len(agent.history)
    agent.end()

    view = agent.go_on_until_compressed()

    assert agent.model.count == 1
    assert "Move every module." in canonical(view[0])
    assert view[-(len(agent.history) - meanwhile) :] == agent.history[meanwhile:]
    assert agent.used < agent.threshold / 2
    assert is_archived(agent.session, agent.history)
    assert agent.session.undo() == agent.history


def test_the_record_does_not_change_between_start_and_swap(either: Agent):
    either.start()
    before = either.session.log.events().items

    either.end()

    assert either.session.log.events().items == before


def test_a_summary_that_comes_late_is_written_by_the_first_request_after_it(either: Agent):
    either.start()
    either.go_on_until(either.threshold)
    either.end()

    view = either.go_on()

    assert "Move every module." in canonical(view[0])
    assert [(e.kind, e.reason) for e in either.events] == [
        ("start", "threshold"),
        ("end", "threshold"),
    ]
    assert either.events[1].tokens_after == int(either.session.usage().used_tokens)


def test_one_conversation_has_many_summaries_one_after_the_other(either: Agent):
    for _ in range(3):
        either.start()
        either.end()
        either.go_on_until_compressed()

    assert either.model.count == 3
    assert {event.strategy for event in either.events if event.kind == "end"} == {"summarize"}
    assert is_archived(either.session, either.history)


def test_a_request_that_would_not_fit_is_compressed_without_the_model(agent: Agent):
    agent.start()

    while not agent.compressions():
        agent.go_on()
        assert agent.used <= agent.session.settings.token_budget

    assert agent.model.count == 1
    assert agent.model.cancelled.wait(SECONDS)
    assert agent.compressions()[0]["strategy"] in ("offload", "truncate", "extract")
    assert agent.told.get(timeout=SECONDS).error == "cancelled"
    assert is_archived(agent.session, agent.history)


@pytest.mark.parametrize("summarizer", [True, False])
def test_what_is_said_of_a_missing_summary_is_true(
    tmp_path: Path, model: HeldModel, summarizer: bool, caplog: pytest.LogCaptureFixture
):
    """The settings name `summarize`, and the request has no room to wait for the summarizer."""
    session = Session(
        tmp_path / "store",
        "s",
        settings={**SMALL, "strategy": "summarize"},
        summarizer=model if summarizer else None,
        background=True,
    )
    history: Messages = []
    while not session.state().compressions:
        history += [
            {"role": "user", "content": f"Step {len(history)}: " + "go on with src/app.py " * 40},
            {"role": "assistant", "content": "done, all is well in it " * 40},
        ]
        session.fit(history)
    session.close()

    assert ("nobody is there" in caplog.text) is not summarizer
    assert ("had no room to wait" in caplog.text) is summarizer


def test_a_request_is_sent_as_it_is_while_half_of_the_room_above_the_threshold_is_free(
    either: Agent,
):
    either.start()

    while either.used + 400 < latest(either.session.settings):
        view = either.go_on()
        assert view == either.history

    assert either.used >= either.threshold


def test_a_session_that_wants_a_summary_or_nothing_is_not_compressed_without_one(
    tmp_path: Path, model: HeldModel
):
    agent = Agent(tmp_path, model, on_summary_failure="skip")
    agent.start()

    view = agent.go_on_until(agent.session.settings.token_budget)

    assert view == agent.history
    assert model.count == 1


def test_a_long_message_that_crosses_the_threshold_at_once_starts_a_summary(
    tmp_path: Path, model: HeldModel
):
    agent = Agent(tmp_path, model)
    while agent.used < agent.threshold:
        agent.say()

    assert agent.request() == agent.history
    model.asked.get(timeout=SECONDS)


def test_triggers_of_many_threads_start_one_summary(tmp_path: Path, model: HeldModel):
    agent = Agent(tmp_path, model)
    while agent.used < agent.threshold:
        agent.say()

    with ThreadPoolExecutor(8) as threads:
        running = [threads.submit(agent.session.prepare) for _ in range(16)]
        views = [each.result(SECONDS) for each in running]

    model.asked.get(timeout=SECONDS)
    agent.session.close()
    assert all(view == agent.history for view in views)
    assert model.count == 1


def test_two_sessions_of_one_store_start_one_summary(either: Agent, tmp_path: Path):
    either.start()
    other = Agent(tmp_path, either.model)

    other.request()
    other.session.close()

    assert either.model.count == 1
    assert other.told.empty()


def test_no_summary_starts_while_another_session_compresses(tmp_path: Path, model: HeldModel):
    agent = Agent(tmp_path, model)
    while agent.used < EARLY * agent.threshold:
        agent.say()
    with Session(tmp_path, "s").log.locked():
        agent.request()
        agent.session.close()

    assert model.count == 0


def test_a_session_prepares_when_the_other_one_is_done(tmp_path: Path, model: HeldModel):
    first, second = Agent(tmp_path, model), Agent(tmp_path, model)
    first.start()
    second.request()
    first.session.close()

    second.history, second.turns = first.history, first.turns
    while model.asked.empty():
        second.go_on()

    assert model.count == 2


@pytest.mark.parametrize("edit", ["edited", "branched"])
@pytest.mark.parametrize("door", ["fit", "afit"])
def test_a_summary_of_a_history_that_changed_is_thrown_away(
    tmp_path: Path, model: HeldModel, portal: BlockingPortal, door: Door, edit: str
):
    agent = Agent(tmp_path, model, door, portal)
    agent.start()
    agent.end()

    if edit == "edited":
        agent.history[1:2] = [{**agent.history[1], "content": "Never mind."}]
        del agent.history[2]
    else:
        del agent.history[len(agent.history) // 8 * 4 :]
    view = agent.go_on_until(0.9 * agent.threshold)

    assert view == agent.history
    assert not agent.compressions()


def test_a_running_summary_of_a_history_that_changed_is_cancelled(tmp_path: Path, model: HeldModel):
    agent = Agent(tmp_path, model, "fit")
    agent.start()

    del agent.history[8:]
    agent.request()

    assert model.cancelled.wait(SECONDS)
    assert agent.told.get(timeout=SECONDS).aborted


def test_a_summary_that_an_undo_makes_outdated_is_thrown_away(tmp_path: Path, model: HeldModel):
    agent = Agent(tmp_path, model)
    for _ in range(8):
        agent.say()
    agent.session.compress(strategy="extract", target_tokens=1_500)
    agent.start()

    agent.session.undo()
    agent.request()

    assert model.cancelled.wait(SECONDS)


def test_a_history_that_is_edited_each_time_does_not_ask_the_model_each_time(
    tmp_path: Path, model: HeldModel
):
    agent = Agent(tmp_path, model, "fit")
    agent.start()

    for number in range(20):
        agent.history[0] = {"role": "user", "content": f"It is {number} o'clock."}
        agent.request()

    agent.session.close()
    assert model.count == 1


def test_the_callers_own_compression_ends_what_is_prepared(tmp_path: Path, model: HeldModel):
    agent = Agent(tmp_path, model)
    agent.start()

    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(agent.session.compress, target_tokens=3_000, strategy="summarize")
        assert model.cancelled.wait(SECONDS)
        model.asked.get(timeout=SECONDS)
        model.answer()
        assert result.result(SECONDS).strategy == "summarize"

    assert model.count == 2
    assert agent.told.get(timeout=SECONDS).error == "cancelled"


@pytest.mark.parametrize("failure", [SummaryError("overloaded"), RuntimeError("overloaded")])
def test_a_summary_that_fails_is_told_once_and_replaced(agent: Agent, failure: Exception):
    agent.model.script = (failure,)
    agent.start()

    end = agent.end()

    assert end.error
    assert "overloaded" in end.error
    assert not end.aborted
    [warning] = [w for w in agent.session.status().warnings if "overloaded" in w]
    assert "in the background" in warning
    agent.go_on_until_compressed()
    assert agent.compressions()[0]["strategy"] == "extract"
    assert agent.model.count == 1
    assert agent.told.empty()


def test_a_summary_that_fails_where_nothing_may_replace_it_is_asked_for_again_later(tmp_path: Path):
    model = HeldModel(SummaryError("overloaded"))
    agent = Agent(tmp_path, model, on_summary_failure="skip")
    agent.start()

    end = agent.end()
    for _ in range(10):
        agent.request()

    assert end.aborted
    assert model.count == 1
    asked_at = agent.used
    model.hold()
    agent.go_on_until(1.2 * asked_at)
    model.asked.get(timeout=SECONDS)
    agent.session.close()
    assert model.count == 2


def test_the_cost_of_a_summary_is_told_once(tmp_path: Path):
    model = HeldModel(SummaryReply(SUMMARY, "m", input_tokens=900, output_tokens=40, cost=0.25))
    agent = Agent(tmp_path, model)
    agent.start()

    end = agent.end()
    agent.go_on_until_compressed()

    assert end.cost == 0.25 * len(model.requests)
    assert [event.cost for event in agent.events] == [None, None]
    assert agent.session.status().savings.cost == end.cost


def test_the_start_is_told_in_another_thread_and_before_the_model_is_asked(either: Agent):
    start = either.start()
    end = either.end()

    assert (start.kind, start.reason, start.session) == ("start", "background", "s")
    assert start.tokens_before <= either.used
    assert (end.kind, end.strategy, end.aborted) == ("end", "summarize", False)
    assert end.tokens_after < start.tokens_before / 2


def test_a_summary_in_the_system_prompt_is_there_when_it_is_due(tmp_path: Path, model: HeldModel):
    agent = Agent(tmp_path, model, summary_role="system")
    agent.session.system = "You are careful."
    agent.start()
    agent.end()
    agent.session.system = "You are brief."

    before = agent.session.system
    agent.go_on_until_compressed()

    assert before == "You are brief."
    assert agent.session.system.startswith("You are brief.")
    assert "Move every module." in agent.session.system


def test_a_window_that_is_due_by_its_turns_is_prepared_by_one_request_for_the_next(tmp_path: Path):
    agent = Agent(tmp_path, None, strategy="window", keep_recent=2)
    while not agent.session.is_due():
        agent.say()

    assert agent.used < EARLY * agent.threshold
    assert agent.request() == agent.history
    assert [agent.told.get(timeout=SECONDS).kind for _ in range(2)] == ["start", "end"]
    agent.request()
    assert agent.compressions()[0]["strategy"] == "window"


def test_without_a_model_a_compression_is_prepared_as_well(either: Agent):
    either.session.summarizer = None
    either.go_on_until(EARLY * either.threshold)

    assert either.told.get(timeout=SECONDS).kind == "start"
    assert either.told.get(timeout=SECONDS).strategy != "none"
    either.go_on_until_compressed()
    assert either.used < either.threshold
    assert is_archived(either.session, either.history)


def test_a_session_that_never_compresses_prepares_nothing(tmp_path: Path, model: HeldModel):
    agent = Agent(tmp_path, model, auto_compress=False)
    agent.go_on_until(agent.threshold)

    agent.session.close()

    assert model.count == 0


def close(agent: Agent) -> None:
    agent.session.close()


def leave(agent: Agent) -> None:
    with agent.session:
        pass


def aclose(agent: Agent) -> None:
    async def left() -> None:
        async with agent.session:
            pass

    assert agent.portal
    agent.portal.call(left)


@pytest.mark.parametrize("end", [close, leave, aclose])
def test_a_session_that_is_closed_cancels_and_leaves_nothing(
    agent: Agent, end: Callable[[Agent], None]
):
    agent.start()
    before = files_in(agent.session.store.folder)

    end(agent)

    assert agent.model.cancelled.is_set()
    assert agent.told.get(timeout=SECONDS).aborted
    assert files_in(agent.session.store.folder) == before
    with agent.session.log.preparing(0):
        pass


def test_a_closed_session_compresses_in_the_request_again(tmp_path: Path):
    agent = Agent(tmp_path, ScriptedSummarizer(SUMMARY))
    agent.session.close()

    view = agent.go_on_until_compressed()

    assert "Move every module." in canonical(view[0])
    assert agent.told.empty()


def test_a_session_that_nobody_holds_cancels_its_summary(tmp_path: Path, model: HeldModel):
    session = Session(tmp_path, "s", settings=SMALL, summarizer=model, background=True)
    while session.usage().used_tokens.upper < EARLY * session.settings.threshold_tokens:
        session.record(*turn(0))
    session.prepare()
    model.asked.get(timeout=SECONDS)

    del session
    gc.collect()

    assert model.cancelled.wait(SECONDS)


class LoopOfEachCall:
    """Runs each call in an event loop of its own, as programs without one of their own do."""

    def call(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        return asyncio.run(function(*arguments))


@pytest.mark.parametrize("door", ["aprepare", "afit"])
def test_where_each_request_has_its_own_event_loop_a_preparation_outlives_it(
    tmp_path: Path, model: HeldModel, door: Door
):
    agent = Agent(tmp_path, model, door, LoopOfEachCall())
    model.hold()
    agent.go_on_until(EARLY * agent.threshold)

    agent.request()
    model.asked.get(timeout=SECONDS)
    model.answer()
    while agent.told.get(timeout=SECONDS).strategy != "summarize":
        pass

    view = agent.go_on_until_compressed()
    assert "Move every module." in canonical(view[0])
    assert agent.compressions()[0]["strategy"] == "summarize"


class Quits:
    """Ends the program, directly or from a task."""

    def __init__(self, error: BaseException, *, in_task: bool) -> None:
        self.error, self.in_task, self.calls = error, in_task, 0

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.calls += 1
        if self.in_task:
            await asyncio.create_task(self._quit())
        return await self._quit()

    async def _quit(self) -> SummaryReply:
        raise self.error


@pytest.mark.parametrize("in_task", [False, True])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_a_summarizer_that_quits_fails_like_any_other(
    tmp_path: Path, error: BaseException, in_task: bool, capfd: pytest.CaptureFixture[str]
):
    model, logged = Quits(error, in_task=in_task), Queue[LogRecord]()
    agent = Agent(tmp_path, model)
    logger.addHandler(handler := QueueHandler(logged))
    agent.go_on_until(EARLY * agent.threshold)

    agent.told.get(timeout=SECONDS)
    assert agent.told.get(timeout=SECONDS).error
    logged.get(timeout=SECONDS)
    logger.removeHandler(handler)
    [warning] = agent.session.status().warnings
    assert type(error).__name__ in warning
    calls = model.calls
    for _ in range(5):
        agent.request()
    agent.session.close()
    assert model.calls == calls
    assert "Traceback" not in capfd.readouterr().err


def test_a_disk_that_is_full_when_a_summary_is_due_is_an_error_that_changes_nothing(
    tmp_path: Path, model: HeldModel, monkeypatch: pytest.MonkeyPatch
):
    agent = Agent(tmp_path, model)
    agent.start()
    agent.end()
    while agent.used < agent.threshold:
        agent.say()

    def full(*_: object) -> str:
        raise StoreUnwritable("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(SessionLog, "write_originals", full)
        with pytest.raises(StoreUnwritable):
            agent.session.prepare()

    assert agent.events[-1].aborted
    assert agent.session.view() == agent.history


PROGRAM = """
import sys
from context_compression import Session

class Hangs:
    async def summarize(self, request):
        import asyncio
        print("asked", flush=True)
        await asyncio.Event().wait()

session = Session(sys.argv[1], "s", settings={settings!r}, summarizer=Hangs(), background=True)
session.prepare()
sys.stdin.readline()
"""


def test_a_program_ends_while_a_summary_hangs_and_another_process_starts_none(
    tmp_path: Path, model: HeldModel
):
    agent = Agent(tmp_path, model)
    while agent.used < EARLY * agent.threshold:
        agent.say()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(settings=SMALL), str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        assert program.stdout
        assert program.stdout.readline() == "asked\n"
        before = files_in(tmp_path)

        agent.request()
        agent.session.close()
        _, errors = program.communicate("\n", timeout=SECONDS)

    assert model.count == 0
    assert (program.returncode, errors) == (0, "")
    assert files_in(tmp_path) == before
    with agent.session.log.preparing(0):
        pass


SELDOM = ["hold", "edit", "branch", "undo", "compress"]
ACTIONS = st.lists(
    st.sampled_from([*["go on"] * 8, *["answer"] * 4, *SELDOM]), min_size=20, max_size=40
)


@pytest.mark.slow
@given(ACTIONS)
@settings(max_examples=8)
def test_whatever_happens_meanwhile_views_are_valid_and_nothing_is_lost(actions: list[str]):
    with TemporaryDirectory() as folder, ExitStack() as closing:
        model = HeldModel()
        agent = Agent(Path(folder), model, "fit")
        closing.callback(agent.session.close)
        agent.go_on_until(0.7 * agent.threshold)

        for action in actions:
            match action:
                case "answer":
                    model.answer()
                    with agent.session.log.preparing(SECONDS):
                        pass  # what was being prepared is ready
                case "hold":
                    model.hold()
                case "edit":
                    agent.history[0] = {"role": "user", "content": f"At {len(agent.history)}."}
                case "branch":
                    del agent.history[-4:]
                case "undo" if agent.compressions():
                    agent.session.undo()
                case "compress":
                    Session(folder, "s", settings=SMALL).compress(force=True)
                case _:
                    agent.say()
            agent.request()
            assert is_archived(agent.session, agent.history)
