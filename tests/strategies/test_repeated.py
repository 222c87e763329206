"""Sentences that several texts hold, as spans of the texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.strategies.repeated import repeated_sentences

AGAIN = "The road to the mill is closed today."
NARROW = "See you soon then."


def shown(texts: list[str], users: bool = False) -> list[str]:
    spans = repeated_sentences(texts, texts if users else ())
    return [text[start:stop] for text in spans for start, stop in spans[text]]


def test_a_sentence_of_three_texts_is_found_with_the_blanks_behind_it() -> None:
    texts = [f"Day {n}! {AGAIN} We walk {n} miles." for n in range(3)]

    assert shown(texts) == [f"{AGAIN} "] * 3
    assert shown(texts[:2]) == []


def test_texts_and_not_places_are_counted() -> None:
    text = f"One. {AGAIN} {AGAIN} {AGAIN} Two."

    assert shown([text] * 3) == []
    assert len(shown([text, f"{text} Three.", f"{text} Four."])) == 9


def test_a_whole_line_counts_and_is_left_out() -> None:
    texts = [f"{n}\n{AGAIN}\n{n}" for n in range(3)]

    assert shown(texts) == []
    assert shown([*texts, f"By the way: so. {AGAIN}"]) == [AGAIN]


def test_a_narrow_sentence_is_left_out_and_chinese_ones_have_half_as_many_characters() -> None:
    assert shown([f"Day {n}. {NARROW} Bye {n}." for n in range(3)]) == []
    assert (
        shown([f"第{n}天。通往磨坊的路今天封闭了。明天见{n}。" for n in range(3)])
        == ["通往磨坊的路今天封闭了。"] * 3
    )


def test_a_line_that_says_much_else_stays_whole() -> None:
    much = "Nobody knows how many carts the miller sold to the people of the valley in that winter"

    assert shown([f"{AGAIN} {much} of {n}." for n in range(3)]) == []
    assert (
        shown([f"{AGAIN}\n{AGAIN} The day is {n}.\n{much}" for n in range(3)]) == [f"{AGAIN} "] * 3
    )


@pytest.mark.parametrize(
    "words",
    [
        "It belongs to no. 17 and to Mr. Miller of the old mill.",
        "It comes on the 3. March to this mill, e.g. Tuesday.",
        "Look at src/mill.py before you open gate 2.5 of it.",
    ],
)
def test_a_dot_that_ends_no_sentence_divides_nothing(words: str) -> None:
    texts = [f"{n} times! {words} Then go {n}." for n in range(3)]

    assert shown(texts) == [f"{words} "] * 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Never do any of the following on this server.", "Delete folder {n}."),
        ("Only if the backup has failed two times.", "Drop table {n}."),
        ("The statement below was withdrawn by us.", "The mill is sold to {n}."),
        ("在这台服务器上绝对不要做以下任何一件事情。", "删除文件夹{n}。"),
        ("只有在备份连续失败两次的情况之下才可以。", "删除表{n}。"),
    ],
)
def test_a_sentence_that_says_something_of_the_next_one_stays_with_it(
    before: str, after: str
) -> None:
    assert shown([f"{before} {after.format(n=n)}" for n in range(3)]) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The road to the mill is closed today.", "That was wrong on day {n}."),
        ("The road to the mill is closed today.", "Item {n} is no longer true."),
        ("通往磨坊的路今天封闭了。", "这一条在第{n}次会议后已作废。"),
    ],
)
def test_a_sentence_stays_with_what_takes_it_back(before: str, after: str) -> None:
    assert shown([f"{before} {after.format(n=n)}" for n in range(3)]) == []


def test_what_the_user_says_only_once_keeps_the_sentences_beside_it() -> None:
    first, second = "The mill is old and nobody works in it. ", "The valley has a single road. "
    texts = [f"{first}{second}{AGAIN} Stop at gate {n}." for n in range(3)]

    assert shown(texts, users=True) == [first, second] * 3
    assert shown(texts) == [first, second, f"{AGAIN} "] * 3


@pytest.mark.parametrize(
    "line",
    [
        'raise Closed("{again} Try gate {n}")',
        '{{"note": "{again} Gate {n}", "port": 8080}}',
        "| {again} Gate {n} | open |",
        "    {again} Gate {n}",
    ],
)
def test_code_json_and_tables_stay_whole(line: str) -> None:
    assert shown([line.format(again=AGAIN, n=n) for n in range(3)]) == []


@given(st.lists(st.text(alphabet="ab. \n。！", max_size=200), max_size=6), st.booleans())
def test_spans_are_in_order_and_apart(texts: list[str], users: bool) -> None:
    texts = [*texts, *(f"{text}b" for text in texts)]

    for text, spans in repeated_sentences(texts, texts if users else ()).items():
        ends = [at for span in spans for at in span]
        assert ends == sorted(ends)
        assert ends[-1] <= len(text)
        assert all(start < stop for start, stop in spans)
