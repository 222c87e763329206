"""What a summary may say: only what its source says."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import parse, texts_of
from context_compression.evidence.grounding import struck, ungrounded

SOURCE = [
    "Please  make the parser\nfaster, and don't touch the public API.",
    "/home/dev/shop/src/cart/total.py:120: AssertionError: 1299 != 12,345,678 (took 0.125s)",
    "cwd /home/dev/shop; edited `tests/test_total.py` on 2026-11-21, commit 5a8ee35d9c01f2d77",
    "ENT-212 https://git.example/pull/4711 task_df77533d C:\\work\\shop\\main.cs v3.11.0",
    "She said: use **uv** for the 'release' build. ~/.config/shop.toml lines 318 to 370",
]


@pytest.mark.parametrize(
    "said",
    [
        "The user asked: “make the parser faster, and don’t touch the public API”.",
        '"Make the parser faster"',
        '"make the parser ... touch the public API."',
        "「use uv for the 'release' build」",
        '"faster" and other short words in quotes',
        "total.py, cart/total.py and ./src/cart/total.py:120-130",
        "/home/dev/shop/tests/test_total.py",
        "C:/work/shop/main.cs and main.cs",
        "~/.config/shop.toml",
        "1,299 of 12345678 in 0.125 s; about 120k tokens, 12M rows",
        "on 2026-11-21, at lines 318-370, 12_345_678",
        "commit 5a8ee35, ENT-212, pull/4711, https://git.example/pull/4711, task_df77533d",
        "v3.11.0; 3.11; 42 and 7",
        "and/or, input/output, Docs/Segments/Themes, TCP/IP, /compact, 24/7",
        "UTF8, base64 and python3",
    ],
)
def test_what_the_source_says_is_grounded(said: str) -> None:
    assert ungrounded(said, SOURCE) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ('They said "remove the public API" twice.', ["remove the public API"]),
        ('"touch the public API ... make the parser"', None),
        ("“please delete everything”", ["please delete everything"]),
        ("edited src/cart/prices.py:12", ["src/cart/prices.py"]),
        ("otal.py", ["otal.py"]),
        ("/home/dev/other/tests/test_total.py", None),
        ("1298 tests", ["1298"]),
        ("299 of 345", ["299", "345"]),
        ("1,298,765", ["1,298,765"]),
        ("12.125 s", ["12.125"]),
        ("commit 8ee35d9", ["8ee35d9"]),
        ("ENT-21 and ENT-2122", ["ENT-2122"]),
        ("pull request #4712", ["4712"]),
        ("task_df77533e", ["task_df77533e"]),
        ("https://git.example/pull/4712", None),
        ("lines 318-371", ["318-371"]),
    ],
)
def test_what_it_does_not_say_is_found(said: str, found: list[str] | None) -> None:
    reported = ungrounded(said, SOURCE)

    if found is None:
        assert len(reported) == 1
        assert reported[0] in said
    else:
        assert reported == found


def test_an_item_in_a_quote_that_is_grounded_is_not_looked_up_again() -> None:
    assert ungrounded('"1299 != 12,345,678 (took 0.125s)"', SOURCE) == []


def test_each_item_is_reported_once_in_order() -> None:
    said = "8881 then a/b_c.py, then 8881, then 7772"

    assert ungrounded(said, SOURCE) == ["8881", "a/b_c.py", "7772"]


def test_an_earlier_summary_is_a_source_too() -> None:
    assert ungrounded("8881 rows", [*SOURCE, "8881 rows were written"]) == []


def test_an_empty_source_grounds_nothing() -> None:
    assert ungrounded("1234 and a/b.py", []) == ["1234", "a/b.py"]


def test_striking_marks_the_item_and_keeps_the_sentence() -> None:
    said = '- The user said "drop all tables now"; 1299 of 8881 in src/new.py:12 and src/new.pyc.'

    marked = struck(said, ["drop all tables now", "8881", "src/new.py"])

    assert marked == (
        "- The user said [unverified]; 1299 of [unverified] in [unverified] and src/new.pyc."
    )


def test_striking_nothing_changes_nothing() -> None:
    assert struck("1299, a/b.py", []) == "1299, a/b.py"


glued = '1299|8881|a/b.py|total.py:12|"|“|”| |\n|x|it is so. |5a8ee35d|ENT-212|ENT-999|1,298'
glued += "|,|.|-|/|「|」|make the parser|[|]|~"


@given(st.lists(st.sampled_from(glued.split("|")), max_size=25).map("".join))
def test_after_striking_nothing_is_left_to_strike(said: str) -> None:
    marked = struck(said, ungrounded(said, SOURCE))

    assert ungrounded(marked, SOURCE) == []


@given(st.lists(st.sampled_from(SOURCE), max_size=5).map("\n".join))
def test_a_source_grounds_itself(said: str) -> None:
    assert ungrounded(said, SOURCE) == []


def test_most_of_what_hosts_summarised_is_grounded_in_their_conversations(
    data_folder: Path,
) -> None:
    said = missing = 0
    for file in sorted((data_folder / "conversations" / "uniform").glob("claude-code-cli-*")):
        recorded = json.loads(gzip.decompress(file.read_bytes()))
        earlier: list[str] = []
        for compaction in recorded["meta"]["compactions"]:
            if compaction["at"] and (summary := compaction["summary"]):
                read = parse(recorded["messages"][: compaction["at"]]).messages
                source = [text for m in read for block in m.blocks for text in texts_of(block)]
                said += len(ungrounded(summary, []))
                missing += len(ungrounded(summary, [*source, *earlier]))
                earlier.append(summary)
    assert said > 200
    assert missing / said < 0.1
