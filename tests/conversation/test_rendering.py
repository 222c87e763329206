"""What a text looks like of which only some parts are shown."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import is_array, is_object, render
from context_compression.conversation import labels as positions
from context_compression.conversation.labels import DiffFiles, JsonPaths, Positions

FILLER = "It is long enough to be left out. " * 4
ISSUES = {
    "issues": [
        {"id": n, "labels": ["bug", f"area {n}"], "body": f"It hangs.\nSince {n}.0 {FILLER}"}
        for n in range(5)
    ],
    "total": 5,
}
CHANGES = "--- a/{0}\n+++ b/{0}\n@@ -1,9 +1,9 @@\n" + "".join(
    f"+line {n} of {{0}}, which is a long one\n" for n in range(5)
)
COMMIT = "commit 1f2e3d4c5b{0}\nAuthor: Ann <ann@example.org>\n\n    why {0} was done\n\n"


def test_gaps_say_how_much_is_missing_and_where_to_get_it() -> None:
    text = "one\ntwo is quite long\nthree is even longer\nfour is the longest of them all\nfive"

    shown = render(text, [(0, 3), (len(text) - 4, len(text))], "c3f9")

    assert shown == "one\n[… 3 lines; ref c3f9]\nfive"


def test_lines_that_differ_only_in_numbers_from_the_one_before_are_counted() -> None:
    log = "\n".join(f"compiled part_{n}/file_{n * 7}.c of the program" for n in range(40))
    text = f"make all\n{log}\n40 warnings"
    shown = [(0, text.index("\ncompiled part_1/")), (len(text) - len("40 warnings"), len(text))]

    first = "make all\ncompiled part_0/file_0.c of the program"
    assert render(text, shown) == f"{first}\n[… 39 lines like it but for numbers]\n40 warnings"
    assert (
        render(text, shown, "c3f9")
        == f"{first}\n[… 39 lines like it but for numbers; ref c3f9]\n40 warnings"
    )
    other = text.replace("part_20/", "library_20/")
    assert render(other, shown).splitlines()[2] == "…"
    assert "like it" not in render(text, shown, explicit=True)
    within = text.index("/file_70.c")  # the beginning of a line is no line
    assert "like it" not in render(text, [*shown, (within, within + 10)])


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2))
def test_lines_that_are_shown_and_those_that_explicit_gaps_tell_of_are_all_there_are(
    lines: Sequence[tuple[bool, bool]],
) -> None:
    """Blank ones, too: who looks for a line by its number finds it."""
    said = ["" if blank else f"line {n} {FILLER}" for n, (blank, _) in enumerate(lines)]
    said[-1] = "the last"
    ends = [*accumulate(len(line) + 1 for line in said)]
    spans = [
        (end - 1 - len(line), end - 1)
        for line, end, (_, shown) in zip(said, ends, lines, strict=True)
        if shown and line
    ]
    text = "\n".join(said)

    view = render(text, spans, explicit=True)

    missing = re.findall(r"\[… (\d+) (lines|characters) left out of this view\]", view)
    told = sum(int(number) if what == "lines" else 1 for number, what in missing)
    assert view.count("\n") + 1 - len(missing) + told == len(said)
    assert render(text, spans).count("…") == len(missing)


def test_only_the_first_gap_tells_the_ref_and_how_much_is_missing() -> None:
    lines = [f"line {n} {FILLER}" for n in range(5)]
    text = "\n".join(lines)
    spans = [(start, start + len(lines[n])) for n in (0, 2, 4) for start in (text.index(lines[n]),)]

    assert render(text, spans) == f"{lines[0]}\n…\n{lines[2]}\n…\n{lines[4]}"
    mark = f"[… {len(lines[1])} characters; ref c3f9]"
    assert render(text, spans, "c3f9") == f"{lines[0]}\n{mark}\n{lines[2]}\n…\n{lines[4]}"


def test_explicit_gaps_say_that_the_text_is_left_out_of_the_view() -> None:
    lines = [f"line {n} {FILLER}" for n in range(7)]
    text = "\n".join(lines)
    spans = [(start, start + len(lines[n])) for n in (0, 3, 6) for start in (text.index(lines[n]),)]

    marks = [line for line in render(text, spans, "c3f9", explicit=True).split("\n") if "…" in line]

    left_out = "[… 2 lines left out of this view"
    assert marks == [f"{left_out}; ref c3f9]", f"{left_out}]"]


def test_a_small_gap_is_shown() -> None:
    text = "one\ntwo, which a mark would hardly be shorter than\nthree"

    assert render(text, [(0, 3), (len(text) - 5, len(text))]) == text


def test_in_json_a_gap_tells_where_in_it_the_text_goes_on() -> None:
    text = json.dumps(ISSUES)

    marks = marks_around(text, '"id": 3', "Since 4.0", '"total"')

    assert [*map(told, marks)] == ["$.issues.3", "$.issues.4.body", "$"]
    assert marks[0] == "640 characters up to $.issues.3; ref c3f9"


def test_it_is_not_told_where_json_goes_on_where_it_broke_off() -> None:
    lines = "\n".join(f"line {n} of what happened; {FILLER}" for n in range(9))
    text = json.dumps([{"id": 1, "body": lines}])

    assert [*map(told, marks_around(text, "line 2", "line 6"))] == ["$.0.body", "", ""]


def test_places_that_are_called_the_same_are_not_taken_for_one() -> None:
    deep = [{"a": {"b": {"c": {"d": {"say": f"{n} {FILLER}"}}}}} for n in range(5)]
    lines = "\n".join(json.dumps({"time": n, "say": f"{n} {FILLER}"}) for n in range(5))

    assert told(marks_around(json.dumps(deep), '"1 It', '"3 It')[1]) == "$.….b.c.d.say"
    assert told(marks_around(lines, '"1 It', '"3 It')[1]) == "$.say"


@pytest.mark.parametrize("name", ["rows; ref c3f91a20b77d]", "all\n[User]", "c" * 41, ""])
def test_a_name_that_could_end_a_mark_or_is_none_is_not_told(name: str) -> None:
    text = json.dumps({name: {"x": FILLER, "y": 1}})

    assert [*map(told, marks_around(text, '"y"'))] == ["$.…"]


def test_other_names_with_signs_stand_in_quotes() -> None:
    text = json.dumps({"package.json": {"x": FILLER, "y": 1}})

    assert [*map(told, marks_around(text, '"y"'))] == ['$."package.json"']


@pytest.mark.parametrize(
    "line",
    [
        "[INFO] started\n", "[2026-01-01 10:00] GET /\n", '{ return "1"; }\n', '["a", {"b": ]}\n',
        "[[x]]\n",
    ],
)  # fmt: skip
def test_what_only_begins_like_json_has_no_paths(line: str) -> None:
    shown = render(line * 20, [(len(line) * 19, len(line) * 20)])

    assert shown == f"…\n{line}"


def test_marks_are_shorter_than_what_is_missing() -> None:
    names = ["configuration_overrides_for_production"[:n] for n in (38, 25, 30, 12)]
    value: Any = [f"file_{n}.py {'x' * 50}" for n in range(50)]
    for name in names:
        value = {name: value}
    text = json.dumps(value)
    starts = [found.start() for found in re.finditer('"file', text)]

    for step in (2, 3, 4):
        assert len(render(text, [(start, start + 12) for start in starts[::step]])) < len(text)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.from_regex(r"\A[a-z]{1,3}\Z"), inside),
)


@given(values, st.sampled_from([",", ", ", "\n , "]), st.sampled_from([":", " : "]))
def test_the_path_of_every_value_is_found(value: Any, comma: str, colon: str) -> None:
    text, expected = "", dict[int, Sequence[str]]()
    for part, path in written([value], (), comma, colon):
        if path is not None:
            expected[len(text)] = path
        text += part

    found = names_of(JsonPaths(text), expected)

    _, *inside = expected.values()  # before the first bracket it is nowhere yet
    assert found == [
        None, *(".".join(["$", "…", *p[-4:]] if len(p) > 4 else ["$", *p]) for p in inside)
    ]  # fmt: skip


def test_lines_are_like_the_one_before_only_if_all_of_it_is_shown() -> None:
    text = "\n".join(f"{'the program was built, ' * 6}file {n} of it" for n in range(9))
    end = text.index("\n")

    assert "like it but for numbers" in render(text, [(0, end)])
    assert "like it but for numbers" not in render(text, [(end - 12, end)])


def test_between_lines_that_are_json_each_no_path_is_told() -> None:
    lines = [json.dumps({"n": n, "text": "so it goes on " * 6}) for n in range(9)]
    text = "\n".join(lines)
    start = text.index(lines[7])

    shown = render(text, [(0, len(lines[0])), (start, len(text))])

    assert shown == "\n".join([lines[0], "[… 6 lines like it but for numbers]", lines[7], lines[8]])


def written(
    value: Any, path: Sequence[str], comma: str, colon: str
) -> Iterator[tuple[str, Sequence[str] | None]]:
    """A value as JSON in parts; with each value, name and end the path of where it stands."""
    if is_object(value):
        yield "{", path
        for number, (name, item) in enumerate(value.items()):
            yield comma * (number > 0), None
            yield json.dumps(name), path
            yield colon, None
            yield from written(item, (*path, name), comma, colon)
        yield "}", path
    elif is_array(value):
        yield "[", path
        for number, item in enumerate(value):
            yield comma * (number > 0), None
            yield from written(item, (*path, str(number)), comma, colon)
        yield "]", path
    else:
        yield json.dumps(value, ensure_ascii=False), path


@given(st.text(alphabet='{}[]":, \\\n07aé', max_size=60))
def test_whatever_a_text_is_its_paths_can_be_asked_for(text: str) -> None:
    places = range(len(text))

    found = names_of(JsonPaths(text), places)

    assert found == [names_of(JsonPaths(text), [place])[0] for place in places]
    assert not any("]" in path or "\n" in path for path in found if path)


def test_a_long_string_is_read_once_however_many_places_in_it_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    class Token:
        def match(self, text: str, start: int = 0) -> re.Match[str] | None:
            read.append(start)
            return token.match(text, start)

    token = positions.TOKEN
    monkeypatch.setattr(positions, "TOKEN", Token())

    names_of(JsonPaths(json.dumps([{"log": "x" * 10_000}])), range(10_000))

    assert len(read) == 3


def test_in_a_diff_a_gap_tells_in_which_file_the_text_goes_on() -> None:
    names = ("src/one.py", "two words.py", "src/three.py")
    text = "".join(f"diff --git a/{name} b/{name}\n{CHANGES.format(name)}" for name in names)

    marks = marks_around(
        text, "+line 4 of src", "+line 1 of two", "+line 4 of two", "diff --git a/src/three.py"
    )

    assert [*map(told, marks)] == ["src/one.py", "another file", "", ""]
    assert marks[0] == "8 lines up to src/one.py; ref c3f9"


def test_of_the_path_of_a_file_in_a_diff_the_end_is_told_and_nothing_below_its_head() -> None:
    name = "server/context_compression/strategies/filling.py"
    head = f"diff --git a/{name} b/{name}"
    text = f"{head}\nindex 1f2e..3d4c 100644\n{CHANGES.format(name)}"

    assert [*map(told, marks_around(text, "+line 4"))] == ["…/strategies/filling.py", ""]
    assert [*map(told, marks_around(text, head, "+line 4"))] == ["", ""]
    assert [*map(told, marks_around(text, "index 1f2e..3d4c 100644", "+line 4"))] == ["", "", ""]


def test_in_a_log_a_message_is_in_no_file() -> None:
    names = ("one.py", "two.py", "three.py")
    text = "".join(
        f"{COMMIT.format(name)}diff --cc {name}\n{CHANGES.format(name)}" for name in names
    )

    marks = marks_around(text, "+line 4 of one", "why two", "+line 4 of two", "+line 1 of three")

    assert [*map(told, marks)] == ["one.py", "", "two.py", "three.py", ""]


@pytest.mark.parametrize("behind", ["FAILED tests/test_a.py\n", "commit 1f2e3d4c5b\n", "$ make\n"])
def test_what_follows_a_diff_is_in_no_file(behind: str) -> None:
    text = f"diff --git a/one.py b/one.py\n{CHANGES.format('one.py')}{behind}"

    assert [*map(told, marks_around(text, behind.strip()))] == [""]


def test_a_line_of_a_diff_too_long_to_be_looked_back_over_is_in_no_file() -> None:
    text = f"diff --git a/one.py b/one.py\nplain {'z' * 9_000} here it goes on"

    assert [*map(told, marks_around(text, "here it"))] == [""]


@given(
    st.lists(
        st.sampled_from(
            [
                "diff --git a/x b/x", "diff --cc y", "diff -r", "diff z", "+a", " b", "why",
                "commit 1234567",
            ]
        )
    )
)  # fmt: skip
def test_whatever_a_diff_is_its_files_can_be_asked_for(lines: list[str]) -> None:
    text = "\n".join(lines)
    places = range(len(text))

    found = names_of(DiffFiles(text), places)

    assert found == [names_of(DiffFiles(text), [place])[0] for place in places]


def marks_around(text: str, *parts: str) -> list[str]:
    """What the marks of gaps say when only these parts of a text are shown; `…` says nothing."""
    starts = [text.index(part) for part in parts]
    spans = [(start, start + len(part)) for start, part in zip(starts, parts, strict=True)]
    return re.findall(r"\[… ([^]]*)\]|^…$", render(text, spans, "c3f9"), re.M)


def told(mark: str) -> str:
    """Where a mark says that the text goes on."""
    return mark.partition(" up to ")[2].partition(";")[0]


def names_of(where: Positions, places: Iterable[int]) -> list[str | None]:
    """What places are called to be inside of."""
    return [where.name if where.inside(place) is not None else None for place in places]
