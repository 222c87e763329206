"""When a session compresses, when it does not again, and who waits for whom."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from generated import Messages
from provider import refused, result_ids
from written import ASK, MORE, TELL, talk

from context_compression import Session, compress, count_tokens
from context_compression.compression import SETTLED
from context_compression.errors import StoreError
from context_compression.session import GROWTH, Event
from context_compression.summaries import SummaryReply, SummaryRequest
from context_compression.testing import Run, ScriptedSummarizer, tool_step
from context_compression.threads import before_writing

TOO_LONG = "prompt is too long: 213462 tokens > 200000 maximum"
SUMMARY = "## Goal\nAnswer every question."


class Told:
    """A session that is over its threshold; the events it told of, and `order` what came when."""

    def __init__(self, folder: Path, messages: Messages, **settings: Any) -> None:
        self.events: list[Event] = []
        self.order: list[str] = []
        self.session = Session(
            folder, "s", settings={"token_budget": count_tokens(messages), **settings},
            on_event=self._tell,
        )  # fmt: skip
        self.session.record(*messages)

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        self.order.append(event.kind)

    @property
    def ended(self) -> list[Event]:
        return [event for event in self.events if event.kind == "end"]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path, talk(40))


@pytest.fixture
def stuffed(tmp_path: Path) -> Told:
    """Nearly all of it is a system message, which no compression may touch."""
    system = {"role": "system", "content": "Why is this so? " * 2_000}
    return Told(tmp_path, [system, ASK, TELL, {"role": "user", "content": "Go on. " * 20}])


def test_start_and_end_of_what_was_due_are_told_with_reason_and_tokens(told: Told) -> None:
    before = int(told.session.status().usage.used_tokens)

    view = told.session.prepare()

    start, end = told.events
    assert start == Event("start", "threshold", before, session="s")
    after, strategy = int(count_tokens(view)), told.session.state().compressions[0]["strategy"]
    assert end == Event("end", "threshold", before, after, session="s", strategy=strategy)
    assert told.session.prepare() == view == told.session.view()
    assert count_tokens(view) <= told.session.settings.target_tokens
    assert len(told.events) == 2


def test_an_on_event_that_fails_stops_no_compression(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise ValueError(f"cannot show {event.kind}")

    told.session.on_event = fail
    result = told.session.compress(strategy="extract", target_tokens=2_000)

    assert result.changed
    assert told.session.view() == result.messages
    assert caplog.text.count("on_event failed") == 1
    assert "session s: on_event failed: cannot show start" in caplog.text


def test_a_summarys_end_tells_what_it_cost_and_from_where_on_all_was_kept(told: Told) -> None:
    model = told.session.summarizer = ScriptedSummarizer(SummaryReply(SUMMARY, cost=0.25))

    told.session.prepare()

    end = told.events[-1]
    (event,) = told.session.state().compressions
    assert end.cost == 0.25 * len(model.requests)
    assert end.usage
    assert end.usage["cost"] == end.cost
    assert end.usage["input_tokens"] == 0
    assert end.first_kept == event["first_kept_index"]
    assert told.session.view()[2:] == talk(40)[end.first_kept :]


def test_a_compression_asked_for_by_hand_is_told_as_such(told: Told) -> None:
    told.session.compress(target_tokens=1_500)

    assert [(event.kind, event.reason) for event in told.events] == [
        ("start", "manual"), ("end", "manual"),
    ]  # fmt: skip
    assert not told.events[1].will_retry


def test_one_that_fails_is_told_as_aborted_with_its_reason(told: Told) -> None:
    def stop() -> None:
        raise InterruptedError("the user pressed Escape")

    with pytest.raises(InterruptedError), before_writing(stop):
        told.session.compress(target_tokens=1_500)

    end = told.events[-1]
    assert end.aborted
    assert end.tokens_after == end.tokens_before
    assert end.error == "the user pressed Escape"


def test_off_means_that_nothing_is_compressed_unasked(tmp_path: Path) -> None:
    told = Told(tmp_path, talk(40), auto_compress=False)

    assert told.session.prepare() == talk(40)
    assert told.session.recover(TOO_LONG) is None
    assert told.events == []
    assert told.session.compress(target_tokens=1_500).changed


def test_what_did_not_help_is_not_tried_again_before_the_conversation_has_grown(
    stuffed: Told,
) -> None:
    tokens = int(stuffed.session.status().usage.used_tokens)
    stuffed.session.prepare()
    assert len(stuffed.ended) == 1
    assert stuffed.ended[0].tokens_after >= stuffed.session.settings.threshold_tokens

    for _ in range(3):
        stuffed.session.record({"role": "assistant", "content": "word " * int(0.01 * tokens)})
        stuffed.session.prepare()
    assert len(stuffed.ended) == 1
    stuffed.session.record({"role": "assistant", "content": "word " * int(0.04 * tokens)})
    stuffed.session.prepare()

    assert len(stuffed.ended) == 2


def text(tokens: float, mark: str = "") -> str:
    """About so many tokens."""
    line = f"{mark} is what it is, and nobody can say why.\n"
    return line * round(100 * tokens / count_tokens(line * 100))


class Worked(Told):
    """A session in which a question is answered in tool steps, and every request it led to.

    Args:
        folder: of its store.
        question: tokens.
        output: tokens of what each tool says.
        steps: how many there are.
        settings: more of them.
    """

    def __init__(
        self, folder: Path, question: float, output: int, steps: int, **settings: Any
    ) -> None:
        asked = {"role": "user", "content": text(question)}
        super().__init__(folder, [asked], token_budget=BUDGET, **settings)
        self.requests = [self.session.prepare()]
        for n in range(steps):
            run = Run(f"c{n}", "Bash", {"command": f"make {n}"}, text(output, f"out_{n}"))
            self.session.record(*tool_step([run], "anthropic"))
            self.requests.append(self.session.prepare())


BUDGET, THRESHOLD = 20_000, 14_545
"""The threshold is 0.8 of the budget, less the doubt of a count."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "output"),
    [(0.01, 600), (0.01, 1_500), (0.01, 8_000), (0.9, 300), (0.98, 150), (1.1, 300)],
)
def test_between_compressions_requests_only_grow_and_each_follows_much_growth(
    question: float, output: int, tmp_path: Path
) -> None:
    worked = Worked(tmp_path, question * THRESHOLD, output, 30)

    rewritten = sum(before != after[: len(before)] for before, after in pairwise(worked.requests))
    assert rewritten <= len(worked.ended)
    recorded = int(count_tokens(worked.session.state().recorded))
    assert 1 <= len(worked.ended) <= 1 + recorded / (0.047 * THRESHOLD)
    for before, after in pairwise(worked.ended):
        assert after.tokens_before > GROWTH * before.tokens_after


def test_below_the_threshold_nothing_is_rewritten_however_much_that_would_free(
    tmp_path: Path,
) -> None:
    worked = Worked(tmp_path, 100, 1_500, 8)

    assert worked.session.status().could_free > 0.2 * THRESHOLD
    assert worked.ended == []
    assert worked.requests[-1] == worked.session.state().recorded


def test_what_is_due_takes_all_large_results_before_the_tail_at_once(tmp_path: Path) -> None:
    worked = Worked(tmp_path, 100, 1_500, 10)
    whole = worked.session.state().recorded

    by_hand = compress(whole, target_tokens=worked.session.settings.target_tokens)

    (compression,) = worked.session.state().compressions
    assert len(compression["compressed"]) > by_hand.messages_compressed
    kept = [index for index in range(2, len(whole), 2) if index not in compression["compressed"]]
    assert int(count_tokens(whole[kept[0] :])) < 2 * worked.session.settings.recent_tokens


def test_the_next_compression_leaves_the_views_beginning_to_the_prompt_cache(
    tmp_path: Path,
) -> None:
    worked = Worked(tmp_path, 100, 600, 60, target_usage=0.5)  # as set, each has the same room

    quarter = SETTLED * worked.session.settings.target_tokens
    rewrites = [(a, b) for a, b in pairwise(worked.requests) if a != b[: len(a)]]
    assert len(rewrites) == len(worked.ended) > 3
    kept: list[Messages] = []
    for before, _ in rewrites[1:]:  # whole tool steps
        stops = (n for n, message in enumerate(before) if not result_ids(message))
        kept.append(before[: max(n for n in stops if count_tokens(before[:n]) <= quarter)])
    assert all(after[: len(k)] == k for k, (_, after) in zip(kept, rewrites[1:], strict=True))
    assert max(map(len, kept)) > 1


def test_what_is_recorded_is_compressed_as_deep_as_a_history_that_a_program_keeps(
    tmp_path: Path,
) -> None:
    worked = Worked(tmp_path / "recorded", 100, 600, 40)

    fitting = Told(tmp_path / "passed", [], token_budget=BUDGET)
    history = worked.session.state().recorded
    for end in range(1, len(history) + 1, 2):
        fitting.session.fit(history[:end])
    sizes = [[(e.tokens_before, e.tokens_after) for e in each.ended] for each in (worked, fitting)]
    assert sizes[0] == sizes[1]
    assert all(after < 0.25 * BUDGET for _, after in sizes[0])


def test_what_a_compression_left_does_not_count_after_a_rewind(tmp_path: Path) -> None:
    worked = Worked(tmp_path, 1.2 * THRESHOLD, 300, 0)
    assert len(worked.ended) == 1

    worked.session.follow(talk(1))
    worked.session.prepare()
    worked.session.record({"role": "user", "content": text(1.05 * THRESHOLD)})
    worked.session.prepare()

    assert len(worked.ended) == 2


def test_what_failed_is_not_tried_again_before_the_conversation_has_grown(told: Told) -> None:
    summaries = told.session.store.folder / "summaries.json"
    summaries.write_text("not json", "utf-8")
    told.session.summarizer = ScriptedSummarizer(SUMMARY)
    with pytest.raises(StoreError):
        told.session.prepare()

    assert told.session.prepare() == talk(40)
    assert len(told.ended) == 1
    told.session.record(*talk(6))
    summaries.unlink()

    assert told.session.prepare() != talk(40)
    assert [event.aborted for event in told.ended] == [True, False]


def test_a_refused_request_is_retried_once_until_the_model_answers(told: Told) -> None:
    smaller = told.session.recover(TOO_LONG)

    assert smaller is not None
    assert smaller == told.session.view()
    assert count_tokens(smaller) <= count_tokens(talk(40)) // 2
    assert [(event.reason, event.will_retry) for event in told.ended] == [("overflow", True)]
    assert told.session.recover(TOO_LONG) is None
    assert len(told.ended) == 1

    told.session.record({"role": "assistant", "content": "An answer at last."}, *talk(20))
    again = told.session.recover(TOO_LONG)

    assert again is not None
    assert count_tokens(again) < count_tokens(smaller) + count_tokens(talk(20))
    assert len(told.ended) == 2


def test_what_the_user_says_does_not_count_as_an_answer(told: Told) -> None:
    assert told.session.recover(TOO_LONG) is not None

    told.session.record(MORE)

    assert told.session.recover(TOO_LONG) is None


@pytest.mark.parametrize(
    "error",
    [
        "429 rate limit exceeded: 30,000 input tokens per minute",
        "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens",
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ConnectionError("connection reset by peer"),
    ],
)
def test_other_errors_are_not_recovered_from_and_do_not_use_up_the_retry(
    told: Told, error: Any
) -> None:
    assert told.session.recover(error) is None
    assert told.events == []
    assert told.session.recover(TOO_LONG) is not None


def test_what_cannot_get_any_smaller_is_not_retried(stuffed: Told) -> None:
    stuffed.session.prepare()
    before = stuffed.session.view()

    assert stuffed.session.recover(TOO_LONG) is None
    assert stuffed.session.view() == before
    assert not stuffed.ended[-1].will_retry


class Slow:
    """Writes its summary when it is told to."""

    def __init__(self) -> None:
        self.asked, self.go_on = anyio.Event(), anyio.Event()
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary, in a while."""
        self.requests.append(request)
        self.asked.set()
        await self.go_on.wait()
        return SummaryReply(SUMMARY)


@pytest.mark.anyio
async def test_two_sessions_of_the_same_conversation_compress_one_after_the_other(
    tmp_path: Path,
) -> None:
    first, second = (Session(tmp_path, "s", summarizer=Slow()) for _ in range(2))
    first.record(*talk(40))
    slow, other = first.summarizer, second.summarizer
    assert isinstance(slow, Slow)
    assert isinstance(other, Slow)

    async def again() -> None:
        result = await second.acompress(strategy="summarize", target_tokens=1_500)
        assert not result.changed
        assert result.notes == ("already within the target",)

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: first.acompress(strategy="summarize", target_tokens=1_500))
        await slow.asked.wait()
        group.start_soon(again)
        await anyio.lowlevel.checkpoint()
        slow.go_on.set()

    assert len(slow.requests) == 1
    assert other.requests == []
    assert first.status().compressions == 1


@pytest.mark.anyio
async def test_what_is_recorded_while_a_summary_is_written_is_kept(tmp_path: Path) -> None:
    slow = Slow()
    session = Session(tmp_path, "s", summarizer=slow)
    call, results = tool_step([Run("a", "Bash", {"command": "make"}, "ok")], "anthropic")
    session.record(*talk(40), MORE, call)

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: session.acompress(strategy="summarize", target_tokens=1_500))
        await slow.asked.wait()
        Session(tmp_path, "s").record(results, TELL)
        session.record(MORE)
        slow.go_on.set()

    view = session.view()
    assert session.status().compressions == 1
    assert view[-5:] == [MORE, call, results, TELL, MORE]
    assert refused(view, "anthropic") == []
    assert session.undo() == [*talk(40), MORE, call, results, TELL, MORE]


SUMMARIZING = """
import sys
from context_compression import Session
from context_compression.testing import ScriptedSummarizer
session = Session(sys.argv[1], "s", summarizer=ScriptedSummarizer())
for target in map(int, sys.argv[2:]):
    session.record({"role": "user", "content": f"for {target}"})
    session.compress(strategy="summarize", target_tokens=target)
"""


@pytest.mark.slow
def test_processes_that_summarise_the_same_conversation_take_turns(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*talk(60))

    def start(*targets: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", SUMMARIZING, str(tmp_path), *targets],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    with ThreadPoolExecutor() as pool:
        done = list(pool.map(start, ("4000", "2000"), ("3000", "1500")))

    assert [child.stderr for child in done] == ["", ""]
    view = session.view()
    assert sum("<summary>" in str(message["content"]) for message in view) == 1
    assert refused(view, "anthropic") == []
    while session.status().compressions:
        session.undo()
    assert session.view()[:120] == talk(60)
    said = {message["content"] for message in session.view()[120:]}
    assert said == {"for 4000", "for 2000", "for 3000", "for 1500"}
    assert session.store.verify() == []
