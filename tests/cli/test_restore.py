"""`restore --query`: finding what is archived, at a keyboard."""

import json
import re

import pytest

from context_compression import Session

from .conftest import Desk


def test_a_search_shows_refs_lines_and_what_stands_beside_them(used: Desk) -> None:
    shown = used.does("restore", "--query", "value_3_42").stdout.decode()

    first, _, hit, *lines = shown.splitlines()
    assert re.match(r"1 of 1 original; `context-compression restore", first)
    assert re.fullmatch(r"[0-9a-f]{12}  read result, chat, 1 of 1 word", hit)
    assert lines[0].split()[:4] == ["assistant", "I", "read", "it."]
    assert lines[1].strip() == "43   src/part_3/file_42.py: value_3_42 = 42"
    ref = hit[:12]
    assert b"value_3_42 = 42" in used.does("restore", ref).stdout


def test_a_search_tells_programs_the_same(used: Desk) -> None:
    found = used.json("restore", "--query", "value_3_42 part", "--limit", "1")

    [hit] = found["hits"]
    assert found["total"] > 1
    assert found["words"] == ["value_3_42", "part"]
    assert hit["session"] == "chat"
    assert {"number": 43, "text": "src/part_3/file_42.py: value_3_42 = 42"} in hit["lines"]
    assert hit["before"]["role"] == "assistant"


def test_a_pattern_without_a_ref_is_looked_for_everywhere(used: Desk) -> None:
    [hit] = used.json("restore", "--pattern", r"value_3_4\d = 42")["hits"]

    assert hit["what"] == "read result"


def test_nothing_found_is_said(used: Desk) -> None:
    assert b"No hits in the archive or " in used.does("restore", "--query", "okapi").stdout


def test_a_pattern_that_no_line_has_ends_as_grep_does(used: Desk, refs: dict[str, int]) -> None:
    asked = ("restore", next(iter(refs)), "--pattern", "okapi")

    done, for_programs = used.run(*asked), used.run(*asked, "--json")

    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"no line matches\n")
    assert for_programs.returncode == 1
    assert json.loads(for_programs.stdout)["text"] == ""


@pytest.mark.slow
def test_a_ref_may_be_copied_with_what_stands_around_it(used: Desk, refs: dict[str, int]) -> None:
    ref = next(iter(refs))

    for written in (f"[ref {ref}]", f"ref: {ref}"):
        assert used.does("restore", written).stdout == used.does("restore", ref).stdout
        assert used.json("restore", written) == used.json("restore", ref)


def test_a_range_of_lines_is_written_in_every_way_that_the_tools_take(
    used: Desk, refs: dict[str, int]
) -> None:
    ref = next(iter(refs))

    said = {used.does("restore", ref, "--lines", lines).stdout for lines in WAYS}

    assert len(said) == 1


WAYS = ("10-12", "10:12", "10–12", " 10 - 12 ")
"""`tests/session` has the same for `restore_tool`, and `tests/mcp_server` for `context_restore`."""


def test_fields_and_counts_of_an_original_are_printed(desk: Desk) -> None:
    ref = Session(desk.store, "chat").offload(PODS)

    columns = desk.does("restore", ref, "--fields", "NAME, STATUS").stdout
    chosen = desk.does("restore", ref, "--fields", "[?STATUS!='Running'].NAME").stdout
    how_many = desk.does("restore", ref, "--fields", "STATUS", "--count").stdout
    lines = desk.does("restore", ref, "--pattern", "Running", "--count").stdout
    none = desk.run("restore", ref, "--pattern", "okapi", "--count")

    assert columns == b"NAME,STATUS\nweb-1,Running\nweb-2,Failed\ndb,Running\n"
    assert chosen == b'["web-2"]\n'
    assert how_many.decode() == '3 values, 2 distinct: "Running" ×2, "Failed" ×1\n'
    assert lines == b"2 of 4 lines\n"
    assert (none.returncode, none.stdout) == (1, b"0 of 4 lines\n")


def test_fields_and_counts_are_told_to_programs(desk: Desk) -> None:
    ref = Session(desk.store, "chat").offload(PODS)

    columns = desk.json("restore", ref, "--fields", "name, STATUS", "--lines", "2-3")
    lines = desk.json("restore", ref, "--pattern", "Running", "--count")
    counted = desk.json("restore", ref, "--fields", "STATUS", "--count")

    assert columns["values"] == {"name": ["web-1", "web-2"], "STATUS": ["Running", "Failed"]}
    assert lines["counts"] == {"lines": 2, "of": 4}
    assert counted["counts"] == {"STATUS": 3}


PODS = """NAME    STATUS    AGE
web-1   Running   3d
web-2   Failed    3d
db      Running   10d"""
