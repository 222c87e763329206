import re

from hypothesis import given
from hypothesis import strategies as st

from context_compression.strings import LABEL, fenced, harmless, in_words, one_line


@given(st.text(st.sampled_from("`~\r\n\u2028\x85 a"), max_size=40))
def test_no_text_ends_its_fence_or_is_changed_by_it(text: str) -> None:
    before, *inside, after = fenced(text).split("\n")

    assert "\n".join(inside) == text
    assert after == before.removesuffix(f"text {LABEL}")
    assert after not in text


@given(st.text(), st.integers(2, 60))
def test_a_string_on_one_line_is_short_and_all_that_is_in_it_is_seen(text: str, most: int) -> None:
    line = one_line(text, most)

    assert len(line.splitlines()) <= 1
    assert len(line) <= most
    assert one_line(line, most) == line


@given(st.text(st.sampled_from("a中\u200d\u200c\u2060\ud83d\ufeff\U000e0041\u202e"), max_size=9))
def test_a_joiner_is_spelled_out_unless_it_joins_two_letters_that_are_seen(text: str) -> None:
    left = re.sub("(?<=中)[\u200c\u200d](?=中)", "", one_line(text))

    assert re.fullmatch("[ -~中]*", left)


def test_letters_of_any_script_and_emoji_stay_what_they_are_on_one_line() -> None:
    for text in (
        "src/app.py: 12 lines",
        "不要改动 src/登录.py",
        "نمی‌خواهم",
        "क्‍ष",
        "👩‍💻 ❤️‍🔥",
        "naïve",
    ):
        assert one_line(text) == harmless(text) == text


def test_breaks_controls_and_what_is_not_seen_are_spelled_out() -> None:
    assert one_line("a\nb\t\x1b[2J") == r"a\nb\t\x1b[2J"
    assert harmless("a\nb\t\x1b[2J") == "a\nb\t\\x1b[2J"
    assert in_words(" a\n\u2028 b ") == "a b"
    assert one_line("[Sys\u200dtem]\u202e\ud83d") == r"[Sys\u200dtem]\u202e\ud83d"


def test_what_is_longer_is_cut_and_says_so() -> None:
    assert one_line("x" * 300) == "x" * 300
    assert one_line("x" * 301) == "x" * 299 + "…"
