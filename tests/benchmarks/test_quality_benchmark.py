"""What the quality benchmark's numbers mean, on a session of our own."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Script = Callable[[str], ModuleType]

FILLER = "The quick brown fox jumps over the lazy dog and runs through the wide green wood. "
ASKED = "Please keep every timeout in the settings file below ninety seconds."


@pytest.fixture
def needs(script: Script) -> Any:
    return script("needs")


@pytest.fixture
def session(script: Script) -> Any:
    """A session whose last ten answers use eight names from its beginning."""
    recordings: Any = script("recordings")
    defined = "\n".join(f"def load_part_{n}(path): return open_part_{n}(path)" for n in range(8))
    history = [_message("user", ASKED), *_step(0, defined)]
    history += [m for n in range(1, 9) for m in _step(n, FILLER * 120)]
    later = [
        m
        for n in range(10)
        for m in (
            _message("assistant", f"Now return load_part_{n % 8}(path) again."),
            _message("user", "ok"),
        )
    ]
    recording = recordings.Recording("own", "own", [*history, *later], None, ())
    return recording, recordings.Cut(history, len(history))


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _step(number: int, result: str) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": number}}
    answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]


def _score(needs: Any, session: Any, view: list[dict[str, Any]]) -> Any:
    recording, cut = session
    reader = needs.Reader(None)
    return needs.score(reader, needs.need(reader, recording, cut), view)


def test_the_whole_history_holds_everything_that_is_needed(needs: Any, session: Any) -> None:
    scores = _score(needs, session, session[1].history)

    assert {name: scores[name] for name in ("FRR", "FRR far", "GFRR", "UIS")} == {
        "FRR": 1, "FRR far": 1, "GFRR": 1, "UIS": 1,
    }  # fmt: skip


def test_what_is_recent_does_not_hold_what_is_far(needs: Any, session: Any) -> None:
    scores = _score(needs, session, session[1].history[-4:])

    assert (scores["FRR"], scores["FRR far"], scores["UIS"]) == (0, 0, 0)


def test_a_bare_list_of_names_is_not_grounded(needs: Any, session: Any) -> None:
    names = " ".join(f"load_part_{number}" for number in range(8))

    scores = _score(needs, session, [_message("user", names)])

    assert (scores["FRR"], scores["GFRR"]) == (1, 0)


def test_a_place_gives_a_row_of_every_method_with_its_true_size(
    script: Script, session: Any
) -> None:
    quality: Any = script("quality")
    peers = script("peer_processes").everyone(tools_too=False)
    peers += [script("peers").Peer("a tool", _everything, has_budget=False)]
    recording, cut = session
    reader = script("texts").Reader(None)
    need = script("needs").need(reader, recording, cut)
    task = quality.Task((0.25,), 1, points=False)

    rows = [*quality.Place(recording, cut, reader, need, peers, task).rows()]

    rules = ("last-N", "task + last-N", "observation masking", "users + masked results")
    methods = ("context-compression", *rules)
    assert [row.method for row in rows if row.label == "25 %"] == [*methods]
    assert {row.method for row in rows if row.label == "a tool"} == {*methods} - {"last-N"}
    [whole] = [row for row in rows if row.label == "own"]
    assert whole.share == 1
    assert all(0 < row.share <= 0.4 for row in rows if row.label == "25 %")
    assert not [row.faults for row in rows if row.method == methods[0] and row.faults]


def test_the_tables_tell_q_what_takes_no_target_and_where_the_size_was_missed(
    script: Script,
) -> None:
    outcome: Any = script("outcome")

    rows = [
        _row(outcome, "25 %", "context-compression", 0.5, at_floor=True),
        _row(outcome, "25 %", "task + last-N", 0.25),
        _row(outcome, "own", "a tool", 1.0),
        _row(outcome, "a tool", "context-compression", 1.0),
    ]

    kept, tried, verbatim, loose = outcome.Outcome(rows).tables()
    assert "| **context-compression** | 0.50 (30 %) |" in [*kept.lines()]
    assert "Places where the minimum size is above the target: 1 of 1 at 25 %." in kept.notes
    assert tried.rows["task + last-N"]["failed calls, 25 %"].value == 0.25
    assert verbatim.rows["task + last-N"]["25 %"].value == 0.25
    assert {*loose.rows} >= {"the tool itself", "context-compression"}
    assert loose.columns == ["a tool"]


def _everything(messages: list[dict[str, Any]], target: float) -> list[dict[str, Any]]:
    return messages


def _row(outcome: Any, label: str, method: str, value: float, *, at_floor: bool = False) -> Any:
    names = ("FRR", "FRR far", "GFRR", "GFRR far", "NGR", "VAR", "UIS", "failures", "decisions")
    return outcome.Row(
        recording="own", source="own", at=9, label=label, method=method, digest="", whole=100.0,
        target=25.0, size=30.0, share=0.3, typed=1.0, at_floor=at_floor, faults=(),
        scores=dict.fromkeys(names, value),
    )  # fmt: skip


def test_a_rule_that_keeps_more_lines_for_the_next_edit_is_named(script: Script) -> None:
    outcome: Any = script("outcome")
    rows = [
        _row(outcome, "10 %", "context-compression", 0.23),
        _row(outcome, "10 %", "last-N", 0.41),
    ]

    _, _, verbatim = outcome.Outcome(rows).tables()

    assert [*verbatim.sentences()] == [
        "These plain rules are better with a view of about our size or less: "
        "last-N (10 %: 41 against 23).",
        "Measured at: 1 cuts, 1 sessions, 1 sources. Each session counts the same.",
    ]


def test_lines_for_edits_are_a_mean_over_the_sessions_that_need_some(script: Script) -> None:
    """A source with one session counts no more than each session of another."""
    outcome: Any = script("outcome")
    ours = "context-compression"
    rows = [_row(outcome, "10 %", ours, value) for value in (0.9, 0.6, 0.3, 0.5)]
    rows = [replace(row, recording=str(at), source=str(at > 1)) for at, row in enumerate(rows)]
    rows[2] = replace(rows[2], source="2")
    rows[3] = replace(rows[3], scores={**rows[3].scores, "VAR": None}, share=0.9)

    _, _, verbatim = outcome.Outcome(rows).tables()

    figure = verbatim.rows[ours]["10 %"]
    assert figure.value == pytest.approx(0.6)
    assert figure.size == pytest.approx(0.3)
    assert "Measured at: 3 cuts, 3 sessions, 2 sources." in verbatim.notes[0]
