"""`Session.fit` refuses nothing: what fails is told, and the request goes out."""

import asyncio
import json
import logging
from functools import reduce
from pathlib import Path
from typing import Any, cast

import pytest
from full_disk import a_disk_that_takes
from provider import refused
from written import SMALL, begin, broken_prefixes, build, built

from context_compression import Session, count_tokens, restore_tool
from context_compression.conversation import ref_of
from context_compression.session.fit import Fitting
from context_compression.testing import Run, ScriptedSummarizer, said_by_user, tool_step


def test_on_a_full_disk_the_requests_go_on_from_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    session = Session(tmp_path / "store", "s", settings=SMALL)
    history, requests = built(3), list[list[Any]]()
    requests.append(session.fit(history))

    with a_disk_that_takes(0), caplog.at_level(logging.WARNING):
        for number in range(3, 30):
            history += build(number)
            requests.append(session.fit(history))

    assert all(refused(request, "openai") == [] for request in requests)
    assert all(count_tokens(request) < SMALL.token_budget for request in requests)
    assert requests[-1][-1] is history[-1]
    assert 1 < broken_prefixes(requests) < 15
    told = [warning for warning in session.status().warnings if "without the store" in warning]
    assert len(told) == len(caplog.records) == 1
    assert "context_restore" not in json.dumps(requests[-1][len(requests[0]) :])

    history += build(30)
    assert count_tokens(session.fit(history)) < SMALL.token_budget
    assert session.state().recorded == history


def test_a_store_that_never_works_loses_no_request(tmp_path: Path):
    (tmp_path / "store").write_text("a file stands where the folder should be", "utf-8")
    session = Session(tmp_path / "store", "s", settings=SMALL)
    history = begin()
    for number in range(10):
        history += build(number)

        view = session.fit(history)

        assert view[-1] is history[-1]
        assert refused(view, "openai") == []
        assert count_tokens(view) < SMALL.token_budget


@pytest.mark.parametrize("how", ["a file", "open to others"])
def test_in_an_event_loop_a_store_that_cannot_be_used_is_not_waited_for(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
):
    session = Session(tmp_path / "store", "s", settings=SMALL)
    if how == "a file":
        (tmp_path / "store").write_text("it stands where the folder should be", "utf-8")
    else:
        (tmp_path / "store").mkdir()
        (tmp_path / "store").chmod(0o777)
    history = built(10)

    view = asyncio.run(asyncio.wait_for(session.afit(history), timeout=60))

    assert view[-1] is history[-1]
    assert count_tokens(view) < SMALL.token_budget
    assert "without the store" in caplog.text


@pytest.mark.parametrize(
    "damage",
    [b'{"type": "session", "version": 999}\n', b"\x00\xff not a log\n", b"", "folder"],
    ids=["newer", "garbage", "empty", "folder"],
)
def test_a_damaged_session_stops_no_request(tmp_path: Path, damage: Any):
    session = Session(tmp_path, "s", settings=SMALL)
    session.fit(history := built(10))
    log = tmp_path / "sessions/s/events.jsonl"
    if damage == "folder":
        log.unlink()
        log.mkdir()
    else:
        log.write_bytes(damage)

    for each in (session, Session(tmp_path, "s", settings=SMALL)):
        view = each.fit(history := [*history, *build(len(history))])

        assert view[-1]["tool_call_id"] == history[-1]["tool_call_id"]
        assert refused(view, "openai") == []
        assert count_tokens(view) < SMALL.token_budget


def test_in_an_event_loop_the_plain_function_asks_no_model(tmp_path: Path):
    writer = ScriptedSummarizer("## Goal\nFix the build.")
    session = Session(tmp_path, "s", settings=SMALL, summarizer=writer)

    async def agent() -> list[Any]:
        return session.fit(built(12))

    view = asyncio.run(agent())

    assert count_tokens(view) < SMALL.token_budget
    assert refused(view, "openai") == []
    assert writer.requests == []
    assert any("afit" in warning for warning in session.status().warnings)
    assert session.state().compressions


@pytest.mark.parametrize("often", [1, 9])
def test_another_process_that_records_meanwhile_stops_no_request(tmp_path: Path, often: int):
    other = Session(tmp_path, "s")
    came = iter(range(often))

    def record_beside(event: Any) -> None:
        if event.kind == "start" and (number := next(came, None)) is not None:
            other.record(said_by_user(f"From another process, {number}.", "openai"))

    session = Session(tmp_path, "s", settings=SMALL, on_event=record_beside)
    history = built(12)

    view = session.fit(history)

    assert view[-1] == history[-1]
    assert count_tokens(view) < SMALL.token_budget
    assert "From another process" not in json.dumps(view)
    assert session.state().recorded[: len(history)] == history


def test_a_failing_compression_is_made_in_memory_until_one_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    session = Session(tmp_path, "s", settings=SMALL)
    history, requests = begin(), list[list[Any]]()

    def fail(*arguments: Any, **options: Any) -> str:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr("context_compression.store.SessionLog.write_originals", fail)
        for number in range(20):
            history += build(number)
            requests.append(session.fit(history))
    assert session.state().compressions == []
    assert session.state().recorded == history
    for number in range(20, 23):
        history += build(number)
        requests.append(session.fit(history))

    assert all(count_tokens(request) < SMALL.token_budget for request in requests)
    assert all(refused(request, "openai") == [] for request in requests)
    assert session.state().compressions
    assert session.state().recorded == history


CYCLE: dict[str, Any] = {"role": "user", "content": []}
CYCLE["content"].append(CYCLE)
DEEP = reduce(lambda inner, _: [inner], range(5_000), cast("Any", "a text"))


class Hostile:
    """A message that nobody can look into."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = object.__hash__


STRANGE: dict[str, Any] = {
    "surrogate": {"role": "user", "content": "half of a pair \ud83d"},
    "long": {"role": "user", "content": "x" * 100_000},
    "deep": {"role": "user", "content": DEEP},
    "number": {"role": "user", "content": 10**5_000},
    "nan": {"role": "user", "content": float("nan")},
    "bytes": {"role": "user", "content": b"bytes"},
    "orphan": {"role": "tool", "tool_call_id": "nowhere", "content": "lost"},
    "key": {1: 2},
    "cycle": CYCLE,
    "hostile": Hostile(),
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_a_strange_message_stops_no_request(tmp_path: Path, strange: Any):
    session = Session(tmp_path, "s", settings=SMALL)
    history = [*built(2), strange]
    for number in range(2, 9):
        history += build(number)
        asyncio.run(session.afit(history))

        view = session.fit(history)

        assert view[-1]["tool_call_id"] == history[-1]["tool_call_id"]
    changed = ("half of a pair", "lost")  # repaired
    [alone] = session.fit([strange])
    shorter = alone is strange or len(str(strange["content"])) == 100_000
    assert shorter or strange["content"].startswith(changed)


def failing_counter(text: str) -> int:
    raise RuntimeError("no counter today")


@pytest.mark.parametrize(
    "options",
    [{"tools": CYCLE}, {"tools": 5}, {"system": CYCLE}, {"system": object()}],
    ids=["tools", "number", "system", "object"],
)
def test_strange_things_beside_the_messages_stop_no_request(
    tmp_path: Path, options: dict[str, Any]
):
    session = Session(tmp_path, "s", settings=SMALL)
    history = built(8)

    assert session.fit(history, **options)[-1] == history[-1]


def counting_in_words(text: str) -> str:
    return "many"


@pytest.mark.parametrize("counter", [failing_counter, counting_in_words])
def test_a_counter_that_fails_stops_no_request(tmp_path: Path, counter: Any):
    session = Session(tmp_path, "s", settings=SMALL, counter=counter)

    assert session.fit(built(8)) == built(8)


@pytest.mark.parametrize("place", ["a file", "a file/inside"])
def test_a_request_does_not_wait_for_the_lock_of_a_store_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, place: str
):
    (tmp_path / "a file").write_text("no folder", "utf-8")
    session, history = Session(tmp_path / place, "s"), begin()

    def waits(seconds: float) -> None:
        pytest.fail(f"waits {seconds} s")

    monkeypatch.setattr("context_compression.session.compressing.sleep", waits)

    assert asyncio.run(session.afit(history)) == history
    assert "without the store" in caplog.text


def test_a_request_overtaken_by_another_thread_never_sends_its_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    session, fitted = Session(tmp_path, "s"), Fitting.fitted
    mine, theirs = begin(), [said_by_user("Their secret.", "openai")]

    def overtaken(self: Fitting, messages: list[Any], **beside: Any) -> Any:
        got = fitted(self, messages, **beside)
        fitted(self, theirs)
        return got

    monkeypatch.setattr(Fitting, "fitted", overtaken)
    assert session.fit(mine) == mine
    monkeypatch.undo()

    with a_disk_that_takes(0):
        assert session.fit([*theirs, *build(1)]) == [*theirs, *build(1)]


def test_a_text_that_was_restored_and_exceeds_the_window_comes_as_a_preview(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": 4_000})
    tool, text = restore_tool(session), "\n".join(f"def part_{n}(): return {n}" for n in range(600))
    history = [{"role": "user", "content": "Read it."}]
    sent: Any = None
    for number in range(3):
        if number == 1:
            tool.answer({"ref": ref_of(text)})
        history += tool_step([Run(f"c{number}", "Read", {"path": "a.py"}, text)], "anthropic")
        sent = session.fit(history, tools=[tool.anthropic])

    assert count_tokens(sent, tools=[tool.anthropic]) < 4_000
