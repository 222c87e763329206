"""The judge that asks how surprising the next steps are to a reader of a view."""

import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .conftest import message

pytestmark = pytest.mark.slow

Messages = list[dict[str, Any]]
Script = Callable[[str], ModuleType]

FILLER = "The quick brown fox jumps over the lazy dog and runs through the wide green wood. "


def step(number: int, result: str) -> Messages:
    call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": number}}
    answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]


@pytest.fixture
def place(script: Script) -> Any:
    """A session whose next steps use eight names from its beginning, each with its words."""
    recordings: Any = script("recordings")
    defined = "\n".join(f"def load_part_{n}(path): return open_part_{n}(path)" for n in range(8))
    history = [message("user", "Repair the parts."), *step(0, defined)]
    history += [m for n in range(1, 9) for m in step(n, FILLER * 120)]
    later = [message("assistant", f"def load_part_{n % 8}(path): return it") for n in range(10)]
    pairs = [m for each in later for m in (each, message("user", "ok"))]
    recording = recordings.Recording("own", "own", [*history, *pairs], None, ())
    cut, reader = recordings.Cut(history, len(history)), script("texts").Reader(None)
    need = script("needs").need(reader, recording, cut)
    return script("likelihood").Place(recording, cut, reader, need)


def test_a_view_that_tells_what_comes_makes_it_less_surprising(script: Script, place: Any) -> None:
    reader = script("likelihood").Sequences()
    history = place.cut.history

    far = place.costs(reader, history[:3])
    near = place.costs(reader, history[-4:])

    for column in ("all words", "needed names", "far names"):
        assert far.nats[column] < near.nats[column], column
    assert place.costs(reader, history).size == 1
    assert far.size < near.size < 1


def test_a_name_counts_where_it_first_occurs_and_far_ones_count_apart(place: Any) -> None:
    text = "load_part_1(load_part_2)\nload_part_1"

    named = place.first_named(text, {"load_part_2"})

    assert named == [("load_part_1", 0, 11)]
    assert {"load_part_1"} <= place.need.far


def test_the_probabilities_of_all_words_add_up_to_one(script: Script) -> None:
    """Also after words that were never read together, and of words that were never read."""
    likelihood = script("likelihood")
    before = likelihood.Sequences()
    before.read(["a", "b", "a", "c"])
    reader = likelihood.Sequences(before)
    reader.read(["a", "b", "c", "a", "b"])

    for context in ([], ["a"], ["a", "b"], ["c", "b", "a"], ["never"]):
        known = sum(reader.probability(context, word) for word in "abc")
        unknown = likelihood.UNSEEN * reader.probability(context, "never read")
        assert math.isclose(known + unknown, 1), context


def test_what_was_read_more_often_after_the_same_words_is_more_probable(script: Script) -> None:
    reader = script("likelihood").Sequences()
    reader.read(["open", "the", "door", "open", "the", "door", "open", "the", "window"])

    door, window = (reader.probability(["open", "the"], word) for word in ("door", "window"))

    assert door > window > reader.probability(["open", "the"], "roof") > 0


def test_ours_is_as_large_as_the_rule_of_masked_results(script: Script, place: Any) -> None:
    view = script("field.view").View

    found = place.at_theirs(0.3)

    sizes = {name: view(messages).size for name, messages in found.items()}
    theirs = sizes["users + masked results"]
    assert 0.8 * theirs <= sizes["context-compression"] <= theirs
    rules = {"last-N", "task + last-N", "observation masking", "users + masked results"}
    assert {*found} == {*place.at_share(0.3)} == {"context-compression", *rules}


def test_a_rule_that_surprises_less_is_named_and_the_differences_have_intervals(
    script: Script,
) -> None:
    likelihood = script("likelihood")
    worth = {"context-compression": 3.0, "last-N": 2.5, "task + last-N": 4.0}

    def costs(nats: float) -> Any:
        return likelihood.Costs(dict.fromkeys(likelihood.COLUMNS, nats), 0.1)

    found = [
        {name: costs(nats + more) for name, nats in {**worth, likelihood.USERS: 3.0}.items()}
        for more in (0.0, 0.2)
    ]

    better, differences = likelihood.table("nats a word", found).sentences()

    assert "last-N (in all columns, such as all words: 2.60 against 3.10)" in better
    assert "last-N: all words +0.50 [+0.50, +0.50]" in differences
    assert "task + last-N: all words -1.00 [-1.00, -1.00]" in differences
    assert "in 2 sessions" in differences


def test_an_interval_is_always_the_same_and_wider_where_values_differ_more(script: Script) -> None:
    interval = script("likelihood").interval

    low, high = interval([-1.0, 0.0, 1.0, 2.0])

    assert (low, high) == interval([-1.0, 0.0, 1.0, 2.0])
    assert -1 <= low < 0.5 < high <= 2
    assert interval([0.5, 0.5, 0.5]) == (0.5, 0.5)


def test_a_reader_has_read_nothing_of_the_sources_that_it_judges(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    likelihood, recordings = script("likelihood"), script("recordings")
    texts = {"one": "alpha", "two": "beta", "three": "gamma"}

    def load(path: Any) -> Any:
        said = [message("user", texts[path.name]), *step(0, "ok")]
        return recordings.Recording(path.name, path.name, said, None, ())

    monkeypatch.setattr(likelihood.recordings, "paths", lambda: [*map(Path, texts)])
    monkeypatch.setattr(likelihood.recordings, "load", load)

    reader = likelihood.read_others({"one", "two"})

    known, other = (reader.probability([], texts[name]) for name in ("three", "one"))
    assert known > other == reader.probability([], texts["two"])
