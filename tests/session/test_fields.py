"""Fields of an original by path, columns of a table, and counts."""

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathError

from context_compression import Session, restore_tool
from context_compression.conversation import parse
from context_compression.errors import StoreError
from context_compression.session import NO_LINE, part_of
from context_compression.session.fields import divided
from context_compression.tokens import base_count

ITEMS = [
    {"id": n, "name": f"n{n}", "status": "failed" if n % 7 == 0 else "ok", "tags": ["a", "b"]}
    for n in range(30)
]
DOCUMENT = json.dumps({"items": ITEMS, "next": None})
PRETTY = json.dumps(json.loads(DOCUMENT), indent=2)
ROWS = "\n".join(json.dumps(item | {"user-id": item["id"] * 10}) for item in ITEMS)
KUBECTL = """$ kubectl get pods
NAME    READY   STATUS             RESTARTS      AGE
web-1   1/1     Running            0             3d
web-2   0/1     CrashLoopBackOff   12 (3h ago)   3d
db      1/1     Running            0             10d
"""
DF = """\
Filesystem      Size  Used Avail Use% Mounted on
overlay          50G   12G   36G  25% /
tmpfs            64M     0   64M   0% /dev
/dev/sda1       100G   80G   20G  80% /etc/hosts
"""
PS = """\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           1  0.0  0.1 168896 11484 ?        Ss   Nov01   0:15 /sbin/init splash
user        4000 12.5  3.0 99999999999 300000 pts/0 Rl+ 10:00  1:00 python -m a b
"""
DOCKER = """\
CONTAINER ID   IMAGE         CREATED       STATUS                   PORTS                NAMES
1a2b3c4d5e6f   nginx:1.25    2 hours ago   Up 2 hours               0.0.0.0:80->80/tcp   web
2a2b3c4d5e6f   postgres:16   3 days ago    Exited (0) 3 hours ago                        db
"""
MARKDOWN = """Results:

| Name | Score | Note    |
|------|:-----:|---------|
| a    | 1     | x \\| y |
| b    | 2     |         |

done"""
PSQL = """ id | name  | email
----+-------+-------
  1 | Ann   | a@x
  2 | Bob   |
(2 rows)
"""
MYSQL = """+----+------+
| id | name |
+----+------+
|  1 | Ann  |
|  2 | Bob  |
+----+------+
2 rows in set
"""


def fields(text: Any, expressions: str, **others: Any) -> str:
    return part_of(text, fields=expressions, **others).text


def refusal(text: Any, expressions: str, **others: Any) -> str:
    with pytest.raises(StoreError) as caught:
        part_of(text, fields=expressions, **others)
    return str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "ok", "é\n"]),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "items", "name", "a b"]), inside, max_size=4)
    ),
    max_leaves=12,
)
PATHS = (
    "items", "items[*].id", "items[0]", "items[-1].name", "items[?id > `1`].name", '"a b".id', "@",
    "items[?name=='ok']", "*.id", "items[].name", "length(@)", "{n: name, i: items[*].id}",
    "[name, id]", "items[1:3]", "keys(@)", "items[*].id | [0]", "name || id", "sort(items)",
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["id", "items", "name", "a b"]), JSON), st.sampled_from(PATHS)
)
def test_the_field_of_a_path_is_what_jmespath_says(document: Any, path: str) -> None:
    """An error stands only where the library has an error, nothing, or an empty list."""
    try:
        expected = jmespath.search(path, document)
    except JMESPathError:
        expected = None

    try:
        values = part_of(json.dumps(document), fields=path).values
    except StoreError:
        assert expected is None or expected == []
    else:
        assert values == {path: expected}


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), st.sampled_from("\t,;|"))
def test_columns_of_a_csv_are_those_of_the_module_csv(
    rows: list[tuple[str, ...]], sign: str
) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator="\n").writerows([("id", "name", "x y"), *rows])

    part = part_of(out.getvalue(), fields="x y, id")

    expected = list(csv.DictReader(io.StringIO(out.getvalue(), newline=""), delimiter=sign))
    assert part.values == {name: [row[name] for row in expected] for name in ("x y", "id")}
    assert list(csv.reader(io.StringIO(part.text, newline=""))) == [
        ["x y", "id"], *([row["x y"], row["id"]] for row in expected),
    ]  # fmt: skip


@given(
    st.lists(st.text("ab \t.", max_size=6), min_size=1, max_size=20),
    st.sampled_from(["a", "b+", "^a", "a b", r"\.", "zzz", "."]),
    st.booleans(),
)
def test_a_count_is_the_number_of_lines_that_the_pattern_shows(
    lines: list[str], pattern: str, some: bool
) -> None:
    text, span = "\n".join(lines), (1, len(lines) // 2 or 1) if some else None

    shown = part_of(text, pattern=pattern, lines=span).text
    count = part_of(text, pattern=pattern, lines=span, count=True)

    matching = 0 if shown == NO_LINE else len(shown.split("\n"))
    of = span[1] if span else len(lines)
    assert count.counts == {"lines": matching, "of": of}
    assert count.text == f"{matching} of {of} line{'s' if of != 1 else ''}"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a, b", ["a", "b"]),
        ("a[?b=='x,y'], c", ["a[?b=='x,y']", "c"]),
        ("{n: a, m: b}", ["{n: a, m: b}"]),
        ("[a, b], c", ["[a, b]", "c"]),
        ("join(', ', a), b", ["join(', ', a)", "b"]),
        ('"Last, First", NAME', ['"Last, First"', "NAME"]),
        ("a[?b==`[1,2]`], c", ["a[?b==`[1,2]`]", "c"]),
        (r"a[?b=='it\'s, x'], c", [r"a[?b=='it\'s, x']", "c"]),
        (" , a,, ", ["a"]),
    ],
)
def test_only_commas_outside_brackets_and_quotes_separate(text: str, parts: list[str]) -> None:
    assert divided(text) == parts


def test_several_paths_have_a_line_each() -> None:
    assert fields(DOCUMENT, "items[?status=='failed'].name, length(items), next") == (
        'items[?status==\'failed\'].name: ["n0","n7","n14","n21","n28"]\n'
        "length(items): 30\nnext: null"
    )


@pytest.mark.parametrize(
    "text",
    [
        DOCUMENT,
        PRETTY,
        f"2026-11-30 INFO [main] got it\n{PRETTY}\ndone in 3 s [ok]",
        f"Here it is:\n```json\n{PRETTY}\n```\nThat is all.",
        f"2026-11-30T10:00:00Z INFO [http] response: {DOCUMENT}",
        json.dumps({"content": [{"type": "text", "text": DOCUMENT}], "isError": False}),
        json.dumps([{"type": "text", "text": f"Result:\n{PRETTY}"}]),
        json.dumps({"stdout": PRETTY, "stderr": "", "exit": 0}),
        json.dumps(DOCUMENT),
        {"role": "tool", "tool_call_id": "c", "content": DOCUMENT},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": DOCUMENT}],
                }
            ],
        },
    ],
    ids=str,
)
def test_json_is_found_where_it_stands(text: Any) -> None:
    assert fields(text, "items[?status=='failed'].id") == "[0,7,14,21,28]"


def test_the_fields_of_a_message_are_those_of_its_texts_else_its_own() -> None:
    call = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls -l"}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]}

    assert parse([message]).messages
    assert fields(message, "content[?type=='tool_use'].input.command") == '["ls -l"]'


def test_lines_of_json_are_rows() -> None:
    assert fields(ROWS, "id, user-id", lines=(1, 3)) == "id,user-id\n0,0\n1,10\n2,20"
    assert fields(ROWS, "[?status=='failed'].id") == "[0,7,14,21,28]"
    assert fields(ROWS, "[*].id | length(@)") == "30"
    assert fields(f"start\n{ROWS}\nend", "status", count=True) == (
        '30 values, 2 distinct: "ok" ×25, "failed" ×5'
    )


def test_a_row_without_any_of_the_fields_is_left_out() -> None:
    assert fields('{"a": 1}\n{"b": [1, 2]}\n{"c": 3}', "a, b") == 'a,b\n1,\n,"[1,2]"'


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        (KUBECTL, "NAME, STATUS", "NAME,STATUS\nweb-1,Running\nweb-2,CrashLoopBackOff\ndb,Running"),
        (KUBECTL, "restarts", "restarts\n0\n12 (3h ago)\n0"),
        (KUBECTL, "[?STATUS!='Running'].NAME", '["web-2"]'),
        (DF, "Mounted on, Use%", "Mounted on,Use%\n/,25%\n/dev,0%\n/etc/hosts,80%"),
        (PS, "PID, COMMAND", "PID,COMMAND\n1,/sbin/init splash\n4000,python -m a b"),
        (PS, "%CPU", "%CPU\n0.0\n12.5"),
        (DOCKER, "NAMES, STATUS", "NAMES,STATUS\nweb,Up 2 hours\ndb,Exited (0) 3 hours ago"),
        (DOCKER, "PORTS", 'PORTS\n0.0.0.0:80->80/tcp\n""'),
        (DOCKER, '"CONTAINER ID"', "CONTAINER ID\n1a2b3c4d5e6f\n2a2b3c4d5e6f"),
        (MARKDOWN, "Name, Note", "Name,Note\na,x | y\nb,"),
        (PSQL, "name, email", "name,email\nAnn,a@x\nBob,"),
        (MYSQL, "name", "name\nAnn\nBob"),
        ("id\tname\n1\tAnn", "name", "name\nAnn"),
        ("name\nAnn\nBob", "name", "name\nAnn\nBob"),
        ('n,"Last, First"\n1,"Doe, Jo"', '"Last, First"', '"Last, First"\n"Doe, Jo"'),
    ],
)  # fmt: skip
def test_columns_of_tables_are_taken_by_their_names(text: str, columns: str, expected: str) -> None:
    assert fields(text, columns) == expected


def test_rows_of_a_table_are_chosen_by_lines_without_its_header() -> None:
    assert fields(KUBECTL, "NAME", lines=(4, 5)) == "NAME\nweb-2\ndb"


@pytest.mark.parametrize(
    ("text", "expressions", "said"),
    [
        (DOCUMENT, "itms[*].id", "The JSON has no 'itms'; it has 'items', 'next'."),
        (DOCUMENT, "items[*].nmae", "items[*] has no 'nmae'; it has 'id', 'name',"),
        (DOCUMENT, "items.id", "items is a list of 30 elements; write [*] before 'id'."),
        (DOCUMENT, "items[99].id", "items has no [99]: it has 30 elements."),
        (DOCUMENT, "next.page", "next is null, so 'page' is not there."),
        (DOCUMENT, "items[0].name.first", "items[0].name is a text, so 'first' is not there."),
        (DOCUMENT, "length(itms)", "has no 'itms'"),
        (DOCUMENT, 'items[?status=="failed"]', "stands in single quotes: 'failed'."),
        (DOCUMENT, "items[?state=='failed']", "items[*] has no 'state'; it has 'id'"),
        (DOCUMENT, "items[?id > 3]", "unexpected '3' at character 13. Write a path as items[*].id"),
        (DOCUMENT, "items[", "'items[' is no path: it ends too early."),
        (DOCUMENT, "size(items)", "there is no function size(), but abs, avg"),
        (DOCUMENT, "abs(items)", "abs() takes number, not array"),
        (DOCUMENT, " , ", "fields is empty."),
        (DOCUMENT, "a" * 1_001, "fields may have 1,000 characters"),
        (ROWS, "level", "Each line has no 'level'; it has 'id', 'name'"),
        (KUBECTL, "NAME, STATE", "There is no column 'STATE'; the columns are 'NAME', 'READY'"),
        (KUBECTL, '[?STATUS=="Running"].NAME', "no column 'Running'; the columns are 'NAME'"),
        ("A line.\nAnother one.", "id", "no JSON in this, and no table with the columns 'id'."),
        (f"a\n{PRETTY}\nb\n{PRETTY}", "next", "276, the JSON in lines 278-552. Pass lines"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_there_instead(text: str, expressions: str, said: str) -> None:
    assert said in refusal(text, expressions)


def test_a_field_that_no_element_has_is_named_beside_the_others() -> None:
    part = part_of(DOCUMENT, fields="items[:2].[id, nmae]")

    assert part.text == "[[0,null],\n[1,null]]"
    assert part.about == "JSON · items[*] has no 'nmae'; it has 'id', 'name', 'status', 'tags'."


def test_fields_and_pattern_do_not_go_together() -> None:
    assert "Pass fields or pattern, not both." in refusal(DOCUMENT, "items", pattern="x")


def test_a_filter_that_fits_nothing_gives_an_empty_list() -> None:
    assert fields(DOCUMENT, "items[?status=='lost'].id") == "[]"
    assert fields(DOCUMENT, "items[?status=='lost'].id", count=True) == "0 values"


@pytest.mark.parametrize(
    "expression",
    [
        "[@,@]" + "|[@,@]" * 100,
        "[@,@][]" + "|[@,@][]" * 100,
        "[s,s]" + "|[join('',@),join('',@)]" * 30,
        "to_string([" * 60 + "@" + "])" * 60,
        "!" * 999,
        "[" * 900,
        "(" * 499,
    ],
    ids=["pairs", "lists", "texts", "quotes", "nots", "brackets", "parentheses"],
)
def test_an_expression_that_grows_without_end_is_refused(expression: str) -> None:
    assert refusal(json.dumps({"s": "x" * 100, "l": [1, 2, 3]}), expression)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[\n" * 1_000, '{"a":\n' * 1_000, "[" * 900 + "]" * 900, '{"a":' + "9" * 5_000],
    ids=["one line", "lines", "objects", "closed", "a long number"],
)
def test_hostile_json_is_no_crash(text: str) -> None:
    assert refusal(text, "a.b")


def test_a_log_of_many_tokens_answers_in_seventy(tmp_path: Path) -> None:
    """A log of 100K tokens and the JSON of as many: a question each, and the whole answer."""
    luck = random.Random(7)
    log = "\n".join(
        f"2026-11-30T10:{n // 60 % 60:02}:{n % 60:02}Z {luck.choice(['INFO'] * 40 + ['ERROR'])} "
        f"worker-{luck.randrange(8)} request {luck.randrange(10**9)} took {luck.randrange(900)} ms"
        for n in range(3_600)
    )
    jobs = json.dumps(
        {
            "items": [
                {"id": luck.randrange(10**6), "name": f"job-{n}", "host": f"node-{n % 90}",
                 "status": "failed" if n in (17, 1_203) else "done", "seconds": luck.randrange(900)}
                for n in range(3_200)
            ]
        }
    )  # fmt: skip
    session = Session(tmp_path, "s")
    tool = restore_tool(session)

    asked = {
        log: {"pattern": "ERROR", "count": True},
        jobs: {"fields": "items[?status=='failed'].name, length(items)"},
    }
    sizes = {base_count(text): base_count(tool.answer({"ref": session.offload(text), **arguments}))
             for text, arguments in asked.items()}  # fmt: skip

    assert all(size > 95_000 for size in sizes), sizes
    assert all(answer <= 90 for answer in sizes.values()), sizes
