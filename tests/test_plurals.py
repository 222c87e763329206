"""Numbers and the words that go with them."""

import pytest

from context_compression.plurals import how_many, in_range


@pytest.mark.parametrize(
    ("number", "thing", "said"),
    [
        (0, "file", "0 files"), (1, "message", "1 message"), (2, "message", "2 messages"),
        (1_200, "more entry", "1,200 more entries"), (1, "summary", "1 summary"),
        (3, "summary", "3 summaries"),
    ],
)  # fmt: skip
def test_a_thing_is_one_or_several(number: int, thing: str, said: str) -> None:
    assert how_many(number, thing) == said


def test_a_range_of_one_is_no_range() -> None:
    assert in_range("line", 5, 5) == "line 5"
    assert in_range("line", 5, 1_200) == "lines 5-1200"
