"""What the quality benchmark's numbers mean, on a session of our own."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FILLER = "The quick brown fox jumps over the lazy dog and runs through the wide green wood. "
ASKED = "Please keep every timeout in the settings file below ninety seconds."


@pytest.fixture
def needs() -> Iterator[Any]:
    before = {*sys.modules}
    sys.path.insert(0, str(BENCHMARKS))
    yield import_module("needs")
    sys.path.remove(str(BENCHMARKS))
    for name in {*sys.modules} - before:
        del sys.modules[name]


@pytest.fixture
def session(needs: Any) -> Any:
    """A session whose last ten answers use eight names from its beginning."""
    recordings = import_module("recordings")
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
