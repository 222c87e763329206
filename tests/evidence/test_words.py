"""Which words are evidence, what they are evidence of, and the numbers that stand for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.evidence import Lexicon
from context_compression.evidence.words import (
    KINDS,
    PROSE_KINDS,
    Numbering,
    is_prose,
    kind_of,
    trimmed,
)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("src/app.py", "path"),
        ("main.py", "path"),
        ("/etc/hosts", "path"),
        (r"C:\Users\ann", "path"),
        ("package-lock.json", "path"),
        ("https://example.org/a?b=1", "url"),
        ("parseHeader", "symbol"),
        ("parse_header", "symbol"),
        ("SessionStore.refresh", "symbol"),
        ("std::vector", "symbol"),
        ("DATABASE_URL", "symbol"),
        ("--maxfail", "flag"),
        ("8080", "number"),
        ("2.4.1", "number"),
        ("120ms", "number"),
        ("87.5%", "number"),
        ("9f31bc02", "id"),
        ("0b5c9f1e-32aa-4a8e-9d1c-77a0b12c3d4e", "id"),
        ("CORE-118", "id"),
        ("hello", None),
        ("Hello", None),
        ("I", None),
        ("7", None),
        ("and/", None),
        ("--", None),
        ("//////", None),
        ("deadbeef", None),  # a word like any other: no digit in it
    ],
)
def test_words_are_evidence_of_paths_names_numbers_ids_or_of_nothing(
    word: str, kind: str | None
) -> None:
    assert kind_of(word) == kind


@pytest.mark.parametrize(
    ("word", "bare"),
    [
        ("src/app.py:88:", "src/app.py"), ("src/app.py:88:12", "src/app.py"),
        ("./main.py,", "main.py"), ("main.py.", "main.py"), ("@ann", "ann"), ("#412.", "#412"),
        ("#main", "main"), ("https://example.org/", "https://example.org"),
        ("parse_header", "parse_header"),
    ],
)  # fmt: skip
def test_punctuation_and_line_numbers_are_no_part_of_a_word(word: str, bare: str) -> None:
    assert trimmed(word) == bare


def test_a_word_has_one_number_in_whatever_dress() -> None:
    numbering = Numbering()

    first = numbering.numbers("see src/app.py:88 and parse_header.")
    again = numbering.numbers("(src/app.py) ./src/app.py, src/app.py:7:2 parse_header")

    assert set(first) == set(again)
    assert {KINDS[numbering.kinds[number]] for number in first} == {"path", "symbol"}


def test_a_lexicon_tells_words_as_they_are_without_their_dress() -> None:
    words = Lexicon().words("(src/app.py) ./src/app.py, src/app.py:7:2 see parse_header.")

    assert words == {("src/app.py", "path"), ("parse_header", "symbol")}


def test_plain_words_get_no_number() -> None:
    numbering = Numbering()

    assert not [*numbering.numbers("The quick brown fox jumps over it again and again")]
    assert len(numbering) == 1


def test_what_tells_too_little_by_itself_is_no_evidence_in_a_text() -> None:
    text = "  88→see 12-40 or /help, d.h. e.g. this\n  89→M65.69C36.18 h-3.5 18L18"
    numbering = Numbering()

    assert Lexicon().words(text) == set()
    assert len([*numbering.numbers(text)]) == 0
    assert {word for word, _ in Lexicon(kind_of).words(text)} > {"/help", "12-40"}


@pytest.mark.parametrize(
    "word",
    [
        "8080", "12-4000", "#412", "100ms", "2.4.1", "3.12.0b1", "v1.2.3-b4", "0x7f3a", "E0308",
        "i18n", "h264", "u_12345", "p1-2034", "T::U", "2026-03-08T12:01:00+02", "/srv/app",
        r"/srv\app", "/app.py", "ab.c",
    ],
)  # fmt: skip
def test_numbers_codes_versions_and_files_are_evidence_in_a_text(word: str) -> None:
    assert [found for found, _ in Lexicon().words(f"see {word} now")] == [word]
    assert len([*Numbering().numbers(f"see {word} now")]) == 1


def test_a_part_of_a_text_has_only_its_own_words() -> None:
    numbering = Numbering()
    text = "first main.py\nthen other.py"

    first, second = numbering.numbers_of(text, [(0, 13), (14, len(text))])

    assert [*first] == [*numbering.numbers("main.py")]
    assert [*second] == [*numbering.numbers("other.py")]
    assert [*first] != [*second]


def test_a_name_that_ends_in_a_number_or_a_capital_is_evidence() -> None:
    words = Lexicon().words("after step1 it hashes what vitaminC left")

    assert words == {("step1", "symbol"), ("vitaminC", "symbol")}


def test_a_comment_is_no_path_and_a_time_no_name() -> None:
    words = Lexicon().words("//nolint:gosec at 2026-03-08T12:01:00.000Z in 12T34 //go:build")

    assert {kind for _, kind in words} == {"number"}


def test_a_name_before_a_line_break_in_json_is_that_name() -> None:
    words = Lexicon().words(r"{'log': '\n\nparse_header\n see C:\srv\app.py\n\n'}")

    assert words == {("parse_header", "symbol"), (r"C:\srv\app.py", "path")}


def test_the_end_of_an_element_is_no_path() -> None:
    words = Lexicon().words("<b>/srv/app</b></system-reminder> <sys/types.h> a</span>")

    assert words == {("/srv/app", "path"), ("sys/types.h", "path")}


def test_letters_beyond_ascii_part_words_and_move_none() -> None:
    numbering = Numbering()
    text = "naïve 🙂 读取main.py\nother.py \ud800"

    first, second = numbering.numbers_of(text, [(0, 17), (18, len(text))])

    assert [*first] == [*numbering.numbers("main.py")]
    assert [*second] == [*numbering.numbers("other.py")]


@given(st.lists(st.text(alphabet="aZ_./:0 \n", max_size=60)))
def test_packed_words_keep_their_numbers_and_others_get_new_ones(texts: list[str]) -> None:
    packed, plain = Numbering(), Numbering()
    half = len(texts) // 2
    before = [[*packed.numbers(text)] for text in texts[:half]]

    packed.pack()
    after = [[*packed.numbers(text)] for text in texts]

    assert after[:half] == before
    assert after == [[*plain.numbers(text)] for text in texts]
    assert len(packed) == len(plain)


@given(st.text("a1n.:,-+@~$#\\/", max_size=30))
def test_what_was_trimmed_stays_as_it_is(word: str) -> None:
    assert trimmed(trimmed(word)) == trimmed(word)


@pytest.mark.parametrize("first", [0, 1])
def test_a_word_has_one_number_whichever_way_it_was_met_first(first: int) -> None:
    met = ("+page.svelte:12", "./+page.svelte")
    numbering = Numbering()
    numbering.numbers(met[first])

    assert [*numbering.numbers(met[0])] == [*numbering.numbers(met[1])] == [1]


def test_the_place_behind_a_path_goes_and_a_long_row_of_numbers_is_no_work() -> None:
    assert trimmed("src/a.py:12") == trimmed("src/a.py:12:3") == "src/a.py"
    assert trimmed("12:" * 50_000 + "Z") == "12:" * 50_000 + "Z"


def kinds_of(text: str) -> list[str]:
    numbering = Numbering(prose=True)
    kinds = (*KINDS, *PROSE_KINDS)
    return sorted(kinds[numbering.kinds[number]] for number in numbering.numbers(text))


def test_in_prose_names_titles_and_plain_words_have_numbers() -> None:
    assert kinds_of("I saw it with Emily.") == ["name", "term", "term"]  # saw, it: too short
    assert kinds_of("It is “The old man”.") == ["name"]
    assert kinds_of("for 25 of us") == ["term"]
    assert kinds_of("see src/app.py") == ["path"]


def test_in_prose_a_script_without_blanks_is_read_in_pairs() -> None:
    assert kinds_of("喝茶去") == ["pair", "pair"]
    assert kinds_of("《红楼梦》") == ["name", "pair", "pair"]


def test_in_prose_a_word_has_one_number_wherever_it_stands() -> None:
    numbering = Numbering(prose=True)

    first = numbering.numbers("The harbour was quiet at 12, said Emily.")
    again = numbering.numbers("Quiet harbour! 12")

    assert len({*again}) == 3
    assert {*again} < {*first}


@pytest.mark.parametrize(
    ("one", "other"),
    [("written in 1984 by him", "It is “1984”."), ("so much goodfood", r"a\ngoodfood")],
)
def test_in_prose_a_word_is_the_same_whatever_was_read_before(one: str, other: str) -> None:
    first, last = Numbering(prose=True), Numbering(prose=True)
    first.numbers(one)

    found = [[n.kinds[number] for number in n.numbers(other)] for n in (first, last)]

    assert sorted(found[0]) == sorted(found[1])


def test_prose_holds_hardly_any_evidence() -> None:
    assert is_prose(["So we went down to the harbour.", "It was quiet there, and cold."])
    assert not is_prose(["So we went down to src/app.py.", "It was quiet there, and cold."])
