"""Pages: their layout in every width, and what strings from outside can do to them."""

import re
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression.cli.page import Block, Fact, Gauge, StyledLine, Table, as_text, laid_out
from context_compression.cli.terminal import print_page
from context_compression.strings import cells, without_end, without_middle, wrapped

SGR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = (
    "[red]x[/red] [link=https://evil.example]y :smile: \x1b[31m\x1b]8;;x\x07 "
    "\r\n\t 中文字 e\u0301 \u202e"
)
PATH = "/home/ana/" + "folder/" * 12
texts = st.text(max_size=60) | st.sampled_from([HOSTILE, PATH, "a b " * 20])
numbers = st.integers(0, 10**12).map(lambda number: f"{number:,}")
tables = st.lists(st.tuples(texts, texts, numbers, numbers), min_size=1, max_size=4)
pairs = tables.map(lambda rows: [row[:2] for row in rows])
blocks = st.one_of(
    texts,
    st.builds(StyledLine, texts),
    st.builds(Fact, st.text(max_size=8), texts),
    st.builds(Gauge, st.floats(0, 300)),
    st.builds(Table, tables, left=st.just(2)),
    st.builds(Table, pairs, left=st.just(2), prose=st.just(True)),
    st.builds(
        Table, tables, left=st.just(2), one_line=st.just(True), title=st.just(1),
        flexible=st.sampled_from([(1,), (0, 1)]),
    ),
)  # fmt: skip


def lines(page: list[Block], width: int | None = None) -> list[str]:
    return ["".join(text for text, _ in line) for line in laid_out(page, width)]


@given(page=st.lists(blocks, max_size=4), width=st.integers(30, 200))
@settings(max_examples=150, deadline=None)
def test_no_line_is_wider_than_the_screen_and_no_sign_moves_the_cursor(
    page: list[Block], width: int
):
    shown = lines(page, width)

    assert [line for line in shown if cells(line) > width] == []
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", "".join(shown))


@given(rows=tables, width=st.integers(30, 200))
@settings(max_examples=100, deadline=None)
def test_numbers_are_never_cut(rows: list[tuple[str, ...]], width: int):
    shown = "\n".join(lines([Table(rows, left=2, head=False)], width))

    assert all(number in shown for row in rows for number in row[2:])


@given(page=st.lists(blocks, max_size=3))
@settings(max_examples=60, deadline=None)
def test_on_a_terminal_strings_are_shown_as_they_are(page: list[Block]):
    screen = StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_COLOR", "TERM"):
            patch.delenv(name, raising=False)
        patch.setenv("FORCE_COLOR", "1")
        patch.setenv("COLUMNS", "70")
        print_page(page, screen)

    printed = SGR.sub("", screen.getvalue())
    assert [line.rstrip() for line in printed.split("\n")[:-1]] == [
        line.rstrip() for line in lines(page, 70)
    ]


def test_markup_in_a_title_is_shown_literally():
    assert "[red]x[/red]" in as_text([Table([("title", "n"), (HOSTILE, "1")])])
    assert ":smile:" in as_text([StyledLine(HOSTILE)])
    assert r"\x1b[31m" in as_text([HOSTILE])


def test_without_a_width_a_table_is_as_wide_as_its_cells_in_columns_of_east_asian_text():
    rows = [("title", "tokens"), ("修复登录", "1,200"), ("fix", "7")]

    shown = as_text([Table(rows)]).splitlines()

    assert {cells(line) for line in shown} == {16}


TITLED = [
    ("", "host", "project", "title", "written", "size"),
    ("1", "pi", "/home/ana/work/shop", "修好登录模块的超时错误", "1 h ago", "9K"),
    ("10", "codex", "~/docs", "Find out why the build fails", "12 min ago", "124K"),
]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (
            75,
            [
                "    host   project           title                            written  size",
                "1   pi     /home/a…ork/shop  修好登录模块的超时错误           1 h ago    9K",
                "10  codex  ~/docs            Find out why the build fails  12 min ago  124K",
            ],
        ),
        (
            44,
            [
                "    title",
                "    host   project             written  size",
                "1   修好登录模块的超时错误",
                "    pi     /home/a…rk/shop     1 h ago    9K",
                "10  Find out why the build fails",
                "    codex  ~/docs           12 min ago  124K",
            ],
        ),
    ],
)
def test_a_title_that_would_be_cut_short_gets_a_line_of_its_own(width: int, shown: list[str]):
    table = Table(TITLED, left=4, flexible=(2, 3), one_line=True, title=3)

    assert lines([table], width) == shown


def test_a_table_that_does_not_fit_becomes_records():
    head = ("session", "host", "messages", "compressions", "size")
    rows = [head, ("a" * 36, "claude-code", "1,200", "3", "12.5 MB")]

    wide, narrow = as_text([Table(rows, left=2)]).splitlines(), lines([Table(rows, left=2)], 40)

    assert len(wide) == 2
    assert narrow[0] == "a" * 36
    assert narrow[-1] == "  size          12.5 MB"


def test_a_long_path_loses_its_middle_and_a_sentence_is_wrapped():
    path = "/home/ana/.claude/projects/-home-ana-work/7e76d82e-c9b9-4c14.jsonl"
    rows = [("codex", path), ("zed", "it is not installed, so nothing can be said about it here")]

    shown = lines([Table(rows, left=2, head=False)], 40)

    assert shown[0] == "codex  /home/ana/.claude/…-c9b9-4c14.jsonl"[:7] + without_middle(path, 33)
    assert shown[1:] == [
        "zed    it is not installed, so nothing",
        "       can be said about it here",
    ]


def test_rows_that_take_one_line_are_cut():
    rows = [("claude-code", "/home/ana/work/a-project", "Find out why the build fails", "3 h ago")]

    shown = lines([Table(rows, left=3, flexible=(1, 2), head=False, one_line=True)], 50)

    assert shown == ["claude-code  /home/…roject  Find out why…  3 h ago"]


def test_sentences_of_a_table_go_under_their_rows_where_they_have_no_room():
    rows = [("setting", "value", "meaning"), ("keep_recent", "10", "newest turns " * 5)]

    shown = lines([Table(rows, left=3, prose=True)], 50)

    assert shown[0] == "keep_recent  10"
    assert shown[1].startswith("    newest turns")


@given(text=st.text(max_size=80), width=st.integers(2, 40))
@settings(max_examples=150, deadline=None)
def test_cut_text_fits_and_wrapped_text_keeps_every_sign(text: str, width: int):
    assert cells(without_middle(text, width)) <= width
    assert cells(without_end(text, width)) <= width
    assert all(cells(line) <= width for line in wrapped(text, width))
    assert re.sub(" ", "", "".join(wrapped(text, width))) == text.replace(" ", "")
