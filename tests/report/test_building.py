"""The facts of reports: their parts add up, for made, recorded and random conversations."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated import EVERY_DIALECT, conversations
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transcripts import fixtures, recordings

from context_compression import Session, hosts
from context_compression.errors import ContextCompressionError
from context_compression.report import report_of
from context_compression.report.building import build_report
from context_compression.report.course import MOST_POINTS
from context_compression.report.model import Report
from context_compression.report.text import text
from context_compression.session import ArchivedTexts
from context_compression.strings import cells
from context_compression.transcripts import (
    AnsweredRequest,
    ClearedResult,
    Compaction,
    History,
    Stage,
)
from context_compression.workspace import Opened, Workspace

MADE = fixtures()
FOLDERS = {path.parent.name: path for path in recordings()}


def check_that_the_parts_add_up(report: Report) -> None:
    """The laws of any report."""
    for each in report.evidence:
        assert each.in_context + each.restorable + each.lost == each.total
        assert min(each.in_context, each.restorable, each.lost) >= 0
    assert len(report.archived) <= report.archived_total <= report.store.refs
    assert report.store.proven <= report.store.refs
    assert report.archived_restored <= report.archived_total
    assert sum(report.by_kind.values()) == report.used
    numbers = [point.number for point in report.points]
    assert numbers == sorted({*numbers})
    assert len(numbers) <= MOST_POINTS + 2 * len(report.compactions) + 2
    assert all(0 <= mark.after <= report.cost.requests for mark in report.compactions)
    for point in report.points:
        assert min(point.by_kind.values(), default=0) >= 0
        assert point.charged in (None, point.tokens)
    for one in report.repeated:
        assert one.times > 1
        assert 0 < one.again <= one.tokens
    for consumer in (*report.by_tool, *report.by_file):
        assert 0 <= consumer.largest <= consumer.tokens
    for width in (60, 80, 120):
        assert max(map(cells, text(report, width).split("\n"))) <= width


def of_file(path: Path, store: Path) -> Report:
    """The report of a transcript, with an empty record of it."""
    workspace = Workspace.here(store=str(store), allow=[str(path.parent)])
    return report_of(workspace.of(hosts.read(path)))


@pytest.mark.parametrize("path", MADE, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_report_of_a_transcript_adds_up(path: Path, tmp_path: Path):
    report = of_file(path, tmp_path / "store")

    check_that_the_parts_add_up(report)
    assert report.store.refs == 0
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("path", FOLDERS.values(), ids=FOLDERS)
def test_the_report_of_a_recorded_session_adds_up(path: Path, tmp_path: Path):
    report = of_file(path, tmp_path / "store")

    check_that_the_parts_add_up(report)
    assert report.points
    assert report.by_tool


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages=conversations(EVERY_DIALECT, spread=True), target=st.sampled_from([50, 300, 2000]))
def test_the_report_of_a_compressed_session_adds_up(
    tmp_path_factory: pytest.TempPathFactory, messages: list[dict[str, Any]], target: int
):
    session = Session(tmp_path_factory.mktemp("store"), "made", summarizer=None)
    with suppress(ContextCompressionError):
        session.record(*messages)
        session.compress(target_tokens=target, force=True)
        session.record(*messages[:2])
        session.restore(next(iter(session.state().refs), "0000"))

    report = report_of(Opened(session))

    check_that_the_parts_add_up(report)
    assert report.used == session.usage().used_tokens


def reading(number: int, words: str) -> list[dict[str, Any]]:
    """A call that reads a file, and its result."""
    call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": "a.py"}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": words}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


LINES = "\n".join(
    ["Error: value_7 is not found", *(f"value_{number} = {number}" for number in range(100))]
)
ASKED = {"role": "user", "content": "Read a.py, please."}
ANSWER = {"role": "assistant", "content": "It sets a hundred values."}


def compacted(**recorded: Any) -> History:
    """A history of two requests, a compaction, and one more request."""
    first = [ASKED, *reading(1, LINES), *reading(2, f"{LINES}\nvalue_100 = 100"), ANSWER]
    kept = [{"role": "user", "content": "Summary: a.py was read."}, ANSWER]
    return History(
        path=Path("made.jsonl"),
        host="claude-code",
        session_id="made",
        stages=[
            Stage(
                first,
                requests=[
                    AnsweredRequest(1, input_tokens=1_000),
                    AnsweredRequest(5, input_tokens=2_700),
                ],
                times=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            ),
            Stage(
                [*kept, ASKED, ANSWER],
                carried=2,
                requests=[AnsweredRequest(3, input_tokens=1_250)],
                began=Compaction(by="claude-code", **recorded),
            ),
        ],
    )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    yield Session(tmp_path / "store", "made", settings={"token_budget": 2_720}, summarizer=None)


def test_a_point_tells_the_charged_tokens_by_kind(session: Session):
    first, second, third = build_report(compacted(), session).points

    assert [first.tokens, second.tokens, third.tokens] == [1_000, 2_700, 1_250]
    assert second.by_kind["tool results"] > 1_000
    assert "tool results" not in third.by_kind
    assert first.by_kind["system prompt, tools and the like"] > 900


def test_sizes_of_a_compaction_are_counted_if_the_host_tells_none(session: Session):
    [counted] = build_report(compacted(), session).compactions
    [told] = build_report(compacted(tokens_before=9, tokens_after=7), session).compactions

    before, after = counted.compaction.tokens_before, counted.compaction.tokens_after
    assert (counted.after, told.after) == (2, 2)
    assert before is not None
    assert after is not None
    assert before > 2_700 > after
    assert (told.compaction.tokens_before, told.compaction.tokens_after) == (9, 7)


def test_sizes_of_a_compaction_of_tool_results_alone_are_those_of_the_context(session: Session):
    """Claude Code 2.1.22 records how many tokens the tool results had."""
    [mark] = build_report(compacted(cleared=True, tokens_before=9), session).compactions

    assert mark.compaction.tokens_before is not None
    assert mark.compaction.tokens_before > 2_700


def test_a_compaction_frees_what_the_provider_no_longer_charged(session: Session):
    """Results that were cleared may have come before the file begins, so we cannot count them."""
    whole = [*reading(1, "done"), ANSWER, ASKED, ANSWER]
    stages = [
        Stage(whole[:3], requests=[AnsweredRequest(2, input_tokens=2_000)]),
        Stage(
            whole,
            carried=3,
            requests=[AnsweredRequest(4, input_tokens=1_200)],
            began=Compaction(by="claude-code", cleared=True),
        ),
    ]

    report = build_report(replace(compacted(), stages=stages), session)

    [mark] = report.compactions
    before, after = mark.compaction.tokens_before, mark.compaction.tokens_after
    assert before is not None
    assert after is not None
    assert 2_000 < before < 2_050
    assert 1_150 < after < 1_200
    assert report.cost.without == 2_000 + 1_200 + before - after


def test_a_file_that_is_read_twice_came_again_but_for_its_new_lines(session: Session):
    report = build_report(compacted(), session)

    [again] = report.repeated
    [file] = report.by_file
    assert (again.name, again.times, again.tool, again.kind) == ("a.py", 2, "Read", "file")
    assert 0.4 * again.tokens < again.again < 0.5 * again.tokens
    assert (file.name, file.calls) == ("a.py", 2)
    assert file.tokens == report.by_tool[0].tokens > again.tokens


def test_evidence_of_a_compacted_part_is_lost_without_an_archive(session: Session):
    report = build_report(compacted(), session)

    by_name = {each.name: each for each in report.evidence}
    assert by_name["user requests"].lost == 0
    assert by_name["errors"].lost == by_name["errors"].total == 1


def test_a_request_that_would_not_have_fitted_is_counted_as_impossible(session: Session):
    cost = build_report(compacted(), session).cost

    assert (cost.requests, cost.measured, cost.impossible) == (3, True, 1)
    assert cost.with_us == 1_000 + 2_700 + 1_250
    assert cost.without == 1_000 + 2_700 + 2_720


def test_each_request_costs_what_its_own_model_costs(session: Session):
    history = compacted()
    first, second = history.stages
    requests = [
        replace(first.requests[0], model="claude-opus-4-8", cache_read_tokens=600),
        replace(first.requests[1], model="gpt-5.2"),
    ]
    stages = [replace(first, requests=requests), second]
    made = replace(history, stages=stages, model="claude-haiku-4-5")

    cost = build_report(made, session).cost

    opus, gpt, haiku = 400 * 5 + 600 * 0.5, 2_700 * 1.75, 1_250 * 1
    assert cost.dollars == pytest.approx((opus + gpt + haiku) / 1e6)
    assert cost.compared == (cost.dollars, cost.dollars_without)
    assert (cost.input, cost.unpriced) == (4_950, ())
    assert cost.prices.startswith("20")


def test_one_model_without_a_price_leaves_the_cost_in_tokens(session: Session):
    history = compacted()
    first, second = history.stages
    requests = [replace(each, model="a-model-1") for each in second.requests]
    stages = [first, replace(second, requests=requests)]

    cost = build_report(replace(history, stages=stages, model="claude-opus-5"), session).cost

    assert (cost.dollars, cost.output_dollars, cost.prices) == (None, None, "")
    assert cost.unpriced == ["a-model-1"]
    assert cost.with_us == 4_950
    assert cost.at(2, None).dollars == pytest.approx(0.0099)


def test_results_that_the_host_cleared_are_counted(session: Session):
    cleared = [ClearedResult("Read", LINES), ClearedResult("Bash", "ok")]

    report = build_report(replace(compacted(), cleared=cleared), session)

    assert report.cleared == 2
    assert report.cleared_tokens > 300


def test_messages_that_a_compaction_left_are_counted_once(session: Session):
    report = build_report(compacted(), session)

    assert report.messages == 8
    assert (report.began, report.ended) == (0.0, 5.0)


def kept_out_by_a_hook(session: Session, text: str) -> None:
    """What a hook records when it archives the result of a call before it is sent."""
    with session.log.archiving():
        texts = ArchivedTexts(session.log, session.state())
        texts.add(text, "Read result", call="c1", tokens_freed=900)


def test_without_us_a_request_holds_what_a_hook_kept_out(session: Session):
    before = build_report(compacted(), session).cost
    kept_out_by_a_hook(session, "all of it\n" * 900)

    after = build_report(compacted(), session).cost

    assert after.with_us == before.with_us
    assert after.without == before.without + 20  # up to the window
    assert (after.impossible, before.impossible) == (2, 1)


def test_what_a_hook_kept_out_can_be_restored_with_its_evidence(session: Session):
    kept_out_by_a_hook(session, "Error: another one\n" * 900)

    report = build_report(compacted(), session)

    [errors] = (each for each in report.evidence if each.name == "errors")
    assert report.archived[0].what == "Read result: a.py"
    assert (errors.total, errors.restorable, errors.lost) == (2, 1, 1)


def offloaded(store: Path) -> Session:
    """A session whose long tool result was moved to the archive."""
    recent = {"keep_recent": 1, "keep_recent_tokens": 100}
    session = Session(store, "made", settings=recent, summarizer=None)
    session.record(ASKED, *reading(1, LINES * 20), *reading(2, "done"), ANSWER, ASKED, ANSWER)
    session.compress(target_tokens=2_000, strategy="offload", force=True)
    return session


def test_an_original_stands_beside_what_the_model_sees(tmp_path: Path):
    session = offloaded(tmp_path / "store")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    [ref] = (ref for ref, about in session.state().refs.items() if about["block"] is not None)
    session.restore(ref)

    report = report_of(Opened(session))

    [entry] = report.archived
    assert (entry.ref, entry.restored, entry.what) == (ref, 1, "Read result: a.py")
    assert entry.original == (LINES * 20)[:20_000]
    assert entry.cut == len(LINES * 20) - 20_000
    assert ref in entry.shown
    assert (report.archived_total, report.archived_restored) == (2, 1)
    assert {each.lost for each in report.evidence} == {0}
    assert (report.store.refs, report.store.proven) == (len(session.state().refs),) * 2
    assert before.keys() == {path for path in tmp_path.rglob("*") if path.is_file()}


def test_a_damaged_original_is_a_problem_of_the_store(tmp_path: Path):
    offloaded(tmp_path / "store")
    [file] = (tmp_path / "store").rglob("compact-*.json")
    file.write_text(file.read_text().replace("value_7 = 7", "value_7 = 8"))

    store = report_of(Opened(Session(tmp_path / "store", "made", summarizer=None))).store

    assert store.proven < store.refs
    assert any("was changed" in problem for problem in store.problems)
