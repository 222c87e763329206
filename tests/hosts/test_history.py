"""Whole conversations: what the context was before each compaction, and what requests cost."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from opencode_database import Host, export
from transcripts import FIXTURES, Row, fixtures, line, recordings, rows_of, written
from transcripts import data_folder as folder

from context_compression import hosts
from context_compression.conversation import parse
from context_compression.transcripts import AnsweredRequest, Compaction, History, Stage

ABSENT = [pytest.param(None, id="none")]  # the fixture `data_folder` then says why it skips
RECORDED = [pytest.param(path, id=path.name.split(".")[0]) for path in recordings()] or ABSENT
OWN = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in fixtures()]

NO_PROMPT = {
    # EXPECTED.json reads a file of a subagent as a main one, and so finds no request in it.
    "agent-a5bdbc1",
    "agent-a9cad17",
    "agent-aa5ef13",
    "agent-ac27727",
    "agent-afbbf75",
}


def shown(stage: Stage) -> list[str]:
    return [line(message) for message in parse(stage.messages).messages]


def sizes(history: History) -> list[tuple[int | None, int | None]]:
    return [(c.tokens_before, c.tokens_after) for c in history.compactions]


@pytest.mark.parametrize("path", OWN)
def test_the_last_stage_is_the_live_conversation(path: Path):
    _check(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDED)
def test_the_last_stage_of_a_recorded_session_is_the_live_conversation(
    path: Path, data_folder: Path
):
    _check(path)


def _check(path: Path) -> None:
    live, history = hosts.read(path), hosts.history(path)

    assert history.stages[-1].messages == live.messages
    assert (history.host, history.session_id) == (live.host, live.session_id)
    assert [c.time for c in history.compactions] == [c.time for c in live.compactions]
    assert [stage.began for stage in history.stages] == [None, *history.compactions]
    for stage in history.stages:
        sent = [request.messages for request in stage.requests]
        assert sent == sorted(set(sent))
        roles = [stage.messages[at]["role"] for at in sent]
        if history.host == "codex":
            # One request was interrupted before its answer; and what follows an encrypted summary
            # becomes one message with it, so that the first answer is in a message carried over.
            assert roles.count("user") <= 1
            assert not sent or stage.carried <= sent[0] + 1
        else:
            assert "user" not in roles
            assert not sent or stage.carried <= sent[0]
        assert stage.carried <= len(stage.messages) == len(stage.times)
        assert stage.carried == 0 or stage.began
        times = [time for time in stage.times[stage.carried :] if time]
        assert not times or times[0] <= times[-1]


@pytest.mark.parametrize("path", RECORDED)
def test_a_recorded_session_has_the_compactions_and_the_size_that_another_reader_found(
    path: Path, data_folder: Path
):
    native = folder() / "conversations" / "native"
    everything = json.loads((native / "EXPECTED.json").read_text(encoding="utf-8"))
    expected: dict[str, Any] = everything[f"native/{path.relative_to(native)}"]

    history = hosts.history(path)

    cleared = [compaction.cleared for compaction in history.compactions]
    compactions = expected.get("compactions", expected.get("compact_boundaries"))
    assert (cleared.count(False), cleared.count(True)) == (
        compactions,
        expected.get("microcompact_boundaries", 0),
    )
    usage: dict[str, Any] = expected.get("last_token_usage", {})
    prompt = expected.get("last_prompt_tokens", usage.get("input_tokens"))
    if prompt and path.name.split(".")[0] not in NO_PROMPT:
        assert history.stages[-1].requests[-1].input_tokens == prompt


def test_an_answer_in_several_rows_is_one_request_with_the_whole_input():
    history = hosts.history(FIXTURES / "claude_code" / "session.jsonl")

    assert [(r.messages, r.input_tokens) for r in history.stages[0].requests] == [
        (1, 200), (3, 300), (6, 400), (9, 500),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "before", "carried", "tokens"),
    [
        ("claude_code/compacted.jsonl", 6, 1, (96_000, 5_000)),
        ("claude_code/compacted-kept-behind-summary.jsonl", 6, 5, (96_000, 5_000)),
        ("claude_code/compacted-kept-behind-tail.jsonl", 6, 5, (96_000, 5_000)),
        ("claude_code/microcompacted.jsonl", 6, 6, (96_000, 95_980)),
        ("claude_code/stream-compacted.jsonl", 5, 3, (990_031, 2_612)),
        ("codex/compacted.jsonl", 13, 2, (240_010, 10)),  # the host's own estimate after it
        ("codex/compacted-without-history.jsonl", 6, 3, (510, None)),
        ("copilot_cli/compacted.jsonl", 9, 3, (11_000, None)),
        ("gemini_cli/compressed.jsonl", 8, 5, (209, 90)),
        ("opencode/compacted.json", 15, 5, (9_109, 300)),
        ("pi/compacted.jsonl", 9, 4, (9_010, 300)),
        ("pi/version-1.jsonl", 7, 2, (100, 300)),
    ],
)
def test_what_a_compaction_took_out_is_in_the_stage_before_it(
    name: str, before: int, carried: int, tokens: tuple[int, int]
):
    history = hosts.history(FIXTURES / name)

    first, last = history.stages
    assert (len(first.messages), first.carried, last.carried) == (before, 0, carried)
    assert sizes(history) == [tokens]
    assert history.compactions[0].by == history.host
    assert history.compactions[0].cleared == ("micro" in name)


def test_a_log_that_is_one_list_has_the_stages_of_its_rows(tmp_path: Path):
    rows = rows_of(FIXTURES / "claude_code" / "stream-compacted.jsonl")
    path = tmp_path / "log.json"
    path.write_text(json.dumps(rows))

    stages = hosts.history(path).stages

    assert stages == hosts.history(FIXTURES / "claude_code" / "stream-compacted.jsonl").stages


def test_cleared_results_are_whole_in_the_stage_before():
    first, last = hosts.history(FIXTURES / "claude_code" / "microcompacted.jsonl").stages

    cleared = [index for index, text in enumerate(shown(last)) if "content cleared]" in text]
    assert cleared
    assert not any("content cleared]" in text for text in shown(first))


class Pi:
    """A session of Pi, entry by entry."""

    def __init__(self) -> None:
        self.rows: list[Row] = [{"type": "session", "version": 3, "id": "s", "cwd": "/work"}]

    def add(self, id: str, parent: str | None, kind: str = "message", **about: Any) -> "Pi":
        self.rows.append({"type": kind, "id": id, "parentId": parent, **about})
        return self

    def says(self, id: str, parent: str | None) -> "Pi":
        return self.add(id, parent, message={"role": "user", "content": f"says {id}"})

    def compacts(self, id: str, parent: str, summary: str = "Summed up.") -> "Pi":
        about = {"summary": summary, "firstKeptEntryId": id, "tokensBefore": 100}
        return self.add(id, parent, "compaction", **about)


def test_a_compaction_of_a_branch_that_was_left_is_not_part_of_the_history(tmp_path: Path):
    session = Pi().says("a", None).says("b", "a").compacts("K", "b").says("c", "K").says("d", "a")

    history = hosts.history(written(tmp_path / "s.jsonl", session.rows))

    assert history.compactions == []
    assert [shown(stage) for stage in history.stages] == [["user | says a", "user | says d"]]


def test_the_stage_before_a_compaction_is_of_the_branch_it_summed_up(tmp_path: Path):
    session = Pi().says("a", None).says("b", "a").says("c", "a").compacts("K", "b").says("d", "K")

    history = hosts.history(written(tmp_path / "s.jsonl", session.rows))

    assert shown(history.stages[0]) == ["user | says a", "user | says b"]
    assert shown(history.stages[1])[1:] == ["user | says d"]


def test_several_compactions_are_told_in_their_order_by_who_made_them(tmp_path: Path):
    ours = "[Compressed History] What was said."
    session = Pi().says("a", None).compacts("K", "a", ours).says("b", "K").compacts("L", "b")

    history = hosts.history(written(tmp_path / "s.jsonl", session.rows))

    assert [compaction.by for compaction in history.compactions] == ["context-compression", "pi"]
    assert [len(stage.messages) for stage in history.stages] == [1, 2, 1]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path / "opencode.db")
    with closing(host.db):
        yield host


def test_a_session_in_opencodes_database_has_the_stages_of_its_export(host: Host):
    path = host.keep("compacted")

    history = hosts.history(path)

    assert history.stages == hosts.history(FIXTURES / "opencode" / "compacted.json").stages
    assert (history.project, history.title) == ("/work/app", "Two folders")
    assert hosts.read(path).compactions == history.compactions


def test_a_compaction_that_comes_while_the_database_is_followed_is_seen(host: Host):
    readings, messages = hosts.Readings(), export("compacted")["messages"]
    path = host.keep("session")
    before = readings.look(path).compactions

    for message in messages[-4:]:
        host.write(message, updated=2)

    assert before == []
    assert [c.trigger for c in readings.look(path).compactions] == ["auto"]


def test_plain_messages_are_one_stage_with_a_request_for_each_answer(tmp_path: Path):
    rows = [
        {"role": "user", "content": "<current_datetime>2026</current_datetime>\n\nHello."},
        {"role": "assistant", "content": "Hello."},
    ]
    path = written(tmp_path / "chat.jsonl", rows)

    history = hosts.history(path)

    (stage,) = history.stages
    assert (stage.times, stage.requests) == ([None, None], [AnsweredRequest(1)])
    assert history.title == "Hello."


def test_a_transcript_knows_its_project_and_when_it_was_compacted():
    transcript = hosts.read(FIXTURES / "pi" / "compacted.jsonl")

    assert transcript.project == "/work/app"
    assert transcript.compactions == [Compaction(1793527200.0, "", "pi", 9010, 300)]
    assert transcript.requests == [
        AnsweredRequest(4, 1793527200.0, "claude-sonnet-4-5", 300, 297, 0, 8)
    ]
