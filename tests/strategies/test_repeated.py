"""Sentences that several texts hold, as spans of the texts."""

from hypothesis import given
from hypothesis import strategies as st

from context_compression.strategies.repeated import repeated_sentences

AGAIN = "The road to the mill is closed today."
NARROW = "See you soon then."


def shown(texts: list[str]) -> list[str]:
    spans = repeated_sentences(texts)
    return [text[start:stop] for text in spans for start, stop in spans[text]]


def test_a_sentence_of_three_texts_is_found_with_the_blanks_behind_it() -> None:
    texts = [f"Day {n}. {AGAIN} We walk {n} miles." for n in range(3)]

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


def test_a_name_with_a_dot_does_not_end_a_sentence() -> None:
    sentence = "Look at src/mill.py before you open gate 2.5 of it."

    assert shown([f"{n} times! {sentence} Then go {n}." for n in range(3)]) == [f"{sentence} "] * 3


@given(st.lists(st.text(alphabet="ab. \n。！", max_size=200), max_size=6))
def test_spans_are_in_order_and_apart(texts: list[str]) -> None:
    for text, spans in repeated_sentences([*texts, *(f"{text}b" for text in texts)]).items():
        ends = [at for span in spans for at in span]
        assert ends == sorted(ends)
        assert spans[-1][1] <= len(text)
        assert all(start < stop for start, stop in spans)
