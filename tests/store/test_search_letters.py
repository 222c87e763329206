"""One form for letters that are written in several."""

import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from context_compression.store.search.letters import any_form_of, before_folding, folded

TEXTS = st.text(
    st.sampled_from("aZ9 \n.後后網网ｶﾞがeé\u0301한\u1112\u1161\u11abﬁ½…Ａ１İ🇩🇪") | st.characters()
)


@given(TEXTS)
def test_a_folded_text_is_folded_and_has_the_same_lines(text: str) -> None:
    assert folded(folded(text)) == folded(text)
    assert folded(text).count("\n") == text.count("\n")
    assert "\n".join(map(folded, text.split("\n"))) == folded(text)


@given(TEXTS, TEXTS)
def test_an_offset_in_the_folded_text_leads_to_what_stands_there(before: str, after: str) -> None:
    text = f"{before} 網 {after}"
    at = len(folded(f"{before} "))

    assert folded(text[before_folding(text, at) :]).startswith("网")


@pytest.mark.parametrize(
    ("one", "same"),
    [("網關", "网关"), ("体裏", "体里"), ("ＡＢＣ", "ABC"), ("x", "x"), ("ЁЛКА, ещё", "ЕЛКА, еще")],
)
def test_each_form_becomes_one(one: str, same: str) -> None:
    assert folded(one) == folded(same) == same


@given(TEXTS)
def test_a_pattern_for_any_form_matches_the_folded_text(text: str) -> None:
    assert regex.fullmatch(any_form_of(folded(text)), folded(text))


def test_a_letter_of_its_own_is_not_folded() -> None:
    assert folded("мой, мои\u0306") == "мой, мой" != folded("мои, мои")


def test_a_pattern_for_any_form_matches_yo() -> None:
    assert re.search(any_form_of("елка"), "ёлка")
    assert re.search(any_form_of("мои"), "мой") is None


def test_a_pattern_for_any_form_matches_traditional_characters() -> None:
    assert re.search(any_form_of("网关"), "支付網關")
    assert re.search(any_form_of("a.b"), "axb") is None
