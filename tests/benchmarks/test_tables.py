"""The tables of `docs/benchmarks.md` say what is saved, and tell where others are better."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Script = Callable[[str], ModuleType]

PAGE = "before\n\n<!-- table: kept -->\n<!-- end of table: kept -->\n\nafter\n"


def table(script: Script, rows: dict[str, list[tuple[float, float | None]]], **more: Any) -> Any:
    comparison = script("comparison")
    columns = ("25 %", "10 %")
    figures = {
        method: {
            column: comparison.Figure(*pair) for column, pair in zip(columns, pairs, strict=False)
        }
        for method, pairs in rows.items()
    }
    return comparison.Table("kept", "kept of", columns, figures, **more)


def test_a_rule_that_is_better_is_named_with_both_numbers(script: Script) -> None:
    told = table(
        script,
        {
            "context-compression": [(0.8, 0.25), (0.1, 0.1)],
            "task + last-N": [(0.7, 0.25), (0.9, 0.1)],
            "last-N": [(0.2, 0.25), (0.05, 0.1)],
            "a tool": [(0.81, 0.25), (0, 0.1)],
        },
    )

    assert [*told.sentences()] == [
        "These plain rules are better with a view of about our size or less: "
        "task + last-N (10 %: 90 against 10).",
        "These other tools are better with a view of about our size or less: "
        "a tool (25 %: 81 against 80).",
    ]


def test_a_rule_that_is_better_in_all_of_many_columns_is_named_once(script: Script) -> None:
    comparison = script("comparison")
    columns = ("25 %", "10 %", "5 %")
    rows = {
        method: {column: comparison.Figure(value, 0.1) for column in columns}
        for method, value in (("context-compression", 0.1), ("last-N", 0.9))
    }

    told = comparison.Table("kept", "kept of", columns, rows)

    assert [*told.sentences()] == [
        "These plain rules are better with a view of about our size or less: "
        "last-N (in all columns, such as 25 %: 90 against 10)."
    ]


def test_a_larger_view_is_no_better_one(script: Script) -> None:
    told = table(
        script, {"context-compression": [(0.5, 0.25)], "observation masking": [(1.0, 0.5)]}
    )

    assert [*told.sentences()] == ["No plain rule is better with a view of about our size or less."]


def test_what_is_written_alike_is_not_better(script: Script) -> None:
    told = table(script, {"context-compression": [(0.801, None)], "last-N": [(0.804, None)]})

    assert [*told.sentences()] == ["No plain rule is better."]


def test_where_less_is_better_the_smaller_value_is_named(script: Script) -> None:
    rows: dict[str, list[tuple[float, float | None]]] = {
        "context-compression": [(22.8e6, None), (28.5e6, None)],
        "task + last-N, down to half": [(22.6e6, None), (29.5e6, None)],
    }

    told = table(script, rows, unit="millions", lower_is_better=True)

    assert [*told.sentences()] == [
        "These plain rules are better: task + last-N, down to half (25 %: 22.6M against 22.8M)."
    ]


def test_a_table_without_ours_compares_nothing(script: Script) -> None:
    told = table(script, {"count": [(0.1, None)]}, unit="seconds", notes=("Measured once.",))

    assert [*told.sentences()] == ["Measured once."]
    assert "| count | 100 ms |  |" in [*told.lines()]


def test_every_figure_stands_beside_its_true_size(script: Script) -> None:
    told = table(script, {"context-compression": [(0.86, 0.251), (0.5, 0.0512)]})

    assert [*told.lines()][-1] == "| **context-compression** | 86 (25 %) | 50 (5.1 %) |"


def test_a_table_survives_its_file(script: Script, tmp_path: Path) -> None:
    tables = script("tables")
    rows: dict[str, list[tuple[float, float | None]]] = {
        "context-compression": [(0.86, 0.25), (0.5, None)], "last-N": [],
    }  # fmt: skip
    told = table(script, rows, notes=["A note with  two  spaces [or more]."])

    tables.save("quality", [told], tmp_path)

    [again] = tables.saved(tmp_path)
    assert [*again.lines()] == [*told.lines()]
    assert [*again.sentences()] == [*told.sentences()]


def test_tables_are_written_between_their_marks_and_can_be_replaced(script: Script) -> None:
    tables = script("tables")
    one = table(script, {"context-compression": [(0.1, None)]})
    two = table(script, {"context-compression": [(0.2, None)]})

    once = tables.written(PAGE, [one])
    again = tables.written(once, [two])

    assert "| **context-compression** | 10 |  |" in once
    assert "| 20 |" in again
    assert "| 10 |" not in again
    assert tables.written(again, []) == PAGE
    assert again.startswith("before\n")
    assert again.endswith("\nafter\n")


def test_a_table_without_a_place_is_an_error(script: Script) -> None:
    tables = script("tables")

    with pytest.raises(ValueError, match="no place for kept"):
        tables.written("nothing", [table(script, {})])


def test_what_is_saved_of_other_tools_stays_where_only_ours_is_measured(script: Script) -> None:
    tables = script("tables")
    tool = "litellm.compress"
    notes = [f"{tool} gave no view at 2 of 9 places.", "Places at the minimum size: 3."]
    earlier = table(script, {"context-compression": [(0.1, None)], tool: [(0.5, 0.3)]}, notes=notes)
    now = table(script, {"context-compression": [(0.2, None)]})

    [joined] = tables.with_tools_of([earlier], [now])

    values = {name: figures["25 %"].value for name, figures in joined.rows.items()}
    assert values == {"context-compression": 0.2, tool: 0.5}
    assert [*joined.notes] == notes[:1]


def test_the_page_says_what_the_results_say(script: Script) -> None:
    """After a change of `benchmarks/results`, `python benchmarks/tables.py --render` writes it."""
    tables = script("tables")
    text = tables.PAGE.read_text(encoding="utf-8")

    assert tables.written(text, tables.saved(tables.RESULTS)) == text


def test_a_check_fails_where_the_page_says_something_else(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = script("tables")
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    tables.save("quality", [table(script, {"last-N": [(0.1, None)]})], tmp_path)
    arguments = ["tables.py", "--results", str(tmp_path), "--page", str(page)]

    monkeypatch.setattr(sys, "argv", [*arguments, "--check"])
    with pytest.raises(SystemExit, match=r"page\.md does not say"):
        tables.main()
    monkeypatch.setattr(sys, "argv", [*arguments, "--render"])
    tables.main()
    monkeypatch.setattr(sys, "argv", [*arguments, "--check"])
    tables.main()

    assert "| last-N | 10 |  |" in page.read_text(encoding="utf-8")


def test_the_plain_rules_stand_in_every_saved_comparison(script: Script) -> None:
    tables = script("tables")
    compared = [each for each in tables.saved(tables.RESULTS) if "context-compression" in each.rows]
    searched = [each for each in compared if each.name == "recall"]

    assert all("plain BM25" in each.rows for each in searched)
    for each in (each for each in compared if each not in searched):
        rules = {name.split(", ")[0] for name in each.rows}
        assert {"task + last-N", "observation masking"} <= rules, each.heading
        assert "users + masked results" in rules or each.name == "speed", each.heading


def test_a_peer_without_an_environment_says_so(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXT_COMPRESSION_PEERS", str(tmp_path))

    found, missing = script("peer_processes").tools()

    assert found == []
    assert {*missing} == {*script("peers").TOOLS} == {*script("peer_environments").PACKAGES}
    assert {*missing.values()} == {"not installed; --peers installs it"}


def test_a_peer_answers_from_its_own_process_and_an_error_is_its_answer(script: Script) -> None:
    """The plain rules can be called like any peer."""
    processes = script("peer_processes")
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}]
    rule = processes.PeerProcess("last-N", Path(sys.executable))
    unknown = processes.PeerProcess("no such peer", Path(sys.executable))

    try:
        assert rule.view(messages, 1_000) == messages
        with pytest.raises(processes.Failed, match="KeyError"):
            unknown.view(messages, 1_000)
        assert json.loads(json.dumps(rule.view(messages, 1_000))) == messages
    finally:
        rule.close()
        unknown.close()


def test_a_forked_process_calls_a_peer_of_its_own(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = script("peer_processes")
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}]
    rule = processes.PeerProcess("last-N", Path(sys.executable))
    rule.view(messages, 1_000)
    first = rule.process
    mine = os.getpid()

    monkeypatch.setattr(processes.os, "getpid", lambda: mine + 1)
    try:
        assert rule.view(messages, 1_000) == messages
        assert rule.process is not first
        assert first.poll() is None
    finally:
        rule.close()
        first.kill()
        first.communicate()


def test_a_tool_that_could_not_run_is_named_below_the_table(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = script("tables")
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    made = table(script, {"context-compression": [(0.1, None)]})

    def quality(run: Any) -> list[Any]:
        return [made]

    monkeypatch.setattr(tables, "BENCHMARKS", {"quality": quality})
    monkeypatch.setattr(tables, "install", lambda: {"litellm.compress": "cannot be installed"})
    where = ["--results", str(tmp_path / "results"), "--page", str(page)]

    monkeypatch.setattr(sys, "argv", ["tables.py", "--write", "--peers", *where])
    monkeypatch.setattr(tables, "DEFAULT", ("quality",))
    tables.main()
    monkeypatch.setattr(sys, "argv", ["tables.py", "--write", *where])
    tables.main()

    reason = "litellm.compress could not run: cannot be installed."
    assert page.read_text(encoding="utf-8").count(reason) == 1
