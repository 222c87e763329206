"""`context_restore` pages and answers alike at every door."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.errors import StoreError
from context_compression.session import PAGE
from context_compression.session.restoring import Asked, page


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


@given(st.integers(1, 30), st.integers(1, 400))
def test_a_page_ends_behind_a_line_unless_the_line_is_long(size: int, length: int) -> None:
    text = "".join(f"{n:0{length}}\n" for n in range(size))

    shown = page(text, "key", Asked(), 1_000)

    assert shown.text.endswith("\n")


def test_a_long_line_is_cut() -> None:
    assert len(page("x" * 3 * PAGE, "key", Asked()).text) == PAGE


@given(st.text(max_size=20))
def test_no_other_cursor_is_taken(cursor: str) -> None:
    with pytest.raises(StoreError, match="does not belong to this text"):
        page("x" * 20_000, "key", Asked(cursor=cursor))
