"""Outputs with lines that repeat are written shorter, and nothing is left out."""

from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st
from written_out import written_out

from context_compression.session.arrivals import with_patterns

LOG = "\n".join(f"src/part_{n % 3}.c:{n}: warning: unused variable v7_{n}" for n in range(6))


def test_lines_that_differ_only_in_numbers_become_a_pattern():
    assert with_patterns(f"{LOG}\nsrc/main.c:9: error") == (
        "A: src/part_{1}.c:{2}: warning: unused variable v7_{2}\n\n"
        "A 0 0\nA 1 1\nA 2 2\nA 0 3\nA 1 4\nA 2 5\n"
        "src/main.c:9: error"
    )


def test_a_letter_that_lines_begin_with_is_not_taken():
    shorter = with_patterns(f"A 1 is here\nB: too\n{LOG}")

    assert cast("str", shorter).startswith("C: src/part_{1}.c")


def test_a_text_that_begins_like_a_pattern_is_not_taken_for_one():
    text = f"B: delete part {{1}}\n{LOG}\nB 7"

    assert written_out(cast("str", with_patterns(text))) == text


def test_text_without_such_lines_stays_as_it_is():
    assert with_patterns("") is None
    assert with_patterns("def f(x):\n    return x + 1\n" * 2) is None
    assert with_patterns("see {1} and 2\n" * 20) is None


LINES = st.one_of(
    st.sampled_from(
        ["", "A", "A 1", "A: ", "B: at {1}", "{", "ok", "x{1}y 3", "Z: 9", "99", "tab\t1\r"]
    ),
    st.builds("at {}:{} of {} in step {}".format, *[st.integers(0, 120)] * 4),
    st.builds("{:03}-{} {:02}".format, *[st.integers(0, 50)] * 3),
)


@settings(max_examples=60)
@given(st.lists(LINES, max_size=60))
def test_nothing_is_left_out(lines: list[str]):
    text = "\n".join(lines)

    shorter = with_patterns(text)

    assert shorter is None or (written_out(shorter) == text and len(shorter) < len(text))
