"""What is kept as the room shrinks: curves, cliffs and their pictures."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .conftest import message

pytestmark = pytest.mark.slow

Messages = list[dict[str, Any]]
Script = Callable[[str], ModuleType]

ADOPTED = "We adopted a grey kitten called Mortimer in Lisbon last November."


def talk(script: Script) -> Any:
    """Two people; what is asked later stands at the beginning."""
    said = [message("user", "Hello there."), message("assistant", ADOPTED)]
    for number in range(60):
        text = f"Harvest number {number} of the orchard brought pears, plums, quinces."
        said.append(message("assistant" if number % 2 else "user", text))
    asked = [{"q": "Which kitten was adopted in Lisbon?", "a": "Mortimer", "ev": [1]}]
    saved = {"id": "own", "messages": said, "qa": asked}
    return script("field.conversations").conversation(saved, "locomo")


def curve(script: Script, values: list[float], **more: Any) -> Any:
    sweep = script("sweep")
    parts = {"column": sweep.AGENTS, "method": "context-compression", "id": "own"} | more
    points = [(0.4 * 0.85**at, value) for at, value in enumerate(values)]
    return sweep.Curve(**parts, points=points)


def test_the_rooms_shrink_evenly_from_40_to_3_percent(script: Script) -> None:
    rooms = script("sweep").ROOMS

    assert rooms[0] == 0.4
    assert rooms[-1] > 0.03 >= 0.85 * rooms[-1]
    assert {round(small / large, 9) for large, small in pairwise(rooms)} == {0.85}


def test_only_a_fall_by_too_much_from_one_room_to_the_next_is_a_cliff(script: Script) -> None:
    assert curve(script, [0.9, 0.8, 0.7, 0.6]).cliffs == 0
    assert curve(script, [0.9, 0.7, 0.69, 0.4]).cliffs == 2
    assert curve(script, [0.4, 0.9]).cliffs == 0
    chats = script("sweep").NAMES["beam"]
    assert curve(script, [0.9, 0.76, 0.6], column=chats).cliffs == 1


def test_a_talk_is_judged_at_every_room_and_after_five_compressions(script: Script) -> None:
    sweep = script("sweep")
    methods = {"context-compression", *sweep.RULES}

    found = [*sweep.of_talk(talk(script))]

    rooms = {each.method: each for each in found if each.column == "talk of two"}
    assert {*rooms} == methods
    assert {len(each.points) for each in rooms.values()} == {len(sweep.ROOMS)}
    sizes = [size for size, _ in rooms["context-compression"].points]
    assert sizes == sorted(sizes, reverse=True)
    assert {value for _, value in rooms["last-N"].points} == {0}
    assert {value for _, value in rooms["observation masking"].points} == {1}
    five = {each.method: each for each in found if each.column == sweep.FIVE}
    assert {*five} == methods
    assert [value for _, value in five["last-N"].points] == [0, 0]


def test_q_of_a_view_is_of_those_parts_of_which_something_is_needed(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep: Any = script("sweep")
    scores = {"GFRR": 0.5, "GFRR far": None, "NGR": None, "UIS": 1.0}

    def score(*given: Any) -> Any:
        return scores

    monkeypatch.setattr(sweep, "score", score)

    place: Any = sweep.Place(None, None, None, None)
    assert sweep.q_of(place, []) == pytest.approx((0.35 * 0.5 + 0.2) / 0.55)


def test_the_tables_tell_means_over_all_sizes_and_cliffs_with_true_sizes(script: Script) -> None:
    curves = [
        curve(script, [0.9, 0.5]), curve(script, [0.7, 0.7], id="other"),
        curve(script, [0.8, 0.8], method="last-N"),
        curve(script, [0.8, 0.84], method="last-N", id="other"),
    ]  # fmt: skip

    kept, cliffs = script("sweep").tables(curves)

    assert [*kept.lines()][2] == "| **context-compression** | 0.70 (37 %) |  |  |"
    assert "last-N (agents (Q): 0.81 against 0.70)" in " ".join(kept.sentences())
    assert "Histories: 2 of agents (Q), 0 of talk of two, 0 of chats." in kept.notes
    assert [*cliffs.lines()][2] == "| **context-compression** | 1 (37 %) |  |  |  |"
    assert "last-N (agents (Q): 0 against 1)" in " ".join(cliffs.sentences())


def test_the_picture_has_the_mean_of_all_histories_at_each_room(
    script: Script, tmp_path: Path
) -> None:
    sweep = script("sweep")
    curves = [
        curve(script, values, method=method, id=id)
        for method in ("context-compression", *sweep.RULES)
        for id, values in (("own", [0.9, 0.5]), ("other", [0.7, 0.3]))
    ]

    sweep.draw(curves, tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["sizes.svg"]
    text = (tmp_path / "sizes.svg").read_text(encoding="utf-8")
    assert "<title>context-compression: 0.80 at 40%</title>" in text
    assert "<title>users + masked results: 0.40 at 34%</title>" in text
