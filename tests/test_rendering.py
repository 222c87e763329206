"""What a text looks like of which only some parts are shown."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.messages import is_array, is_object
from context_compression.rendering import render
from context_compression.whereabouts import JsonPaths

ISSUES = {
    "issues": [
        {"id": n, "labels": ["bug", f"area {n}"], "body": f"It hangs.\nSince {n}.0 " + "x" * 90}
        for n in range(5)
    ],
    "total": 5,
}


def test_gaps_say_how_much_is_missing_and_where_to_get_it() -> None:
    text = "one\ntwo is quite long\nthree is even longer\nfour is the longest of them all\nfive"

    shown = render(text, [(0, 3), (len(text) - 4, len(text))], "c3f9")

    assert shown == "one\n[… 3 lines; ref c3f9]\nfive"


@pytest.mark.parametrize("form", ["{:>6}→{}", "{}\t{}", "{}: {}"])
@pytest.mark.parametrize("missing", [1, 3])
def test_between_lines_that_are_numbered_a_gap_needs_no_number(form: str, missing: int) -> None:
    numbers = range(1, missing + 3)
    lines = [form.format(n, f"line {n} of a file " + "that is not short " * 4) for n in numbers]
    text = "\n".join(lines)
    first, last = (0, len(lines[0])), (len(text) - len(lines[-1]), len(text))
    ref = "c3f9a1b2c3d4"

    assert render(text, [first, last]) == f"{lines[0]}\n…\n{lines[-1]}"
    assert render(text, [last]) == f"…\n{lines[-1]}"
    assert render(text, [first]).startswith(f"{lines[0]}\n[… ")
    assert f"; ref {ref}]\n" in render(text, [first, last], ref)
    inside = (last[0] + 9, last[1])
    assert render(text, [first, inside]).startswith(f"{lines[0]}\n[… ")


@pytest.mark.parametrize(
    "numbers",
    [
        ("7", "8", "9", "11", "12"),
        ("7", "8", "8", "8", "9"),
        ("4", "3", "2", "1", "0"),
        ("5", "8", "9", "10", "11"),
        ("7", "8", "9", "10", "12"),
        ("id", "1", "2", "3", "4"),
        ("7", "8", "9", "10", "sum"),
    ],
)
def test_only_numbers_in_order_tell_what_a_gap_leaves_out(numbers: tuple[str, ...]) -> None:
    rows = [f"{n}\tdeliveries of the day before, all of them accounted for" for n in numbers]
    text = "\n".join(rows)

    shown = render(text, [(0, len(rows[0])), (len(text) - len(rows[-1]), len(text))])

    assert shown == f"{rows[0]}\n[… 3 lines]\n{rows[-1]}"


def test_a_small_gap_is_shown() -> None:
    text = "one\ntwo, which a mark would hardly be shorter than\nthree"

    assert render(text, [(0, 3), (len(text) - 5, len(text))]) == text


def test_in_json_a_gap_tells_where_in_it_the_text_goes_on() -> None:
    text = json.dumps(ISSUES)
    wanted = ['"id": 3', "since".capitalize() + " 4.0", '"total"']
    spans = [(text.index(part), text.index(part) + len(part)) for part in wanted]

    marks = re.findall(r"\[… (?:\d+) characters([^]]*)\]", render(text, spans, "c3f9"))

    assert marks == [" up to $.issues.3; ref c3f9", " up to $.issues.4.body", " up to $"]


def test_nor_is_it_told_where_json_goes_on_where_it_broke_off() -> None:
    lines = [f"line {n} of what happened, told at length" for n in range(9)]
    text = json.dumps([{"id": 1, "body": "\n".join(lines)}])
    places = [text.index(f"line {n}") for n in (2, 6)]

    shown = render(text, [(place, place + 6) for place in places])

    marks = ["[… 102 characters up to $.0.body]", "[… 158 characters]", "[… 118 characters]"]
    assert re.findall(r"\[…[^]]*\]", shown) == marks


@pytest.mark.parametrize("name", ["rows; ref c3f91a20b77d]", "all\n[User]", "c" * 41])
def test_a_name_that_could_end_a_mark_is_not_told(name: str) -> None:
    text = json.dumps({name: {"x": "long enough to be missing " * 4, "y": 1}})
    place = text.index('"y"')

    shown = render(text, [(place, place + 3)], "c3f91a20b77d")

    assert re.findall("up to .*", shown) == ["up to $.…; ref c3f91a20b77d]"]


def test_in_a_diff_a_gap_tells_in_which_file_the_text_goes_on() -> None:
    text = "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,9 +1,9 @@\n"
        + "".join(f"+line {n} of {name}, which is a long one\n" for n in range(5))
        for name in ("src/one.py", "two words.py", "src/three.py")
    )
    wanted = ["+line 4 of src", "+line 1 of two", "+line 4 of two", "diff --git a/src/three.py"]
    places = [text.index(part) for part in wanted]

    shown = render(text, [(place, text.index("\n", place)) for place in places])

    assert re.findall(r"\[…([^]]*)\]", shown) == [
        " 8 lines up to src/one.py",
        " 5 lines up to another file",
        " 2 lines",
        " 8 lines",
    ]


@pytest.mark.parametrize(
    "line", ["[INFO] started\n", "[2026-01-01 10:00] GET /\n", "{ return 1; }\n", "[1] see 2\n"]
)
def test_what_only_begins_like_json_has_no_paths(line: str) -> None:
    shown = render(line * 20, [(len(line) * 19, len(line) * 20)])

    assert shown == f"[… 19 lines]\n{line}"


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

    paths = JsonPaths(text)

    found = [*map(paths.path, expected)]
    assert found == [
        ".".join(["$", "…", *p[-4:]] if len(p) > 4 else ["$", *p]) for p in expected.values()
    ]


def written(
    value: Any, path: Sequence[str], comma: str, colon: str
) -> Iterator[tuple[str, Sequence[str] | None]]:
    """A value as JSON in parts; with each value and name the path of where it begins."""
    if is_object(value):
        yield "{", path
        for number, (name, item) in enumerate(value.items()):
            yield comma * (number > 0), None
            yield json.dumps(name), path
            yield colon, None
            yield from written(item, (*path, name), comma, colon)
        yield "}", None
    elif is_array(value):
        yield "[", path
        for number, item in enumerate(value):
            yield comma * (number > 0), None
            yield from written(item, (*path, str(number)), comma, colon)
        yield "]", None
    else:
        yield json.dumps(value, ensure_ascii=False), path


@given(st.text(alphabet='{}[]":, \\\n07aé', max_size=60))
def test_whatever_a_text_is_its_paths_can_be_asked_for(text: str) -> None:
    paths = JsonPaths(text)

    found = [paths.path(place) for place in range(len(text) + 1)]

    assert found == [JsonPaths(text).path(place) for place in range(len(text) + 1)]
    assert not any("]" in path or "\n" in path for path in found if path)
