"""Texts cut into pieces, and the choice among them."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import render
from context_compression.planning import Cutter, Pool, Source
from context_compression.planning.pieces import DUE, spans


def pieces_of(text: str) -> list[str]:
    return [text[start:stop] for start, stop in zip(*spans(text), strict=True)]


@given(st.text(alphabet="ab \n", max_size=3000) | st.text(max_size=300))
def test_pieces_hold_every_character_of_a_text_but_newlines(text: str) -> None:
    pieces = [*zip(*spans(text), strict=True)]

    assert all(a < b for a, b in pieces)
    assert all(first[1] <= second[0] for first, second in pairwise(pieces))
    covered = {n for a, b in pieces for n in range(a, b)}
    assert all(text[n] == "\n" for n in range(len(text)) if n not in covered)


def test_a_piece_does_not_reach_from_one_block_hunk_or_row_into_the_next() -> None:
    blocks = [
        "x = 1\ny = 2", "@@ -1,2 +1,2 @@\n-a\n+b", "diff --git a/x b/x\nindex 1..2",
        "# Title\nsome words", "| a | 1 |", "| b | 2 |", "def first():\n    pass",
        "def second():\n    pass",
    ]  # fmt: skip
    text = "\n".join(blocks) + "\n\nafter a blank line"

    assert pieces_of(text) == [*blocks, "after a blank line"]


def test_a_long_line_without_blanks_is_divided_between_its_words() -> None:
    paths = [f"src/part_{n}/module_{n}.py" for n in range(200)]
    text = ",".join(paths)

    found = [path for piece in pieces_of(text) for path in piece.split(",")]
    assert [path for path in found if path] == paths


def test_a_long_line_is_divided_where_its_sentences_end() -> None:
    sentences = [
        f"Step {n} is to look at what module_{n} does with an empty list." for n in range(40)
    ]

    pieces = pieces_of(" ".join(sentences))

    assert all(piece.strip().endswith(".") for piece in pieces)
    assert all(piece.startswith("Step ") for piece in pieces)


def test_json_on_one_line_is_divided_at_its_members_and_the_lines_in_its_strings() -> None:
    body = "".join(f"{n} def function_{n}(value):  # what it is for\n" for n in range(40))
    entry = {"path": "src/first/module.py", "mode": "a text without any blank".replace(" ", "_")}

    in_string = pieces_of(json.dumps({"body": body}))
    members = pieces_of(json.dumps([entry] * 20, separators=(",", ":")))

    assert all(piece.endswith(("\\n", '"}')) for piece in in_string)
    assert all(piece.startswith(("[", '"path', '"mode', "{")) for piece in members)
    assert len(members) > 8


@given(st.text(alphabet="ab \n", max_size=2000))
def test_rendering_all_pieces_gives_the_text_back(text: str) -> None:
    pieces = [*zip(*spans(text), strict=True)]

    assert render(text, pieces).strip("\n") == text.strip("\n")


@given(st.text(alphabet="ab. ", max_size=900), st.data())
def test_repeated_sentences_are_pieces_of_their_own_and_nothing_is_lost(
    text: str, data: st.DataObject
) -> None:
    ends = data.draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True).map(sorted))
    repeated = tuple(zip(ends[::2], ends[1::2], strict=False))
    cutter = Cutter()

    whole, parts = cutter(text), cutter(text, repeated)

    def characters(pieces: range) -> set[int]:
        return {n for at in pieces for n in range(cutter.starts[at], cutter.stops[at])}

    assert characters(parts) == characters(whole)
    for start, stop in repeated:
        inside = {n for n in range(start, stop) if n in characters(whole)}
        touching = [at for at in parts if cutter.starts[at] < stop and cutter.stops[at] > start]
        assert {n for at in touching for n in range(cutter.starts[at], cutter.stops[at])} == inside
    assert cutter(text) == whole
    assert cutter(text, repeated) == parts


def test_pieces_beside_a_chosen_one_come_before_their_equals_elsewhere() -> None:
    lines = [f"this line of them is about handle_{n}_request and nothing else" for n in range(9)]
    lines[0] = lines[-1] = "this line of them is about how quiet it is, and nothing else"
    lines[4] = lines[4].replace("nothing", "open_door, nothing")
    pool = Pool(Cutter())
    pool.add(Source(0, 0, "\n".join(lines), 180, 0))

    chosen = pool.choice([], []).take(75)

    assert list(chosen) == [4, 5, 6]


def test_what_is_in_view_is_worth_nothing_more() -> None:
    pool = Pool(Cutter())
    pool.add(Source(0, 0, "call open_door and see", 10, 2))
    pool.add(Source(1, 0, "call open_door or wait", 10, 2))
    pool.add(Source(2, 0, "see 1234 of them there", 10, 2))

    chosen = pool.choice([], []).take(45)

    assert list(chosen) == [1, 2, 0]


def test_of_equal_pieces_the_newest_are_chosen() -> None:
    pool = Pool(Cutter())
    for index in range(1_000):
        pool.add(Source(index, 0, f"see file_{index:03}.py now", 10, 2))

    chosen = pool.choice([], []).take(33)

    assert len({*map(pool.tokens, range(len(pool)))}) == 1
    assert list(chosen) == [*range(999, 999 - len(chosen), -1)]
    assert len(chosen) < 10


def test_of_equal_pieces_those_come_first_that_nothing_replaced_since() -> None:
    text = "\n".join(
        f"this line of them is about file_{n}.py and about nothing else" for n in range(9)
    )
    outdated = [(text.index("file_6"), text.index("file_7"))]
    pool = Pool(Cutter())
    pool.add(Source(0, 0, text, 180, 0), outdated)

    chosen = pool.choice([], []).take(1_000)

    assert len(chosen) == 9
    assert {*chosen[-2:]} == {6, 7}


def test_what_did_not_fit_is_taken_when_more_room_is_found() -> None:
    pool = Pool(Cutter())
    for index in range(4):
        pool.add(Source(index, 0, f"see file_{index}.py now", 10, 2))
    choice = pool.choice([], [])

    first, second = choice.take(15), choice.take(40)

    assert 0 < len(first) < 4
    assert list(first + second) == [3, 2, 1, 0]


def test_a_box_that_was_ticked_leaves_its_neighbours_due() -> None:
    text = "- [ ] a_1\n- [ ] b_2\n- [ ] c_3"
    pool = Pool(Cutter())

    pool.add(Source(0, 0, text, 20, 0), [(10, 19)], [(0, 9), (10, 19), (20, 29)])

    assert [bool(signs & DUE) for signs in pool.signs] == [True, False, True]
