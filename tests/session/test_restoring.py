"""`context_restore` pages and answers alike at every door."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression import Session, restore_tool
from context_compression.errors import StoreError
from context_compression.session import PAGE
from context_compression.session.pages import page
from context_compression.session.restoring import Asked


@given(st.text(max_size=50).map(lambda text: text * 600), st.text(max_size=5), st.booleans())
def test_pages_joined_are_the_text(text: str, key: str, by_start: bool) -> None:
    joined, asked = "", Asked()
    while True:
        shown = page(text, key, asked)
        joined += shown.text
        if shown.cursor is None:
            break
        asked = Asked(start=shown.stop) if by_start else Asked(cursor=shown.cursor)

    assert joined == text


LINES = st.lists(st.integers(0, 2_500).map(lambda length: "x y," * (length // 4)), max_size=12)


@given(LINES, st.integers(0, 9_000))
def test_a_page_is_whole_lines_unless_one_line_is_longer_than_a_page(
    lines: list[str], place: int
) -> None:
    text = "\n".join(lines) or "x"
    start = place % len(text)

    shown = page(text, "key", Asked(start=start), 1_000)

    def cut_at(place: int) -> bool:
        return 0 < place < len(text) and text[place - 1] != "\n"

    line = text[text.rfind("\n", 0, shown.stop) + 1 :].split("\n")[0]
    assert len(shown.text) <= 1_000
    assert shown.start <= start
    assert cut_at(shown.stop) is shown.within_line
    assert not shown.within_line or len(line) >= 1_000
    assert shown.start == start or not cut_at(shown.start)


def test_a_line_longer_than_a_page_is_cut_between_words_and_the_answer_says_so(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path, "s")
    ref = session.offload(" ".join(f"{n}.50" for n in range(3_000)))

    first = restore_tool(session).answer({"ref": ref})
    number = int(first.split("start=")[1].split(" ")[0])
    second = restore_tool(session).answer({"ref": ref, "start": number})

    assert "ends within a line, which is longer than a page; goes on at start=" in first
    assert first.splitlines()[2].endswith(".50 ")
    assert "." in second.splitlines()[2].split()[0]


def test_a_start_within_a_line_begins_with_the_line(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    ref = session.offload("\n".join(f"row {n}: amount={n * 7919}.50 EUR" for n in range(900)))

    shown = restore_tool(session).answer({"ref": ref, "start": 8_000})

    assert shown.splitlines()[2].startswith("row ")
    assert shown.splitlines()[-3].endswith(" EUR")


def test_a_line_without_spaces_is_cut_at_the_end_of_the_page() -> None:
    assert len(page("x" * 3 * PAGE, "key", Asked()).text) == PAGE


@given(st.text(max_size=20))
def test_no_other_cursor_is_taken(cursor: str) -> None:
    with pytest.raises(StoreError, match="does not belong to this text"):
        page("x" * 20_000, "key", Asked(cursor=cursor))
